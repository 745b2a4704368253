package python

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/python/tag"
	"github.com/hpcenv/hpcenv/envs/python/version"
)

// oldestGlibc is what no Linux in use is below.
var oldestGlibc = tag.Glibc{Major: 2, Minor: 17}

// Request is which Python a project asks for.
type Request struct {
	// Text as the project wrote it; "" = it does not ask.
	Text string
	// Versions that it may have.
	Versions version.Set
	// FreeThreaded: asked for explicitly; without it, builds without the global
	// interpreter lock are not taken.
	FreeThreaded bool
}

// ParsePythonVersion reads a .python-version file, as uv and pyenv write it:
// the first line that is neither empty nor a comment. It may be a version
// (3.12, 3.12.4, 3.13t, 312), clauses (>=3.11,<3.13) or one of these behind
// `cpython`, `python` and perhaps `@`; a platform behind it does not count. The
// error wraps ErrInterpreter and names the line.
func ParsePythonVersion(text string) (Request, error) {
	for n, line := range strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n") {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		r, why := parseRequest(line)
		if why != "" {
			return Request{}, fmt.Errorf("%w: .python-version, line %d: %q: %s; next: write a version like 3.12", ErrInterpreter, n+1, line, why)
		}
		return r, nil
	}
	return Request{}, nil
}

// ParseRequest reads what a line of a .python-version file may be. The error wraps
// ErrInterpreter.
func ParseRequest(text string) (Request, error) {
	r, why := parseRequest(strings.TrimSpace(text))
	if why != "" {
		return Request{}, fmt.Errorf("%w: Python %q: %s; next: ask for a version like 3.12", ErrInterpreter, text, why)
	}
	return r, nil
}

func parseRequest(text string) (Request, string) {
	r := Request{Text: text}
	rest := strings.ToLower(text)
	for _, prefix := range []string{"cpython", "python", "cp"} {
		if after, ok := strings.CutPrefix(rest, prefix); ok {
			rest = strings.TrimPrefix(strings.TrimPrefix(after, "@"), "-")
			break
		}
	}
	rest = withoutPlatform(rest)
	for _, suffix := range []string{"+freethreaded", "t"} {
		if before, ok := strings.CutSuffix(rest, suffix); ok && before != "" && before[0] >= '0' && before[0] <= '9' {
			rest, r.FreeThreaded = before, true
			break
		}
	}
	if rest == "" {
		return r, "it names no version"
	}
	if rest[0] < '0' || rest[0] > '9' {
		set, err := version.ParseSet(rest)
		if err != nil || len(set) == 0 {
			return r, "only CPython can be asked for, by its version"
		}
		r.Versions = set
		return r, ""
	}
	v, err := version.Parse(dotted(rest))
	if err != nil {
		return r, "it is no version"
	}
	clause := "==" + v.String()
	if parts := v.Release(0); len(parts) < 3 && v.Base().String() == v.String() {
		clause += ".*" // 3.12 is any 3.12.N
	}
	if r.Versions, err = version.ParseSet(clause); err != nil {
		return r, "it is no version"
	}
	return r, ""
}

// systems are what uv calls operating systems in its long form of a request.
var systems = []string{"linux", "macos", "darwin", "windows"}

// withoutPlatform leaves out where uv's long form ends in the platform:
// cpython-3.12.4-linux-x86_64-gnu. Which one it is does not matter: it is that of
// whoever wrote the file.
func withoutPlatform(request string) string {
	for i, c := range request {
		if c != '-' {
			continue
		}
		if system, _, _ := strings.Cut(request[i+1:], "-"); slices.Contains(systems, system) {
			return request[:i]
		}
	}
	return request
}

// dotted is uv's and wheels' short form of a version (312) with its dot.
func dotted(text string) string {
	if len(text) >= 2 && text[0] == '3' && strings.Trim(text, "0123456789") == "" {
		return text[:1] + "." + text[1:]
	}
	return text
}

// allows: the request may be answered by this version and build.
func (r Request) allows(v version.Version, freeThreaded bool) bool {
	if freeThreaded != r.FreeThreaded || !r.Versions.Contains(v) {
		return false
	}
	if !v.IsPrerelease() {
		return true
	}
	for _, c := range r.Versions {
		if c.Version.IsPrerelease() {
			return true
		}
	}
	return false
}

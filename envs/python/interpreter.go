package python

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/python/version"
)

// ErrInterpreter is the class of errors about the interpreters of a site: an
// entry that is wrong, or none that a lock can have.
var ErrInterpreter = errors.New("no Python for this lock")

// InterpreterKind is what an interpreter comes as.
type InterpreterKind string

const (
	// Standalone is an archive of python-build-standalone with one relocatable
	// tree (install_only).
	Standalone InterpreterKind = "standalone"
	// Conda is a conda package `python` and what it depends on.
	Conda InterpreterKind = "conda"
)

// Archive is a file to fetch.
type Archive struct {
	// URL is https, http or file.
	URL string `mapstructure:"url" yaml:"url" json:"url"`
	// SHA256 in hex.
	SHA256 string `mapstructure:"sha256" yaml:"sha256" json:"sha256"`
}

// Interpreter is one Python that a site offers to locks that name none
// (uv.lock, pylock.toml). In configuration:
//
//	interpreters:
//	  - version: 3.12.4
//	    platform: linux-64
//	    kind: standalone
//	    url: https://files.example/cpython-3.12.4-x86_64-install_only.tar.gz
//	    sha256: 5f1c…
//	  - version: 3.12.4
//	    platform: linux-aarch64
//	    kind: conda
//	    url: https://conda.example/linux-aarch64/python-3.12.4-h1_0_cpython.conda
//	    sha256: 8a2e…
//	    with:
//	      - {url: https://conda.example/linux-aarch64/libffi-3.4.2-h2.conda, sha256: 77b0…}
type Interpreter struct {
	// Version of CPython, complete.
	Version string `mapstructure:"version" yaml:"version" json:"version"`
	// Platform is the conda subdir it runs on.
	Platform string          `mapstructure:"platform" yaml:"platform" json:"platform"`
	Kind     InterpreterKind `mapstructure:"kind" yaml:"kind" json:"kind"`
	// FreeThreaded: built without the global interpreter lock.
	FreeThreaded bool   `mapstructure:"free_threaded" yaml:"free_threaded,omitempty" json:"free_threaded,omitempty"`
	URL          string `mapstructure:"url" yaml:"url" json:"url"`
	SHA256       string `mapstructure:"sha256" yaml:"sha256" json:"sha256"`
	// With are the further packages of a conda interpreter, in the order in which
	// they are linked.
	With []Archive `mapstructure:"with" yaml:"with,omitempty" json:"with,omitempty"`
}

// Check tells what is wrong with an entry of the configuration; the error wraps
// ErrInterpreter and names the key.
func (i *Interpreter) Check() error {
	fail := func(key, why string) error {
		return fmt.Errorf("%w: entry for Python %q on %q: %s: %s", ErrInterpreter, i.Version, i.Platform, key, why)
	}
	if _, err := NewTarget(i.Platform, i.Version, i.FreeThreaded, oldestGlibc); err != nil {
		return fmt.Errorf("%w: entry for Python %q on %q: %w", ErrInterpreter, i.Version, i.Platform, err)
	}
	if i.Kind != Standalone && i.Kind != Conda {
		return fail("kind", fmt.Sprintf("it is %q, expected standalone or conda", i.Kind))
	}
	if i.Kind == Standalone && len(i.With) > 0 {
		return fail("with", "only a conda interpreter has further packages")
	}
	for n, a := range append([]Archive{{i.URL, i.SHA256}}, i.With...) {
		where := ""
		if n > 0 {
			where = fmt.Sprintf("with[%d].", n-1)
		}
		u, err := url.Parse(a.URL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "file" || u.Path == "" {
			return fail(where+"url", "expected an https, http or file URL")
		}
		if b, err := hex.DecodeString(a.SHA256); err != nil || len(b) != 32 {
			return fail(where+"sha256", "expected 64 hex digits")
		}
	}
	return nil
}

// String names an interpreter in lists: "3.13.1 linux-64 standalone
// (free-threaded)".
func (i *Interpreter) String() string {
	s := i.Version + " " + i.Platform + " " + string(i.Kind)
	if i.FreeThreaded {
		s += " (free-threaded)"
	}
	return s
}

// Identity is what enters an environment's id for the interpreter: everything
// that decides what is linked, URLs apart. One line, the same for the same
// interpreter.
func (i *Interpreter) Identity() string {
	parts := []string{"python", i.Version, i.Platform, string(i.Kind), strings.ToLower(i.SHA256)}
	if i.FreeThreaded {
		parts = append(parts, "free-threaded")
	}
	for _, a := range i.With {
		parts = append(parts, strings.ToLower(a.SHA256))
	}
	return strings.Join(parts, " ")
}

// Choose returns the interpreter of each platform, in the order of platforms:
// one version for all of them, the newest that the request (from
// .python-version; the zero value asks nothing) and the lock's requires-python
// allow. Pre-releases are taken only where the request names one. Of several
// entries with one version and platform the first counts. The error wraps
// ErrInterpreter and lists what there is.
func Choose(offered []Interpreter, platforms []string, request Request, requires version.Set) ([]Interpreter, error) {
	type build struct {
		version version.Version
		by      map[string]Interpreter
	}
	var builds []*build
	for _, i := range offered {
		v, err := version.Parse(i.Version)
		if err != nil {
			return nil, fmt.Errorf("%w: entry %s: %w", ErrInterpreter, i.String(), err)
		}
		if !request.allows(v, i.FreeThreaded) || !requires.Contains(v) {
			continue
		}
		n := slices.IndexFunc(builds, func(b *build) bool { return b.version.Equal(v) })
		if n < 0 {
			n = len(builds)
			builds = append(builds, &build{version: v, by: map[string]Interpreter{}})
		}
		if _, there := builds[n].by[i.Platform]; !there {
			builds[n].by[i.Platform] = i
		}
	}
	slices.SortFunc(builds, func(a, b *build) int { return b.version.Compare(a.version) })
	for _, b := range builds {
		var chosen []Interpreter
		for _, platform := range platforms {
			if i, ok := b.by[platform]; ok {
				chosen = append(chosen, i)
			}
		}
		if len(chosen) == len(platforms) {
			return chosen, nil
		}
	}
	return nil, refuse(offered, platforms, request, requires)
}

// refuse says what was asked for and what there is.
func refuse(offered []Interpreter, platforms []string, request Request, requires version.Set) error {
	wish := "any Python"
	if request.Text != "" {
		wish = "Python " + request.Text
	}
	if len(requires) > 0 {
		wish += ", requires-python " + requires.String()
	}
	list := "none at all"
	if len(offered) > 0 {
		sorted := slices.Clone(offered)
		slices.SortStableFunc(sorted, func(a, b Interpreter) int {
			v, _ := version.Parse(a.Version)
			w, _ := version.Parse(b.Version)
			return cmp.Or(w.Compare(v), cmp.Compare(a.Platform, b.Platform))
		})
		var names []string
		for _, i := range sorted {
			names = append(names, i.String())
		}
		list = strings.Join(names, ", ")
	}
	hint := "change .python-version (or --python) or the lock, or have such a Python added to `interpreters:` (of the daemon's configuration, or of your own)"
	if len(platforms) > 1 {
		hint = "one version must be there for every platform; " + hint
	}
	return fmt.Errorf("%w: asked for %s on %s; this site offers: %s; next: %s",
		ErrInterpreter, wish, strings.Join(platforms, " and "), list, hint)
}

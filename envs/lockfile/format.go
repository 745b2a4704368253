package lockfile

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Format is a kind of lock file. What a file is called tells nothing.
type Format uint8

const (
	// FormatPixi is a pixi.lock.
	FormatPixi Format = iota + 1
	// FormatCondaLock is a conda-lock.yml (CEP 37), which is also what the first
	// pixi wrote.
	FormatCondaLock
	// FormatExplicit is a list of URLs with the line @EXPLICIT.
	FormatExplicit
	// FormatUV is a uv.lock.
	FormatUV
	// FormatPylock is a pylock.toml (PEP 751).
	FormatPylock
)

func (f Format) String() string {
	if f < FormatPixi || f > FormatPylock {
		return fmt.Sprintf("Format(%d)", uint8(f))
	}
	return [...]string{"pixi.lock", "conda-lock.yml", "@EXPLICIT list", "uv.lock", "pylock.toml"}[f-1]
}

// ForeignError says that a file is no lock but something else that people have
// beside one. It wraps ErrLock.
type ForeignError struct {
	// What it is, and what to do next.
	What, Next string
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s: this is %s; next: %s", ErrLock, e.What, e.Next)
}

func (e *ForeignError) Unwrap() error { return ErrLock }

// NeedsTargetError says that a lock lists files for many targets, from which
// Parse, which knows none, cannot choose; the readers of FormatUV and
// FormatPylock can. It wraps ErrLock.
type NeedsTargetError struct{ Format Format }

func (e *NeedsTargetError) Error() string {
	return fmt.Sprintf("%s: a %s lists files for many Pythons and platforms, of which one must be chosen first; next: hpcenv prepare chooses", ErrLock, e.Format)
}

func (e *NeedsTargetError) Unwrap() error { return ErrLock }

// Detect tells what kind of lock a file is from its content. It looks at the
// beginnings of lines only wherever that is enough, so that a broken lock is
// still one: what is wrong with it, its parser says. For what is no lock the
// error is a *ForeignError, or wraps ErrLock.
func Detect(data []byte) (Format, error) {
	format, _, err := detect(data)
	return format, err
}

// detect also returns the tree, if it had to be read.
func detect(data []byte) (Format, *value, error) {
	if len(data) > maxSize {
		return 0, nil, tooLarge(len(data))
	}
	if explicitList(data) {
		return FormatExplicit, nil, nil
	}
	if looksLikeTOML(data) {
		format, err := detectTOML(data)
		return format, nil, err
	}
	keys, sure := yamlKeys(data)
	if sure {
		format, err := detectYAML(keys)
		return format, nil, err
	}
	root, err := read(data)
	if err != nil {
		if format, ferr := detectYAML(keys); ferr == nil {
			return format, nil, nil // a broken one
		}
		return 0, nil, err
	}
	if root.kind != mapping {
		return 0, nil, fmt.Errorf("%w: line %d: a lock is a mapping, this is %s", ErrLock, root.line, root.kind)
	}
	keys = map[string]string{}
	for _, key := range tellingKeys {
		if val := root.get(key); val != nil {
			keys[key] = val.text
		}
	}
	format, err := detectYAML(keys)
	return format, &root, err
}

// tellingKeys are the keys at the top of a file by which YAML is told apart.
var tellingKeys = []string{"version", "environments", "packages", "package", "metadata", "dependencies"}

// detectYAML goes by the keys of the whole file.
func detectYAML(keys map[string]string) (Format, error) {
	has := func(key string) bool { _, ok := keys[key]; return ok }
	switch {
	case has("version") && keys["version"] == "1" && !has("environments"):
		return FormatCondaLock, nil
	case has("version"), has("environments"), has("packages"):
		return FormatPixi, nil
	case has("package") && has("metadata"):
		return FormatCondaLock, nil
	case has("dependencies"):
		return 0, &ForeignError{
			What: "an environment.yml: it says what is wanted, not what was found",
			Next: "`pixi init --import environment.yml` makes a project of it, and `pixi lock` its lock",
		}
	}
	return 0, fmt.Errorf("%w: it has no `version`; is it a pixi.lock?", ErrLock)
}

// yamlKeys finds the telling keys of a mapping that is written in block style,
// with the texts behind them; not sure if there is anything else at the left edge.
func yamlKeys(data []byte) (keys map[string]string, sure bool) {
	keys, sure = map[string]string{}, true
	found := false
	for len(data) > 0 {
		line := data
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			line, data = data[:i], data[i+1:]
		} else {
			data = nil
		}
		if len(line) == 0 {
			continue
		}
		switch line[0] {
		case ' ', '#', '\r':
			continue
		case '-':
			if len(line) == 1 || line[1] == ' ' || bytes.Equal(bytes.TrimRight(line, " \r"), []byte("---")) {
				continue
			}
		}
		key, rest, ok := cutKey(strings.TrimRight(string(line), " \r"))
		if !ok {
			sure = false
			continue
		}
		found = true
		if slices.Contains(tellingKeys, key) {
			rest, _, _ = strings.Cut(rest, " #")
			keys[key] = strings.TrimRight(rest, " ")
		}
	}
	return keys, sure && found
}

// tomlKey is how a line of TOML begins that gives a key a value.
var tomlKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:[ \t]*\.[ \t]*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*[ \t]*=`)
})

// tomlHead reads the head of a table, `[name]` or `[[name]]`, of which there may be
// very many: the opening brackets and the name; nil if the line is none.
func tomlHead(line []byte) (brackets, name []byte) {
	brackets = []byte("[")
	rest, ok := bytes.CutPrefix(line, brackets)
	if !ok {
		return nil, nil
	}
	if inner, twice := bytes.CutPrefix(rest, brackets); twice {
		brackets, rest = []byte("[["), inner
	}
	end := bytes.IndexAny(rest, "[]")
	if end < 0 || rest[end] == '[' {
		return nil, nil
	}
	name, rest = bytes.Trim(rest[:end], " \t"), bytes.TrimPrefix(rest[end+1:], []byte("]"))
	if rest = bytes.TrimLeft(rest, " \t"); len(name) == 0 || len(rest) > 0 && rest[0] != '#' {
		return nil, nil
	}
	return brackets, name
}

// looksLikeTOML goes by the first line that says something.
func looksLikeTOML(data []byte) bool {
	line := firstLine(data)
	if head, _ := tomlHead(line); head != nil {
		return true
	}
	return tomlKey().Match(line)
}

// firstLine that is neither blank nor a comment, trimmed.
func firstLine(data []byte) []byte {
	for len(data) > 0 {
		line := data
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			line, data = data[:i], data[i+1:]
		} else {
			data = nil
		}
		if line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff"))); len(line) > 0 && line[0] != '#' {
			return line
		}
	}
	return nil
}

// detectTOML goes by the keys before the first table and by the tables' heads.
func detectTOML(data []byte) (Format, error) {
	keys, heads := map[string]bool{}, map[string]bool{}
	inTable := false
	for line := range bytes.Lines(bytes.TrimPrefix(data, []byte("\ufeff"))) {
		line = bytes.TrimRight(line, " \t\r\n")
		if len(line) > 0 && line[0] == '[' {
			brackets, name := tomlHead(line)
			inTable = inTable || name != nil
			if name != nil && len(heads) < 1000 { // enough of them have come by
				heads[string(brackets)+string(name)] = true
			}
		} else if !inTable && len(keys) < 1000 && tomlKey().Match(line) {
			key, _, _ := bytes.Cut(line, []byte("="))
			keys[strings.Trim(string(key), " \t\"'")] = true
		}
	}
	switch {
	case keys["lock-version"], heads["[[packages"]:
		return FormatPylock, nil
	case keys["version"] && (keys["requires-python"] || keys["revision"]): // which of them is missing, its parser says
		return FormatUV, nil
	case heads["[[package"]:
		return 0, &ForeignError{
			What: "the lock of a tool that is not read here (of poetry, pdm, cargo, …)",
			Next: "`uv lock` in the project writes a uv.lock, `pixi lock` a pixi.lock",
		}
	case heads["[workspace"], heads["[project"], heads["[build-system"], heads["[dependencies"], heads["[environments"]:
		return 0, &ForeignError{
			What: "a manifest: it says what is wanted, not what was found",
			Next: "give the lock beside it; `pixi lock` (or `uv lock`) in the project writes it",
		}
	}
	return 0, fmt.Errorf("%w: it is TOML, but neither a uv.lock nor a pylock.toml", ErrLock)
}

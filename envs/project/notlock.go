package project

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// topKeys finds the two keys that every lock has.
var topKeys = regexp.MustCompile(`(?m)^(version|environments)[ \t]*:`)

// NotLock returns an error, which wraps ErrNoLock, if the file at path with this
// content is not a lock at all: a manifest, an environment.yml, or any other
// file. What is wrong with a lock, the lock's parser says.
func NotLock(path string, data []byte) error {
	ext := strings.ToLower(filepath.Ext(path))
	if ext != ".toml" && ext != ".py" && ext != ".md" {
		keys := map[string]bool{}
		for _, m := range topKeys.FindAll(data, -1) {
			key, _, _ := bytes.Cut(m, []byte(":"))
			keys[string(bytes.TrimSpace(key))] = true
		}
		// A truncated lock has at least its beginning.
		if len(keys) == 2 || keys["version"] && filepath.Base(path) == LockName || bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
			return nil
		}
	}
	what := "is not a lock file"
	if len(bytes.TrimSpace(data)) == 0 {
		what = "is empty, not a lock file"
	}
	dir := filepath.Dir(path)
	beside := filepath.Join(dir, LockName)
	step := fmt.Sprintf("give the path of a %s; `pixi lock` in the project writes it", LockName)
	if st, err := os.Stat(beside); err == nil && st.Mode().IsRegular() && beside != path {
		step = fmt.Sprintf("give the %s beside it: %s", LockName, beside)
	}
	return notLock(fmt.Sprintf("%s %s; next: %s", path, what, step))
}

// notLock is an error of class ErrNoLock that says it in words of its own.
type notLock string

func (e notLock) Error() string { return string(e) }
func (e notLock) Unwrap() error { return ErrNoLock }

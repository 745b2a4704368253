package project

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// NotLock returns an error, which wraps ErrNoLock, if the file at path with this
// content is not a lock at all: a manifest, an environment.yml, or any other
// file. Its name does not count. What is wrong with a lock, the lock's parser
// says.
func NotLock(path string, data []byte) error {
	_, err := lockfile.Detect(data)
	if err == nil {
		return nil
	}
	what := "is not a lock file"
	if len(bytes.TrimSpace(data)) == 0 {
		what = "is empty, not a lock file"
	}
	dir := filepath.Dir(path)
	step := fmt.Sprintf("give the path of a %s; `pixi lock` in the project writes it", LockName)
	var foreign *lockfile.ForeignError
	if errors.As(err, &foreign) {
		what, step = "is not a lock file but "+foreign.What, foreign.Next
	}
	for _, name := range lockNames {
		beside := filepath.Join(dir, name)
		if st, err := os.Stat(beside); err == nil && st.Mode().IsRegular() && beside != path {
			step = fmt.Sprintf("give the %s beside it: %s", name, beside)
			break
		}
	}
	return notLock(fmt.Sprintf("%s %s; next: %s", path, what, step))
}

// notLock is an error of class ErrNoLock that says it in words of its own.
type notLock string

func (e notLock) Error() string { return string(e) }
func (e notLock) Unwrap() error { return ErrNoLock }

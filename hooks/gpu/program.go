package gpu

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// programName is what the child is called.
const programName = "hpcenv-gpu"

// ErrProgram: the child program is not there, or cannot be started.
var ErrProgram = errors.New("the GPU probe cannot be started")

// Find returns the child program that belongs to this one: beside it, or in the
// libexec directory of the same installation. The error wraps ErrProgram.
func Find() (string, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrProgram, err)
	}
	return find(self)
}

// find is Find for the program at self.
func find(self string) (string, error) {
	dir := filepath.Dir(self)
	beside := filepath.Join(dir, programName)
	for _, p := range []string{beside, filepath.Join(dir, "..", "libexec", "hpcenv", programName)} {
		_, err := os.Stat(p)
		switch {
		case err == nil:
			return filepath.Clean(p), nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("%w: %w", ErrProgram, err)
		}
	}
	return "", fmt.Errorf("%w: %s is not installed; next: install it beside hpcenv (libexec/hpcenv), from the same release", ErrProgram, beside)
}

// startable refuses a program that somebody else could have written: root starts
// it.
func startable(program string) error {
	info, err := os.Stat(program)
	if err != nil {
		return fmt.Errorf("%w: %w; next: install hpcenv-gpu from the release that hpcenv is of", ErrProgram, err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || info.Mode().Perm()&0o022 != 0 || st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%w: %s must be a file that root or this account owns and no other may write to; next: install it anew", ErrProgram, program)
	}
	return nil
}

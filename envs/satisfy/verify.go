package satisfy

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/project"
)

// ErrStale is the class of errors about a lock that no longer has what its
// manifest asks for.
var ErrStale = errors.New("the lock is stale")

// StaleError names all that is wrong. It wraps ErrStale.
type StaleError struct {
	// Lock and Manifest are their paths.
	Lock, Manifest string
	// Reasons, one sentence each.
	Reasons []string
}

// shown bounds the reasons in a message; the others are counted.
const shown = 5

func (e *StaleError) Error() string {
	reasons := e.Reasons
	more := ""
	if len(reasons) > shown {
		more = fmt.Sprintf("; and %d more", len(reasons)-shown)
		reasons = reasons[:shown]
	}
	return fmt.Sprintf("%s does not satisfy %s: %s%s; next: run `pixi lock` in %s, or take the lock as it is (--frozen, HPCENV_FROZEN=1)",
		e.Lock, filepath.Base(e.Manifest), strings.Join(reasons, "; "), more, filepath.Dir(e.Manifest))
}

func (e *StaleError) Unwrap() error { return ErrStale }

// rules is raised when Check compares more or differently, which makes what was
// remembered void.
const rules = "1"

// Verify returns a *StaleError if a lock (its path and bytes) does not satisfy
// its manifest. What is no pixi.lock by name and content, or cannot be read as
// one, is not judged: a lock of another name may be another manifest's, and whoever
// uses it says what is wrong with it.
//
// memory is a directory in which pairs that were in order are remembered, so
// that the same lock and manifest are compared once; "" = none. It is the
// caller's own; if it cannot be written nothing is lost but time.
func Verify(p *project.Project, path string, data []byte, memory string) error {
	sum := sha256.Sum256(data)
	key := sha256.Sum256([]byte(strings.Join([]string{rules, hex.EncodeToString(sum[:]), p.Digest, filepath.Base(p.File)}, "\n")))
	mark := ""
	if memory != "" {
		mark = filepath.Join(memory, hex.EncodeToString(key[:16]))
		if info, err := os.Lstat(mark); err == nil && info.Mode().IsRegular() {
			return nil
		}
	}
	if format, err := lockfile.Detect(data); filepath.Base(path) != project.LockName || err != nil || format != lockfile.FormatPixi {
		return nil
	}
	lock, err := lockfile.Parse(data)
	if err != nil {
		return nil
	}
	reasons, err := Check(p, lock)
	if err != nil {
		return err
	}
	if reasons != nil {
		return &StaleError{Lock: path, Manifest: p.File, Reasons: reasons}
	}
	if mark != "" {
		remember(memory, mark)
	}
	return nil
}

// Frozen tells whether a user's HPCENV_FROZEN says that locks are taken as they
// are: any value but 0 and false does.
func Frozen(value string) bool {
	return value != "" && value != "0" && value != "false"
}

// Memory is where a user's pairs are remembered, below their cache directory;
// "" if they have none.
func Memory() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "hpcenv", "satisfied")
}

// forgetAfter is the age at which a pair is forgotten.
const forgetAfter = 90 * 24 * time.Hour

// remember leaves an empty file, and removes old ones. That it cannot is no
// error: the pair is compared again next time.
func remember(memory, mark string) {
	if os.MkdirAll(memory, 0o700) != nil {
		return
	}
	entries, err := os.ReadDir(memory)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > forgetAfter {
			if os.Remove(filepath.Join(memory, e.Name())) != nil {
				return
			}
		}
	}
	f, err := os.OpenFile(mark, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return
	}
	if f.Close() != nil {
		return
	}
}

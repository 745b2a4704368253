package satisfy

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/internal/remember"
)

// uvLockName is what a uv.lock is called.
const uvLockName = "uv.lock"

// ErrStale is the class of errors about a lock that no longer has what its
// manifest asks for.
var ErrStale = errors.New("the lock is stale")

// StaleError names all that is wrong. It wraps ErrStale.
type StaleError struct {
	// Lock and Manifest are their paths.
	Lock, Manifest string
	// Reasons, one sentence each.
	Reasons []string
	// Command that writes the lock anew.
	Command string
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
	return fmt.Sprintf("%s does not satisfy %s: %s%s; next: run `%s` in %s, or take the lock as it is (--frozen, HPCENV_FROZEN=1)",
		e.Lock, filepath.Base(e.Manifest), strings.Join(reasons, "; "), more, e.Command, filepath.Dir(e.Manifest))
}

func (e *StaleError) Unwrap() error { return ErrStale }

// rules is raised when Check compares more or differently, which makes what was
// remembered void.
const rules = "2"

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
	mark := markOf(memory, hex.EncodeToString(sum[:]), p.File, p.Digest)
	m := newManifests(p.Root)
	if record, known := recalled(mark); known && m.same(record) {
		return nil
	}
	if format, err := lockfile.Detect(data); filepath.Base(path) != project.LockName || err != nil || format != lockfile.FormatPixi {
		return nil
	}
	lock, err := lockfile.Parse(data)
	if err != nil {
		return nil
	}
	reasons, err := check(p, lock, m)
	if err != nil {
		return err
	}
	if reasons != nil {
		return &StaleError{Lock: path, Manifest: p.File, Reasons: reasons, Command: "pixi lock"}
	}
	if mark != "" {
		keep(mark, m.record())
	}
	return nil
}

// recalled is what was remembered with a mark; not known if nothing was.
func recalled(mark string) (record string, known bool) {
	if mark == "" {
		return "", false
	}
	data, err := remember.Recall(mark, maxRecord)
	return string(data), err == nil
}

// VerifyUV is Verify for a uv.lock and the pyproject.toml beside it, and those of the
// workspace's members. A lock of another name or format is not judged: a pylock.toml
// does not say what it was made from.
func VerifyUV(path string, data []byte, memory string) error {
	if format, err := lockfile.Detect(data); filepath.Base(path) != uvLockName || err != nil || format != lockfile.FormatUV {
		return nil
	}
	dir := filepath.Dir(path)
	m := newManifests(dir)
	sum := sha256.Sum256(data)
	mark := markOf(memory, hex.EncodeToString(sum[:]), dir)
	if record, known := recalled(mark); known && m.sameWorkspace(record) {
		return nil
	}
	reasons, err := checkUV(m, data)
	if errors.Is(err, lockfile.ErrLock) {
		return nil
	}
	if err != nil {
		return err
	}
	if reasons != nil {
		return &StaleError{Lock: path, Manifest: filepath.Join(dir, manifestName), Reasons: reasons, Command: "uv lock"}
	}
	if mark != "" && m.read["."].project != nil {
		keep(mark, m.record())
	}
	return nil
}

// markOf is the file that remembers what parts say; "" = nothing is remembered.
func markOf(memory string, parts ...string) string {
	if memory == "" {
		return ""
	}
	key := sha256.Sum256([]byte(strings.Join(append([]string{rules}, parts...), "\n")))
	return filepath.Join(memory, hex.EncodeToString(key[:16]))
}

// Frozen tells whether a user's HPCENV_FROZEN says that locks are taken as they
// are: any value but 0 and false does.
func Frozen(value string) bool {
	return value != "" && value != "0" && value != "false"
}

// Memory is where a user's pairs are remembered, below their cache directory;
// "" if they have none.
func Memory() string { return remember.Dir("satisfied") }

// maxRecord bounds what is remembered of a pair, in bytes.
const maxRecord = 1 << 20

// keep remembers a pair. That it cannot is no error: the pair is compared again next
// time.
func keep(mark, text string) {
	if remember.Keep(mark, []byte(text)) != nil {
		return
	}
}

package helper

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/facts"
)

// rootLock is held while the prefix root is covered (makeRoot). No lockOf is below it.
const rootLock = 0

// lockOf is the place of an environment's lock. Steps that start together with the same
// image share one loop device; those of other images, which may lie on storage that does
// not answer, do not wait for it.
func lockOf(id string) int64 {
	n, err := strconv.ParseUint(id[:min(len(id), 15)], 16, 60)
	if err != nil {
		return 1 // one lock for all that are named in another way
	}
	return 1 + int64(n)
}

// imageWait bounds how long a step waits for another that is at the same image. The other
// has to wait for processes of its user's, which that user may stop: it must not keep
// anybody's step from starting. Without the lock an image gets a second loop device at
// worst.
const imageWait = 1500 * time.Millisecond

// lockImage is lockNode for what is done with an environment's image. Whoever waits too
// long goes on without the lock.
func (f *attachFlags) lockImage(id string) (unlock func(), err error) {
	end := time.Now().Add(imageWait)
	if end.After(f.end) {
		end = f.end
	}
	unlock, err = f.lockNode(lockOf(id), end)
	if errors.Is(err, errLocked) {
		return func() {}, nil
	}
	return unlock, err
}

// errLocked: another attach has the lock, and kept it to the end.
var errLocked = errors.New("another step on this node is at it")

// lockNode lets one attach at a time of this node be at something, which place stands for:
// a byte of one file that is always empty, so that no lock leaves anything behind. A lock
// goes with its holder, however that ends. Class errLocked: it was not to be had until end.
func (f *attachFlags) lockNode(place int64, end time.Time) (unlock func(), err error) {
	runDir := f.runDir
	if runDir == "" {
		runDir = DefaultRunDir
	}
	fail := func(err error) (func(), error) {
		return nil, refuse(api.ExitUnreachable, "attaching the environment needs a lock in %s on this node: %w; next: exclude the node (--exclude) and tell the administrator", runDir, err)
	}
	if err := os.MkdirAll(runDir, 0o755); err != nil {
		return fail(err)
	}
	if err := facts.OwnDirectory(runDir); err != nil {
		return fail(err)
	}
	l, err := os.OpenFile(filepath.Join(runDir, "attach.lock"), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return fail(err)
	}
	for ; ; time.Sleep(2 * time.Millisecond) {
		lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: place, Len: 1}
		err := unix.FcntlFlock(l.Fd(), unix.F_OFD_SETLK, &lock)
		if err == nil {
			return func() { l.Close() }, nil // nothing is written
		}
		busy := errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.EINTR)
		if !busy {
			return fail(errors.Join(fmt.Errorf("%s: %w", l.Name(), err), l.Close()))
		}
		if time.Now().After(end) {
			return nil, errors.Join(refuse(api.ExitUnreachable, "attaching the environment: %w, and has been until there was no time left; next: exclude the node (--exclude) and tell the administrator", errLocked),
				l.Close())
		}
	}
}

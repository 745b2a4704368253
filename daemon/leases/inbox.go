package leases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/handover"
)

// maxInbox bounds the files that are taken in at once, of all users; maxOfUser of one,
// so that one who fills it does not keep the others out for long.
const (
	maxInbox  = 100_000
	maxOfUser = 1000
)

// litterAge is when a file of inbox/ is removed that is no handover.
const litterAge = time.Hour

// TakeInbox takes in what users left in inbox/ while the daemon did not answer. Each file
// is a user's by what the file system says of it, and is believed as little as a request:
// links, pipes, what has several names and what is too long are left out, and removed
// when they are old. An error means that there may be more: nothing may be collected.
func (k *Keeper) TakeInbox(ctx context.Context) error {
	dir := filepath.Join(k.opts.Store.Root(), handover.Inbox)
	names, more, err := list(dir)
	if err != nil {
		return fmt.Errorf("%w: list %s: %w", cache.ErrStore, dir, err)
	}
	of, junk := map[int]int{}, map[int]int{}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		path := filepath.Join(dir, name)
		h, st, err := readHandover(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			continue
		case errors.Is(err, errLater):
			if err := k.litter(path, errLater, junk); err != nil {
				return err
			}
			continue
		case errors.Is(err, ErrHandover):
			if err := k.litter(path, err, junk); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		uid := int(st.Uid)
		if of[uid]++; of[uid] > maxOfUser {
			more = true
			continue
		}
		at := time.Unix(st.Mtim.Unix())
		if now := k.opts.Now(); at.After(now) {
			at = now // whoever sets a file's time ahead would hold a lease for as long
		}
		if err := k.Take(ctx, h, uid, at); errors.Is(err, ErrHandover) {
			k.opts.Log.Warn("a file of inbox/ was refused", "file", name, "uid", uid, "err", err)
		} else if err != nil {
			return err
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%w: %w", cache.ErrStore, err)
		}
	}
	if more {
		return fmt.Errorf("%s holds more than is taken in at once", dir)
	}
	return nil
}

// list names what lies in inbox/, a bounded number of it.
func list(dir string) (names []string, more bool, err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, false, err
	}
	defer d.Close() // only read
	names, err = d.Readdirnames(maxInbox)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return names, len(names) == maxInbox, err
}

// errLater: a file that is still being written.
var errLater = errors.New("not complete yet")

// readHandover reads one file. It is opened without following links and without waiting
// for the other end of a pipe; all else is asked of the open file.
func readHandover(path string) (*api.Handover, *syscall.Stat_t, error) {
	if strings.HasPrefix(filepath.Base(path), handover.Unfinished) {
		return nil, nil, unfinished(path)
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil, nil, os.ErrNotExist
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENXIO), errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return nil, nil, fmt.Errorf("%w: %w", ErrHandover, err)
	case err != nil:
		return nil, nil, fmt.Errorf("%w: open %s: %w", cache.ErrStore, path, err)
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close() // only read
	info, err := f.Stat()
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", cache.ErrStore, err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok || !info.Mode().IsRegular():
		return nil, nil, fmt.Errorf("%w: it is no regular file", ErrHandover)
	case st.Nlink != 1:
		return nil, nil, fmt.Errorf("%w: it has %d names: its owner need not be who left it", ErrHandover, st.Nlink)
	case info.Size() > api.MaxHandover:
		return nil, nil, fmt.Errorf("%w: it has %d bytes", ErrHandover, info.Size())
	}
	data, err := io.ReadAll(io.LimitReader(f, api.MaxHandover))
	if err != nil {
		return nil, nil, fmt.Errorf("%w: read %s: %w", cache.ErrStore, path, err)
	}
	h := new(api.Handover)
	if err := json.Unmarshal(data, h); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrHandover, err)
	}
	return h, st, nil
}

// unfinished files are left alone while they are young.
func unfinished(path string) error {
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return os.ErrNotExist
	case err != nil:
		return fmt.Errorf("%w: %w", cache.ErrStore, err)
	case time.Since(st.ModTime()) < litterAge:
		return errLater
	}
	return fmt.Errorf("%w: it was never finished", ErrHandover)
}

// litter removes what is no handover, or not finished, once it is old, or at once beyond
// what one user may leave: else one could keep the rest of inbox/ from being read. A
// directory goes only if it is empty. junk counts by user.
func (k *Keeper) litter(path string, why error, junk map[int]int) error {
	st, err := os.Lstat(path)
	if err == nil {
		uid := -1
		if sys, ok := st.Sys().(*syscall.Stat_t); ok {
			uid = int(sys.Uid)
		}
		if junk[uid]++; junk[uid] <= maxOfUser && (errors.Is(why, errLater) || k.opts.Now().Sub(st.ModTime()) < litterAge) {
			return nil
		}
	}
	if err == nil {
		err = os.Remove(path)
	}
	switch {
	case err == nil:
		k.opts.Log.Warn("removed from inbox/", "file", filepath.Base(path), "why", why)
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ENOTEMPTY):
	default:
		return fmt.Errorf("%w: %w", cache.ErrStore, err)
	}
	return nil
}

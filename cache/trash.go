package cache

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Trashed is what was removed and can still be brought back: a directory of trash/.
type Trashed struct {
	// Name of the directory in trash/.
	Name string `json:"-"`
	// ID and Platform of the environment.
	ID       string `json:"id"`
	Platform string `json:"platform"`
	// Why and when it was removed.
	Why string    `json:"why"`
	At  time.Time `json:"at"`
	// Files are the paths below the store that it had, in the order in which they were
	// removed: what readers look for goes first, and comes back last.
	Files []string `json:"files"`
}

const (
	trashEntry = "entry.json"
	// restoring marks what is being brought back: it has to be finished, not removed.
	restoring = "restoring"
)

func (s *Store) trashDir(name string) string { return filepath.Join(s.root, "trash", name) }

// within is the n-th file of a directory of trash/.
func (t *Trashed) within(n int) string { return strconv.Itoa(n) }

// Discard moves files of an environment into trash/, from which Restore brings them back
// and Purge removes them for good. files are below the store's root, in the order in
// which they are to go: first those by which readers find it. Those that are not there
// are left out. What is to be done is durable before the first file moves, so that after
// a kill at any instant MendTrash finishes it.
func (s *Store) Discard(id, platform, why string, at time.Time, files []string) (*Trashed, error) {
	if err := s.mayPublish(); err != nil {
		return nil, err
	}
	t := &Trashed{ID: id, Platform: platform, Why: why, At: at.UTC(), Name: fmt.Sprintf("%d-%s-%s", at.UnixNano(), id, platform)}
	if !safeName(t.Name) {
		return nil, fmt.Errorf("%w: %q cannot be removed: it is no environment's name", ErrStore, t.Name)
	}
	for _, rel := range files {
		if !filepath.IsLocal(rel) {
			return nil, fmt.Errorf("%w: %s lies outside of the store", ErrStore, rel)
		}
		if _, err := os.Lstat(filepath.Join(s.root, rel)); errors.Is(err, os.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, storeError("look at", rel, err)
		}
		t.Files = append(t.Files, rel)
	}
	data, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	if err := s.SaveFile(filepath.Join(s.trashDir(t.Name), trashEntry), 0o644, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}); err != nil {
		return nil, err
	}
	return t, s.discard(t)
}

// discard moves what is not moved yet.
func (s *Store) discard(t *Trashed) error {
	for i, rel := range t.Files {
		from, to := filepath.Join(s.root, rel), filepath.Join(s.trashDir(t.Name), t.within(i))
		if _, err := os.Lstat(to); err == nil {
			continue // it was moved; what is there now was made since
		}
		if err := os.Rename(from, to); err != nil && !errors.Is(err, os.ErrNotExist) {
			return storeError("remove", from, err)
		}
		if err := syncDir(filepath.Dir(from)); err != nil {
			return err
		}
	}
	return syncDir(s.trashDir(t.Name))
}

// Trash lists what can be brought back, the latest first. What is there without a
// description is nobody's and Purge removes it.
func (s *Store) Trash() ([]*Trashed, error) {
	entries, err := os.ReadDir(filepath.Join(s.root, "trash"))
	if err != nil {
		return nil, storeError("list", filepath.Join(s.root, "trash"), err)
	}
	var out []*Trashed
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(s.trashDir(e.Name()), trashEntry))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, storeError("read", s.trashDir(e.Name()), err)
		}
		t := new(Trashed)
		if err := json.Unmarshal(data, t); err != nil {
			continue // a power cut's; it goes with its age
		}
		t.Name = e.Name()
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b *Trashed) int { return b.At.Compare(a.At) })
	return out, nil
}

// Restore brings back what was removed, the file by which readers find it last. What was
// made again meanwhile stays, and the removed one of the same name goes.
func (s *Store) Restore(t *Trashed) error {
	if err := s.mayPublish(); err != nil {
		return err
	}
	mark := filepath.Join(s.trashDir(t.Name), restoring)
	if err := s.SaveFile(mark, 0o644, func(io.Writer) error { return nil }); err != nil {
		return err
	}
	return s.restore(t)
}

func (s *Store) restore(t *Trashed) error {
	for i, rel := range slices.Backward(t.Files) {
		from, to := filepath.Join(s.trashDir(t.Name), t.within(i)), filepath.Join(s.root, rel)
		if _, err := os.Lstat(from); errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err := s.MkdirAll(filepath.Dir(to)); err != nil {
			return err
		}
		if _, err := os.Lstat(to); err == nil {
			continue // made again
		}
		if err := os.Rename(from, to); err != nil {
			return storeError("bring back", to, err)
		}
		if err := syncDir(filepath.Dir(to)); err != nil {
			return err
		}
	}
	return s.purge(t.Name)
}

// MendTrash finishes what a kill or a power cut interrupted; before anything else uses
// the store. It returns how many removals and restorations it finished.
func (s *Store) MendTrash() (n int, err error) {
	all, err := s.Trash()
	if err != nil {
		return 0, err
	}
	for _, t := range all {
		if _, err := os.Lstat(filepath.Join(s.trashDir(t.Name), restoring)); err == nil {
			n++
			if err := s.restore(t); err != nil {
				return n, err
			}
			continue
		}
		moved := 0
		for i, rel := range t.Files {
			_, gone := os.Lstat(filepath.Join(s.root, rel))
			_, there := os.Lstat(filepath.Join(s.trashDir(t.Name), t.within(i)))
			if gone == nil && there != nil {
				moved++
			}
		}
		if moved > 0 {
			n++
			if err := s.discard(t); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// Purge removes for good what was removed before a time, and returns how many.
func (s *Store) Purge(before time.Time) (n int, err error) {
	entries, err := os.ReadDir(filepath.Join(s.root, "trash"))
	if err != nil {
		return 0, storeError("list", filepath.Join(s.root, "trash"), err)
	}
	for _, e := range entries {
		// The name says when: what has no description has a time, too.
		stamp, _, _ := strings.Cut(e.Name(), "-")
		nanos, perr := strconv.ParseInt(stamp, 10, 64)
		if perr != nil || !time.Unix(0, nanos).Before(before) {
			continue
		}
		if err := s.purge(e.Name()); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// purge removes one directory of trash/: out of it first, so that nobody brings back a
// part.
func (s *Store) purge(name string) error {
	aside := s.tmp("purge-" + name)
	if err := os.Rename(s.trashDir(name), aside); errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return storeError("remove", s.trashDir(name), err)
	}
	return storeError("remove", aside, os.RemoveAll(aside))
}

package cache

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// SweepOptions say what of a pool stays.
type SweepOptions struct {
	// Keep tells of a package, by sha256, whether something needs it.
	Keep func(sha256 string) bool
	// Young: what was taken in since stays, whatever Keep says: a prepare that was
	// interrupted, or waits for its user, goes on with it.
	Young time.Time
	// TableContents adds the contents that a table of byte-code, at path, refers to.
	TableContents func(path string, add func(sha256 string)) error
	// Exclusive calls do while nobody takes packages in, links or compiles; it may return
	// an error of the caller's instead, if that does not come to pass. Sweep calls it
	// several times, each for a short while.
	Exclusive func(ctx context.Context, do func() error) error
}

// Swept is what a sweep removed.
type Swept struct {
	// Packages whose manifest went, and Files of the pool; Bytes of those.
	Packages, Files int
	Bytes           int64
}

// sweepBatch is how many files are removed while others wait.
const sweepBatch = 2000

// Sweep removes from the pool what nothing needs: the packages that Keep does not want,
// with what was found out of them, and the files that no package and no table refers to
// any more. Trees that were linked from the pool keep their files. Whatever goes can be
// had of the archives again.
//
// The digests of what is referred to are held by their first eight bytes: two that begin
// alike keep a file that could go, never the other way. 5 million files take 40 MB.
func (s *Store) Sweep(ctx context.Context, o SweepOptions) (Swept, error) {
	var n Swept
	if err := o.Exclusive(ctx, func() error { return s.sweepPackages(ctx, &o, &n) }); err != nil {
		return n, err
	}
	refs := &references{seen: map[string]bool{}}
	if err := s.refer(&o, refs); err != nil {
		return n, err
	}
	refs.sort()
	dirs, err := os.ReadDir(s.PoolDir("files"))
	if err != nil {
		return n, storeError("list", s.PoolDir("files"), err)
	}
	var batch []string
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := o.Exclusive(ctx, func() error {
			// What was taken in since then may refer to one of them.
			if err := s.refer(&o, refs); err != nil {
				return err
			}
			refs.sort()
			return s.sweepFiles(batch, refs, &n)
		})
		batch = batch[:0]
		return err
	}
	for _, d := range dirs {
		if err := ctx.Err(); err != nil {
			return n, context.Cause(ctx)
		}
		if !d.IsDir() {
			continue // a Linker's probe
		}
		files, err := os.ReadDir(filepath.Join(s.PoolDir("files"), d.Name()))
		if err != nil {
			return n, storeError("list", d.Name(), err)
		}
		for _, f := range files {
			if !refs.has(f.Name()) {
				batch = append(batch, d.Name()+"/"+f.Name())
			}
			if len(batch) == sweepBatch {
				if err := flush(); err != nil {
					return n, err
				}
			}
		}
	}
	return n, flush()
}

// sweepPackages removes manifests first: without one nothing of a package is believed.
func (s *Store) sweepPackages(ctx context.Context, o *SweepOptions, n *Swept) error {
	entries, err := os.ReadDir(s.PoolDir("packages"))
	if err != nil {
		return storeError("list", s.PoolDir("packages"), err)
	}
	var gone []string
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if !isDigest(e.Name()) || o.Keep(e.Name()) {
			continue
		}
		if st, err := e.Info(); errors.Is(err, os.ErrNotExist) || err == nil && st.ModTime().After(o.Young) {
			continue
		} else if err != nil {
			return storeError("look at", e.Name(), err)
		}
		if err := s.mayPublish(); err != nil {
			return err
		}
		if err := os.Remove(s.ManifestPath(e.Name())); err != nil && !errors.Is(err, os.ErrNotExist) {
			return storeError("remove", s.ManifestPath(e.Name()), err)
		}
		gone = append(gone, e.Name())
		n.Packages++
	}
	if len(gone) == 0 {
		return nil
	}
	if err := syncDir(s.PoolDir("packages")); err != nil {
		return err
	}
	for _, pkg := range gone {
		for _, pattern := range []string{s.PycPath("*", pkg), filepath.Join(s.PoolDir("elf"), "*", pkg), filepath.Join(s.root, "pool", "origins", pkg+"-*")} {
			found, err := filepath.Glob(pattern)
			if err != nil {
				return fmt.Errorf("%w: %w", ErrStore, err)
			}
			for _, path := range found {
				if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
					return storeError("remove", path, err)
				}
			}
		}
	}
	return nil
}

// sweepFiles removes those of the files that are not referred to.
func (s *Store) sweepFiles(files []string, refs *references, n *Swept) error {
	for _, name := range files {
		if refs.has(filepath.Base(name)) {
			continue
		}
		if err := s.mayPublish(); err != nil {
			return err
		}
		path := filepath.Join(s.PoolDir("files"), name)
		st, err := os.Lstat(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.Remove(path)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return storeError("remove", path, err)
		}
		s.good.Delete(name)
		s.siblings.Delete(name)
		n.Files++
		n.Bytes += st.Size()
	}
	return nil
}

// refer adds what manifests and tables refer to that were not looked at before.
func (s *Store) refer(o *SweepOptions, refs *references) error {
	entries, err := os.ReadDir(s.PoolDir("packages"))
	if err != nil {
		return storeError("list", s.PoolDir("packages"), err)
	}
	for _, e := range entries {
		if !isDigest(e.Name()) || !refs.first("p/"+e.Name()) {
			continue
		}
		data, err := os.ReadFile(s.ManifestPath(e.Name()))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return storeError("read", s.ManifestPath(e.Name()), err)
		}
		m, err := DecodeManifest(data)
		if errors.Is(err, errOldManifest) {
			continue // of no use: it is taken in again when it is needed
		}
		if err != nil {
			return fmt.Errorf("%w: %s: what it refers to is not known: %w; next: remove it, it is made again", ErrStore, s.ManifestPath(e.Name()), err)
		}
		for i := range m.Entries {
			refs.add(m.Entries[i].SHA256)
		}
	}
	tables, err := filepath.Glob(s.PycPath("*", "*"))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStore, err)
	}
	for _, path := range tables {
		st, err := os.Lstat(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return storeError("look at", path, err)
		}
		// A table may be made again under its name.
		if !isDigest(filepath.Base(path)) || !refs.first(fmt.Sprintf("t/%s %d", path, st.ModTime().UnixNano())) {
			continue
		}
		if err := o.TableContents(path, refs.add); err != nil {
			return err
		}
	}
	return nil
}

// references are digests, by their first eight bytes.
type references struct {
	seen   map[string]bool
	prefix []uint64
	sorted bool
}

// first tells, once, that something was not looked at yet.
func (r *references) first(what string) bool {
	if r.seen[what] {
		return false
	}
	r.seen[what] = true
	return true
}

func (r *references) add(digest string) {
	if p, ok := prefixOf(digest); ok {
		r.prefix, r.sorted = append(r.prefix, p), false
	}
}

func (r *references) sort() {
	if !r.sorted {
		slices.Sort(r.prefix)
		r.prefix, r.sorted = slices.Compact(r.prefix), true
	}
}

// has tells of a pool file's name whether its content is referred to; of what is no pool
// file it is true.
func (r *references) has(name string) bool {
	if len(name) < 64 || strings.Trim(name[:64], "0123456789abcdef") != "" {
		return true
	}
	p, ok := prefixOf(name)
	if !ok {
		return true
	}
	_, found := slices.BinarySearch(r.prefix, p)
	return found
}

func prefixOf(digest string) (uint64, bool) {
	var b [8]byte
	if len(digest) < 16 {
		return 0, false
	}
	if _, err := hex.Decode(b[:], []byte(digest[:16])); err != nil {
		return 0, false
	}
	return binary.BigEndian.Uint64(b[:]), true
}

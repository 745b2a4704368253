package cache

import (
	"cmp"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Ingest takes the package at archivePath into the store: it verifies the
// archive against src, unpacks it, asks interpret, finds placeholders, makes all
// durable and publishes the manifest, which it returns. Of a package that fails
// nothing can be seen.
func (s *Store) Ingest(ctx context.Context, archivePath string, src Source, interpret Interpreter) (*Manifest, error) {
	st, err := s.Stage(ctx, archivePath, src, interpret)
	if err != nil {
		return nil, err
	}
	b := s.NewBatch()
	b.Add(st)
	if err := b.Commit(ctx); err != nil {
		return nil, errors.Join(err, b.Discard())
	}
	return st.Manifest, nil
}

// Stage is Ingest up to the point where the package would become visible: a
// Batch does the rest, for many packages with one sync.
func (s *Store) Stage(ctx context.Context, archivePath string, src Source, interpret Interpreter) (*Staged, error) {
	if err := src.check(); err != nil {
		return nil, err
	}
	f, err := os.Open(archivePath)
	if err != nil {
		return nil, fmt.Errorf("package %s: %w", src.Name, storeError("open archive", archivePath, err))
	}
	defer f.Close() // only read
	m, err := s.stage(ctx, f, src, interpret)
	if err != nil {
		return nil, fmt.Errorf("package %s, archive %s: %w", src.Name, archivePath, err)
	}
	temp, err := s.saveStaged(m)
	if err != nil {
		return nil, fmt.Errorf("package %s: %w", src.Name, err)
	}
	return &Staged{Manifest: m, temp: temp}, nil
}

func (s *Store) stage(ctx context.Context, f *os.File, src Source, interpret Interpreter) (*Manifest, error) {
	size, err := s.verifyOnce(ctx, f, src)
	if err != nil {
		return nil, err
	}
	m, err := s.take(ctx, f, f.Name(), size, src, interpret)
	if errors.Is(err, ErrIntegrity) || errors.Is(err, ErrUnsafe) {
		// Its digests are right: these are the bytes that the lock means.
		next := "lock another build of it, or tell its channel"
		switch src.Format {
		case FormatWheel:
			next = "lock another build of it, or tell its index"
		case FormatTarGz, FormatTarZst: // no channel has those
			next = "name another archive where this one is listed"
		}
		return nil, fmt.Errorf("%w; the fault is the package's own; next: %s", err, next)
	}
	return m, err
}

// take is stage for a verified archive, called name, of size bytes.
func (s *Store) take(ctx context.Context, r io.ReaderAt, name string, size int64, src Source, interpret Interpreter) (*Manifest, error) {
	disk := &diskReader{r: r, size: size}
	items, found, err := s.unpack(ctx, disk, size, src.Format)
	if derr := disk.failure(); derr != nil && err != nil && ctx.Err() == nil {
		// The disk's fault, whatever the decoder made of it.
		return nil, storeError("read", name, derr)
	}
	if err != nil {
		return nil, err
	}
	raw := &Raw{Source: src, Entries: sorted(items), Read: func(path string, limit int64) ([]byte, error) {
		if it := items[path]; it != nil && it.entry.Size > limit {
			return nil, fmt.Errorf("%w: %s has %d bytes, at most %d are read", ErrUnsafe, path, it.entry.Size, limit)
		}
		return s.readItem(items, path, limit)
	}, Head: func(path string, n int64) ([]byte, error) { return s.readItem(items, path, n) }}
	entries, meta, notes, err := interpret(raw)
	if err != nil {
		return nil, err
	}
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
	if err := s.poolKept(items, entries); err != nil {
		return nil, err
	}
	replaced := 0
	for i := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		e := &entries[i]
		e.Offsets = nil
		if e.Placeholder == "" {
			continue
		}
		if e.Offsets, err = s.findPlaceholder(*e); err != nil {
			return nil, err
		}
		if replaced += len(e.Offsets); replaced > maxOffsets {
			return nil, fmt.Errorf("%w: its files hold placeholders in more than %d places", ErrUnsafe, maxOffsets)
		}
	}
	return &Manifest{Version: manifestVersion, SHA256: src.SHA256, MD5: src.MD5, Size: size, Format: src.Format,
		Meta: meta, Notes: append(found, notes...), ELF: elfEntries(items, entries), Entries: entries}, nil
}

// verifiedArchive says which bytes were verified while they came.
type verifiedArchive struct {
	src  Source
	size int64
	file fileIdentity
}

// fileIdentity changes when anybody writes to a file or puts another in its
// place. (The change time is not part of it: the rename to the final name sets
// it.)
type fileIdentity struct {
	dev, inode uint64
	size       int64
	modified   time.Time
}

func identity(st os.FileInfo) fileIdentity {
	id := fileIdentity{size: st.Size(), modified: st.ModTime()}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		id.dev, id.inode = uint64(sys.Dev), sys.Ino
	}
	return id
}

// verifyOnce is verify, but for an archive that this process fetched and
// verified a moment ago and that nobody touched since.
func (s *Store) verifyOnce(ctx context.Context, f *os.File, src Source) (int64, error) {
	if v, ok := s.verified.LoadAndDelete(f.Name()); ok {
		known := v.(verifiedArchive)
		if st, err := f.Stat(); err == nil && known.src == src && known.file == identity(st) {
			return known.size, nil
		}
	}
	return verify(ctx, f, src)
}

// verify checks an archive's size and digests against src, whatever was checked
// when it came: disks and people change files.
func verify(ctx context.Context, f *os.File, src Source) (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, storeError("look at", f.Name(), err)
	}
	if !st.Mode().IsRegular() {
		return 0, fmt.Errorf("%w: it is no regular file", ErrIntegrity)
	}
	d := newDigester(src)
	if _, err := io.Copy(d, &contextReader{ctx: ctx, r: f}); err != nil {
		if ctx.Err() != nil {
			return 0, err
		}
		return 0, storeError("read", f.Name(), err)
	}
	return d.n, d.check(src)
}

// saveStaged writes m below tmp/, where a Batch finds it.
func (s *Store) saveStaged(m *Manifest) (_ string, err error) {
	data, err := m.Encode()
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp(s.localTmp(), "manifest-*")
	if err != nil {
		return "", storeError("create a file in", s.localTmp(), err)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o444)
	}
	if err == nil {
		err = s.own(f.Name())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(storeError("write", f.Name(), err), os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// readItem reads the first limit bytes of a file.
func (s *Store) readItem(items map[string]*item, path string, limit int64) ([]byte, error) {
	it := items[path]
	switch {
	case it == nil:
		return nil, fmt.Errorf("%s: %w", path, os.ErrNotExist)
	case it.entry.Type != EntryFile:
		return nil, fmt.Errorf("%w: %s is a %s, not a file", ErrIntegrity, path, it.entry.Type)
	case it.kept != nil:
		return slices.Clone(it.kept[:min(limit, int64(len(it.kept)))]), nil
	}
	f, err := s.OpenEntry(it.entry)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	data := make([]byte, min(it.entry.Size, limit))
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, storeError("read", f.Name(), err)
	}
	return data, nil
}

// poolKept checks that every file the interpreter names is content of this
// archive, and brings into the pool what has only waited in memory.
func (s *Store) poolKept(items map[string]*item, entries []Entry) error {
	type content struct {
		digest string
		exec   bool
		size   int64
	}
	have := make(map[content]*item, len(items))
	for _, it := range items {
		c := content{it.entry.SHA256, it.entry.Exec, it.entry.Size}
		if old := have[c]; old == nil || old.kept != nil {
			have[c] = it
		}
	}
	dir := ""
	for i, e := range entries {
		if e.Type != EntryFile {
			continue
		}
		it := have[content{e.SHA256, e.Exec, e.Size}]
		if it == nil {
			return fmt.Errorf("%w: entry %q has a content that is not in the archive", ErrIntegrity, e.Path)
		}
		if it.kept == nil {
			continue
		}
		if dir == "" {
			var err error
			if dir, err = s.TempDir("info"); err != nil {
				return err
			}
			defer os.RemoveAll(dir) // empty by then; else CleanTemp takes it
		}
		if err := s.poolWrite(filepath.Join(dir, fmt.Sprint(i)), it.kept, e.SHA256, e.Exec); err != nil {
			return err
		}
	}
	return nil
}

// digester counts and hashes what is written to it. Of a conda package MD5 is not
// computed, as the reference does not: who has the sha256 right has the bytes right,
// and it would cost a tenth of a cold store's time.
type digester struct {
	n   int64
	sha hash.Hash
	md5 hash.Hash // of a wheel whose lock has it, else nil
}

func newDigester(src Source) *digester {
	d := &digester{sha: sha256.New()}
	if src.MD5 != "" && src.Format == FormatWheel {
		d.md5 = md5.New()
	}
	return d
}

func (d *digester) Write(p []byte) (int, error) {
	d.n += int64(len(p))
	if d.md5 != nil {
		d.md5.Write(p) // a hash's Write never fails
	}
	return d.sha.Write(p)
}

// sum is the sha256 so far.
func (d *digester) sum() string { return hex.EncodeToString(d.sha.Sum(nil)) }

// check compares what passed with what src promises.
func (d *digester) check(src Source) error {
	if src.Size > 0 && d.n != src.Size {
		return fmt.Errorf("%w: size is %d bytes, the lock says %d", ErrIntegrity, d.n, src.Size)
	}
	if got := d.sum(); got != src.SHA256 {
		return fmt.Errorf("%w: sha256 is %s, the lock says %s", ErrIntegrity, got, src.SHA256)
	}
	if d.md5 == nil {
		return nil
	}
	if got := hex.EncodeToString(d.md5.Sum(nil)); got != src.MD5 {
		return fmt.Errorf("%w: md5 is %s, the lock says %s", ErrIntegrity, got, src.MD5)
	}
	return nil
}

// formats are those that are unpacked.
var formats = []ArchiveFormat{FormatConda, FormatTarBz2, FormatWheel, FormatTarGz, FormatTarZst}

// check says whether src is complete.
func (src Source) check() error {
	switch {
	case !isDigest(src.SHA256):
		return fmt.Errorf("package %s: %w: sha256 %q is not 64 lower-case hex digits", src.Name, ErrIntegrity, src.SHA256)
	case src.MD5 != "" && !isHex(src.MD5, 32):
		return fmt.Errorf("package %s: %w: md5 %q is not 32 lower-case hex digits", src.Name, ErrIntegrity, src.MD5)
	case !slices.Contains(formats, src.Format):
		return fmt.Errorf("package %s: archive format %q is not supported, only %q are", src.Name, src.Format, formats)
	}
	return nil
}

// diskReader keeps the error of a disk apart from what a decoder, which saw it as
// damage, says of it.
type diskReader struct {
	r    io.ReaderAt
	size int64
	mu   sync.Mutex
	// err is the first error that is not the file's end.
	err error
}

func (d *diskReader) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off >= d.size {
		return 0, io.EOF // where an archive's own directory points is not the disk's fault
	}
	n, err := d.r.ReadAt(p, off)
	if err != nil && err != io.EOF {
		d.mu.Lock()
		d.err = cmp.Or(d.err, err)
		d.mu.Unlock()
	}
	return n, err
}

func (d *diskReader) failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// contextReader ends reading when its context ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r *contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.r.Read(p)
}

package bundle

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// maxMembers bounds how many members a bundle has.
const maxMembers = 200_000

// maxSmall bounds, in bytes, a member that is read into memory; a lock of the
// largest size that is read fits.
const maxSmall = 256 << 20

// tree is the regular files of a bundle, by path. Nothing else is in it.
type tree interface {
	// names sorted.
	names() []string
	// open returns a file's content and size; fs.ErrNotExist if it is not there.
	open(name string) (io.ReadCloser, int64, error)
	Close() error
}

// read returns a file of at most maxSmall bytes.
func read(t tree, name string) ([]byte, error) {
	f, size, err := t.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: it has no %s", ErrBundle, name)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	if size > maxSmall {
		return nil, fmt.Errorf("%w: %s has %d bytes, at most %d are read", ErrBundle, name, size, maxSmall)
	}
	data, err := io.ReadAll(f)
	if err == nil && int64(len(data)) != size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}

func openTree(name string) (tree, error) {
	st, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if st.IsDir() {
		return openDir(name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	t, err := indexTar(f, st.Size())
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	t.closer = f
	return t, nil
}

// tarTree is a tar file whose members were found.
type tarTree struct {
	data    io.ReaderAt
	members map[string]span
	closer  io.Closer
}

type span struct{ at, size int64 }

// counted tells where in the file the tar reader is.
type counted struct{ *io.SectionReader }

func (c counted) at() int64 {
	at, err := c.Seek(0, io.SeekCurrent)
	if err != nil {
		panic(err) // a SectionReader tells where it is
	}
	return at
}

// indexTar finds the members of a tar of size bytes without reading their contents.
func indexTar(data io.ReaderAt, size int64) (*tarTree, error) {
	if err := noTar(data, size); err != nil {
		return nil, err
	}
	t := &tarTree{data: data, members: map[string]span{}}
	in := counted{io.NewSectionReader(data, 0, size)}
	r := tar.NewReader(in)
	var end int64 // of the last member, with its padding
	dirs := map[string]bool{}
	for {
		h, err := r.Next()
		if err == io.EOF {
			// A tar ends with blocks of zeros.
			if in.at() == end {
				return nil, cutOff(size)
			}
			return t, nil
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, cutOff(size)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: it is no tar file, or a damaged one: %w", ErrBundle, err)
		}
		name, err := memberName(h)
		if err != nil {
			return nil, err
		}
		at := in.at()
		end = at + (h.Size+511)&^511
		if end > size {
			return nil, cutOff(size)
		}
		if h.Typeflag == tar.TypeDir {
			end, dirs[name] = at, true
			continue
		}
		if _, twice := t.members[name]; twice {
			return nil, fmt.Errorf("%w: it has %q twice", ErrBundle, name)
		}
		if len(t.members) == maxMembers {
			return nil, fmt.Errorf("%w: it has more than %d members", ErrBundle, maxMembers)
		}
		t.members[name] = span{at, h.Size}
	}
}

func cutOff(size int64) error {
	return fmt.Errorf("%w: it is cut off after %d bytes; next: copy it again", ErrBundle, size)
}

// memberName returns a member's clean path, and refuses what no bundle has.
func memberName(h *tar.Header) (string, error) {
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeDir:
	default:
		return "", fmt.Errorf("%w: %q is neither a file nor a directory (tar type %q)", ErrBundle, h.Name, h.Typeflag)
	}
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return "", fmt.Errorf("%w: %q is a sparse file, which no pack has", ErrBundle, h.Name)
		}
	}
	name := strings.TrimSuffix(h.Name, "/")
	for strings.HasPrefix(name, "./") { // as tar writes what it is given as "."
		name = strings.TrimPrefix(name, "./")
	}
	if name == "" || name == "." {
		if h.Typeflag == tar.TypeDir {
			return ".", nil
		}
		name = ""
	}
	if !safePath(name) {
		return "", fmt.Errorf("%w: the member %q leads out of the bundle or has no proper name", ErrBundle, h.Name)
	}
	return name, nil
}

// noTar tells what else a file is.
func noTar(data io.ReaderAt, size int64) error {
	head := make([]byte, min(size, 8))
	if _, err := data.ReadAt(head, 0); err != nil && err != io.EOF {
		return err
	}
	for _, k := range []struct{ magic, what, next string }{
		{"#!", "a self-extracting script", "make the pack without --create-executable"},
		{"\x1f\x8b", "compressed (gzip)", "gunzip it"},
		{"\x28\xb5\x2f\xfd", "compressed (zstd)", "unzstd it"},
		{"\xfd7zXZ", "compressed (xz)", "unxz it"},
		{"BZh", "compressed (bzip2)", "bunzip2 it"},
	} {
		if bytes.HasPrefix(head, []byte(k.magic)) {
			return fmt.Errorf("%w: it is %s, not a plain tar file; next: %s", ErrBundle, k.what, k.next)
		}
	}
	if size == 0 {
		return fmt.Errorf("%w: it is empty", ErrBundle)
	}
	return nil
}

func (t *tarTree) names() []string { return slices.Sorted(maps.Keys(t.members)) }

func (t *tarTree) open(name string) (io.ReadCloser, int64, error) {
	m, ok := t.members[name]
	if !ok {
		return nil, 0, fs.ErrNotExist
	}
	return io.NopCloser(io.NewSectionReader(t.data, m.at, m.size)), m.size, nil
}

func (t *tarTree) Close() error {
	if t.closer == nil {
		return nil
	}
	return t.closer.Close()
}

// dirTree is a pack that was made, or unpacked, as a folder.
type dirTree struct {
	root  *os.Root
	sizes map[string]int64
}

func openDir(name string) (tree, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	t := &dirTree{root: root, sizes: map[string]int64{}}
	err = fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !d.Type().IsRegular() || !safePath(path.Clean(p)) {
			return fmt.Errorf("%w: %q is neither a file nor a directory with a proper name", ErrBundle, p)
		}
		if len(t.sizes) == maxMembers {
			return fmt.Errorf("%w: it has more than %d files", ErrBundle, maxMembers)
		}
		st, err := d.Info()
		if err == nil {
			t.sizes[p] = st.Size()
		}
		return err
	})
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return t, nil
}

func (t *dirTree) names() []string { return slices.Sorted(maps.Keys(t.sizes)) }

func (t *dirTree) open(name string) (io.ReadCloser, int64, error) {
	size, ok := t.sizes[name]
	if !ok {
		return nil, 0, fs.ErrNotExist
	}
	f, err := t.root.Open(name) // never out of the folder
	return f, size, err
}

func (t *dirTree) Close() error { return t.root.Close() }

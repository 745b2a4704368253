package image

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// Entry is one path of an image.
type Entry struct {
	// Path relative to the root, which itself is ".".
	Path string
	// Mode with the type; UID, GID and Time (seconds of the epoch) as the image has them.
	Mode     fs.FileMode
	UID, GID uint32
	Time     uint32
	// Size of a file in bytes; Target of a link.
	Size   int64
	Target string
}

// Reader reads an image without mounting it: as anybody, and without the kernel
// having to trust it. It takes what mksquashfs writes with the options of this
// package; what else the format can do (other compressions, attributes, devices) is
// an ErrFormat error. It is for one goroutine at a time.
type Reader struct {
	super Superblock
	meta  *metadata
	ids   []uint32
	data  *blocks
}

// Open reads the superblock and the small tables of an image of size bytes.
func Open(r io.ReaderAt, size int64) (*Reader, error) {
	s, err := ReadSuperblock(r, size)
	if err != nil {
		return nil, err
	}
	unpack, err := newUnpacker()
	if err != nil {
		return nil, err
	}
	img := &Reader{super: s, meta: &metadata{r: r, end: s.BytesUsed, unpack: unpack, cache: map[uint64]block{}}}
	if img.ids, err = img.readIDs(); err != nil {
		return nil, fmt.Errorf("table of owners: %w", err)
	}
	img.data = &blocks{r: r, size: s.BlockSize, end: s.BytesUsed, unpack: unpack, frags: map[uint64][]byte{}}
	if img.data.table, err = img.readFragments(); err != nil {
		return nil, fmt.Errorf("table of fragments: %w", err)
	}
	return img, nil
}

// Superblock of the image.
func (r *Reader) Superblock() Superblock { return r.super }

// maxDepth bounds how deep directories lie in each other.
const maxDepth = 512

// Walk visits all paths, parents first and otherwise sorted by name. content is
// that of a file, to be read before visit returns, and else nil. An error of visit
// ends it.
func (r *Reader) Walk(ctx context.Context, visit func(e *Entry, content io.Reader) error) error {
	w := &walk{ctx: ctx, r: r, visit: visit, left: uint64(r.super.Inodes)}
	return w.at(r.super.RootInode, ".", 0)
}

type walk struct {
	ctx   context.Context
	r     *Reader
	visit func(*Entry, io.Reader) error
	// left is how many inodes the superblock still allows: no damage can make a walk
	// without an end.
	left uint64
}

// at visits the inode at ref and what is below it.
func (w *walk) at(ref uint64, at string, depth int) error {
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	where := func(err error) error { return fmt.Errorf("%q: %w", at, err) }
	if w.left == 0 || depth > maxDepth {
		return where(fmt.Errorf("%w: more paths than the superblock says, or too deep", ErrFormat))
	}
	w.left--
	n, err := w.r.inode(ref)
	if err != nil {
		return where(err)
	}
	e := &Entry{Path: at, Mode: n.mode, UID: n.uid, GID: n.gid, Time: n.time, Target: n.target}
	var content io.Reader
	if n.mode.IsRegular() {
		e.Size = int64(n.size)
		content = w.r.data.open(n)
	}
	if err := w.visit(e, content); err != nil {
		return err
	}
	if !n.mode.IsDir() {
		return nil
	}
	entries, err := w.r.list(n)
	if err != nil {
		return where(err)
	}
	last := ""
	for _, child := range entries {
		if child.name <= last || child.name == "." || child.name == ".." || strings.ContainsAny(child.name, "/\x00") {
			return where(fmt.Errorf("%w: it lists %q after %q", ErrFormat, child.name, last))
		}
		last = child.name
		if err := w.at(child.ref, path.Join(at, child.name), depth+1); err != nil {
			return err
		}
	}
	return nil
}

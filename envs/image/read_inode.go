package image

import (
	"encoding/binary"
	"fmt"
	"io/fs"
)

// Types of inodes.
const (
	typeDir = iota + 1
	typeFile
	typeLink
	typeExtDir  = 8
	typeExtFile = 9
	typeExtLink = 10
)

// noFragment: the file's end is in a block of its own. noAttributes likewise.
const noFragment, noAttributes = ^uint32(0), ^uint32(0)

// maxTarget bounds the text of a link, in bytes.
const maxTarget = 64 << 10

// inode is one, of any type.
type inode struct {
	mode     fs.FileMode
	uid, gid uint32
	time     uint32
	// size in bytes: of a file, or of a directory's list.
	size uint64
	// start is where a file's blocks begin (bytes of the file system), or the block of
	// metadata (after the table's start) and offset where a directory's list does.
	start    uint64
	offset   uint32
	fragment uint32
	lengths  []uint32 // of a file's blocks
	target   string
}

// inode reads the one at ref: a block of metadata after the table's start, and 16
// bits of where in it.
func (r *Reader) inode(ref uint64) (*inode, error) {
	s, err := r.meta.stream(r.super.InodeTable+ref>>16, uint16(ref))
	if err != nil {
		return nil, err
	}
	b, err := s.take(16)
	if err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	n := &inode{mode: fs.FileMode(le.Uint16(b[2:]) & 0o777), time: le.Uint32(b[8:]), fragment: noFragment}
	if le.Uint16(b[2:])&0o4000 != 0 {
		n.mode |= fs.ModeSetuid
	}
	if le.Uint16(b[2:])&0o2000 != 0 {
		n.mode |= fs.ModeSetgid
	}
	uid, gid := int(le.Uint16(b[4:])), int(le.Uint16(b[6:]))
	if uid >= len(r.ids) || gid >= len(r.ids) {
		return nil, fmt.Errorf("%w: an inode names owners %d and %d of %d", ErrFormat, uid, gid, len(r.ids))
	}
	n.uid, n.gid = r.ids[uid], r.ids[gid]
	switch kind := le.Uint16(b); kind {
	case typeDir, typeExtDir:
		return n, n.readDir(s, kind)
	case typeFile, typeExtFile:
		return n, n.readFile(s, kind, r.super)
	case typeLink, typeExtLink:
		return n, n.readLink(s, kind)
	default:
		return nil, fmt.Errorf("%w: an inode of type %d, which is neither directory, file nor link", ErrFormat, kind)
	}
}

func (n *inode) readDir(s *stream, kind uint16) error {
	le := binary.LittleEndian
	n.mode |= fs.ModeDir
	if kind == typeDir {
		b, err := s.take(16)
		if err != nil {
			return err
		}
		n.start, n.size, n.offset = uint64(le.Uint32(b)), uint64(le.Uint16(b[8:])), uint32(le.Uint16(b[10:]))
	} else {
		b, err := s.take(24)
		if err != nil {
			return err
		}
		n.size, n.start, n.offset = uint64(le.Uint32(b[4:])), uint64(le.Uint32(b[8:])), uint32(le.Uint16(b[18:]))
		if err := withoutAttributes(le.Uint32(b[20:])); err != nil {
			return err
		}
	}
	// The size counts "." and "..", which are not there.
	if n.size < 3 {
		return fmt.Errorf("%w: a directory of size %d", ErrFormat, n.size)
	}
	n.size -= 3
	return nil
}

func (n *inode) readFile(s *stream, kind uint16, super Superblock) error {
	le := binary.LittleEndian
	if kind == typeFile {
		b, err := s.take(16)
		if err != nil {
			return err
		}
		n.start, n.fragment, n.offset, n.size = uint64(le.Uint32(b)), le.Uint32(b[4:]), le.Uint32(b[8:]), uint64(le.Uint32(b[12:]))
	} else {
		b, err := s.take(40)
		if err != nil {
			return err
		}
		n.start, n.size, n.fragment, n.offset = le.Uint64(b), le.Uint64(b[8:]), le.Uint32(b[28:]), le.Uint32(b[32:])
		if err := withoutAttributes(le.Uint32(b[36:])); err != nil {
			return err
		}
	}
	blocks := n.size / uint64(super.BlockSize)
	if n.fragment == noFragment && n.size%uint64(super.BlockSize) > 0 {
		blocks++
	}
	// A length takes four bytes of metadata, packed at most 8192 bytes into two.
	if blocks > super.BytesUsed*metaSize {
		return fmt.Errorf("%w: a file of %d bytes", ErrFormat, n.size)
	}
	for ; blocks > 0; blocks-- {
		b, err := s.take(4)
		if err != nil {
			return err
		}
		n.lengths = append(n.lengths, le.Uint32(b))
	}
	return nil
}

func (n *inode) readLink(s *stream, kind uint16) error {
	n.mode |= fs.ModeSymlink
	b, err := s.take(8)
	if err != nil {
		return err
	}
	size := binary.LittleEndian.Uint32(b[4:])
	if size == 0 || size > maxTarget {
		return fmt.Errorf("%w: a link with a text of %d bytes", ErrFormat, size)
	}
	if b, err = s.take(int(size)); err != nil {
		return err
	}
	n.target = string(b)
	if kind == typeExtLink {
		if b, err = s.take(4); err != nil {
			return err
		}
		return withoutAttributes(binary.LittleEndian.Uint32(b))
	}
	return nil
}

func withoutAttributes(index uint32) error {
	if index != noAttributes {
		return fmt.Errorf("%w: extended attributes (number %d)", ErrFormat, index)
	}
	return nil
}

// child is a line of a directory.
type child struct {
	name string
	ref  uint64
}

// maxRun is how many lines follow one header of a directory's list.
const maxRun = 256

// list reads a directory.
func (r *Reader) list(n *inode) ([]child, error) {
	if n.size == 0 {
		return nil, nil
	}
	s, err := r.meta.stream(r.super.DirTable+n.start, uint16(n.offset))
	if err != nil {
		return nil, err
	}
	var out []child
	left := int64(n.size)
	take := func(k int) ([]byte, error) {
		if left -= int64(k); left < 0 {
			return nil, fmt.Errorf("%w: a directory's list ends amid a line", ErrFormat)
		}
		return s.take(k)
	}
	le := binary.LittleEndian
	for left > 0 {
		head, err := take(12)
		if err != nil {
			return nil, err
		}
		count, at := le.Uint32(head), uint64(le.Uint32(head[4:]))
		if count >= maxRun {
			return nil, fmt.Errorf("%w: a directory's list of %d lines in a row", ErrFormat, count)
		}
		for range count + 1 {
			b, err := take(8)
			if err != nil {
				return nil, err
			}
			ref := at<<16 | uint64(le.Uint16(b))
			name, err := take(int(le.Uint16(b[6:])) + 1)
			if err != nil {
				return nil, err
			}
			out = append(out, child{name: string(name), ref: ref})
		}
	}
	return out, nil
}

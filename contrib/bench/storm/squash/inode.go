package squash

import (
	"encoding/binary"
	"fmt"
)

// Types of inodes; the extended ones are extended more.
const (
	typeDir     = 1
	typeFile    = 2
	typeSymlink = 3
	extended    = 7
	noFragment  = 1<<32 - 1
	// maxList bounds the listing of a directory and a file's number of blocks.
	maxList = 1 << 28
)

// Inode is a file, directory or link of an image.
type Inode struct {
	// Size of a file's content, in bytes.
	Size int64

	kind     int
	start    int64 // of a file's first block, or of a directory's listing
	offset   int
	fragment uint32
	blocks   []uint32 // stored sizes
	link     string
}

// Dir tells whether it is a directory.
func (n *Inode) Dir() bool { return n.kind == typeDir }

// inode reads the one that a reference names.
func (i *Image) inode(ref uint64) (*Inode, error) {
	c := &cursor{i, int64(i.super.inodes + ref>>16), int(ref & 0xffff)}
	head, err := c.read(16)
	if err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	kind := int(le.Uint16(head))
	n := &Inode{kind: kind, fragment: noFragment}
	if kind > extended {
		n.kind = kind - extended
	}
	size := map[int]int{typeDir: 16, typeFile: 16, typeSymlink: 8, typeDir + extended: 24, typeFile + extended: 40, typeSymlink + extended: 8}[kind]
	if size == 0 {
		return nil, fmt.Errorf("inode %#x has type %d", ref, kind)
	}
	b, err := c.read(size)
	if err != nil {
		return nil, err
	}
	switch kind {
	case typeDir:
		n.start, n.Size, n.offset = int64(le.Uint32(b)), int64(le.Uint16(b[8:])), int(le.Uint16(b[10:]))
	case typeDir + extended:
		n.Size, n.start, n.offset = int64(le.Uint32(b[4:])), int64(le.Uint32(b[8:])), int(le.Uint16(b[18:]))
	case typeFile:
		n.start, n.fragment, n.Size = int64(le.Uint32(b)), le.Uint32(b[4:]), int64(le.Uint32(b[12:]))
	case typeFile + extended:
		n.start, n.Size, n.fragment = int64(le.Uint64(b)), int64(le.Uint64(b[8:])), le.Uint32(b[28:])
	default:
		if n.Size = int64(le.Uint32(b[4:])); n.Size > metadataSize {
			return nil, fmt.Errorf("inode %#x is a link of %d bytes", ref, n.Size)
		}
		text, err := c.read(int(n.Size))
		if err != nil {
			return nil, err
		}
		n.link = string(text)
	}
	if n.kind != typeFile {
		return n, nil
	}
	count := n.Size / int64(i.super.blockSize)
	if n.fragment == noFragment && n.Size%int64(i.super.blockSize) > 0 {
		count++
	}
	if count < 0 || count > maxList {
		return nil, fmt.Errorf("inode %#x has %d blocks", ref, count)
	}
	for range count {
		if b, err = c.read(4); err != nil {
			return nil, err
		}
		n.blocks = append(n.blocks, le.Uint32(b))
	}
	return n, nil
}

// Read touches the blocks of bytes offset to offset+size of a file.
func (i *Image) Read(n *Inode, offset, size int64) error {
	end := min(offset+size, n.Size)
	if n.kind != typeFile || offset >= end {
		return nil
	}
	per := int64(i.super.blockSize)
	at := n.start
	for k, stored := range n.blocks {
		length := int64(stored &^ dataRaw)
		if from := int64(k) * per; from < end && from+per > offset && length > 0 {
			i.touched[at] = length
		}
		at += length
	}
	if tail := int64(len(n.blocks)) * per; n.fragment != noFragment && end > tail {
		return i.fragment(n.fragment)
	}
	return nil
}

// entry of a directory.
type entry struct {
	name string
	ref  uint64
}

// list calls each with the entries of a directory, in the order of their names,
// until it says no. Only what comes before that is touched.
func (i *Image) list(n *Inode, each func(entry) bool) error {
	c := &cursor{i, int64(i.super.directories) + n.start, n.offset}
	le := binary.LittleEndian
	for left := n.Size - 3; left > 0; { // "." and ".." have a size, and are not there
		head, err := c.read(12)
		if err != nil {
			return err
		}
		left -= 12
		base := uint64(le.Uint32(head[4:])) << 16
		for range int64(le.Uint32(head)) + 1 {
			e, err := c.read(8)
			if err != nil {
				return err
			}
			name, err := c.read(int(le.Uint16(e[6:])) + 1)
			if err != nil {
				return err
			}
			left -= 8 + int64(len(name))
			if !each(entry{string(name), base | uint64(le.Uint16(e))}) {
				return nil
			}
			if left <= 0 {
				break
			}
		}
	}
	return nil
}

// List touches the whole listing of a directory.
func (i *Image) List(n *Inode) error {
	return i.list(n, func(entry) bool { return true })
}

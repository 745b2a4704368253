package image

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Of the format (squashfs 4.0, little-endian).
const (
	magic          = 0x73717368 // "hsqs"
	superblockSize = 96
	compZstd       = 6
	// minBlock and maxBlock bound the size of data blocks.
	minBlock, maxBlock = 4 << 10, 1 << 20
	noTable            = ^uint64(0)
	flagNoXattrs       = 0x0200
)

// padTo is what mksquashfs pads files to, so that a loop device sees all of it.
const padTo = 4096

// ReadSuperblock reads the superblock of an image of size bytes. ErrFormat: it is no
// squashfs 4.0 image with zstd whose tables lie within the file. It reads 96 bytes
// and trusts none of them, so that a launch may call it on anybody's file.
func ReadSuperblock(r io.ReaderAt, size int64) (Superblock, error) {
	var b [superblockSize]byte
	var s Superblock
	if _, err := r.ReadAt(b[:], 0); err != nil && size >= superblockSize {
		return s, fmt.Errorf("read superblock: %w", err)
	}
	bad := func(format string, args ...any) (Superblock, error) {
		return Superblock{}, fmt.Errorf("%w: %s", ErrFormat, fmt.Sprintf(format, args...))
	}
	le := binary.LittleEndian
	if size < superblockSize || le.Uint32(b[0:]) != magic {
		return bad("it does not begin as squashfs does (%d bytes)", size)
	}
	if major, minor := le.Uint16(b[28:]), le.Uint16(b[30:]); major != 4 || minor != 0 {
		return bad("it is squashfs %d.%d, not 4.0", major, minor)
	}
	s = Superblock{
		Inodes: le.Uint32(b[4:]), Time: le.Uint32(b[8:]), BlockSize: le.Uint32(b[12:]), Fragments: le.Uint32(b[16:]),
		Compression: le.Uint16(b[20:]), Flags: le.Uint16(b[24:]), IDs: le.Uint16(b[26:]), RootInode: le.Uint64(b[32:]),
		BytesUsed: le.Uint64(b[40:]), IDTable: le.Uint64(b[48:]), XattrTable: le.Uint64(b[56:]), InodeTable: le.Uint64(b[64:]),
		DirTable: le.Uint64(b[72:]), FragTable: le.Uint64(b[80:]), ExportTable: le.Uint64(b[88:]),
	}
	if log := le.Uint16(b[22:]); s.BlockSize < minBlock || s.BlockSize > maxBlock || log > 20 || s.BlockSize != 1<<log {
		return bad("its block size is %d (log %d)", s.BlockSize, log)
	}
	if s.Compression != compZstd {
		return bad("its compression is number %d, not zstd", s.Compression)
	}
	if s.BytesUsed < superblockSize || s.BytesUsed > uint64(size) {
		return bad("it has %d bytes and says that it uses %d: it was cut short or is damaged", size, s.BytesUsed)
	}
	// In this order they lie in the file.
	at := uint64(superblockSize)
	for _, t := range []struct {
		name string
		at   uint64
		opt  bool
	}{{"inode", s.InodeTable, false}, {"directory", s.DirTable, false}, {"fragment", s.FragTable, true}, {"export", s.ExportTable, true}, {"id", s.IDTable, false}, {"attribute", s.XattrTable, true}} {
		if t.opt && t.at == noTable {
			continue
		}
		if t.at < at || t.at >= s.BytesUsed {
			return bad("its %s table is said to lie at byte %d of %d", t.name, t.at, s.BytesUsed)
		}
		at = t.at
	}
	return s, nil
}

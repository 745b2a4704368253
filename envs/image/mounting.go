package image

import (
	"errors"
	"io"
)

// ReadAsMount reads from an image, whose superblock s is, what the kernel reads of it when
// it mounts it: the lists of where the blocks of its tables lie, and the root directory's
// inode. Whoever mounts it afterwards finds that in the page cache. So a process that may
// be given up, and not the one that mounts, waits for storage that does not answer. It
// reads some kilobytes and looks at none of them.
func ReadAsMount(r io.ReaderAt, s Superblock) error {
	end := s.BytesUsed
	list := func(at uint64, records, size uint64) error {
		if at == noTable || records == 0 {
			return nil
		}
		return touch(r, at, 8*((records*size+metaSize-1)/metaSize), end)
	}
	return errors.Join(
		list(s.IDTable, uint64(s.IDs), 4),
		list(s.FragTable, uint64(s.Fragments), 16),
		list(s.ExportTable, uint64(s.Inodes), 8),
		touch(r, s.InodeTable+s.RootInode>>16, 2+metaSize, end),
	)
}

// touch reads n bytes at byte at, as far as they lie before end: what a damaged image says
// of itself is for the kernel to refuse.
func touch(r io.ReaderAt, at, n, end uint64) error {
	if at >= end {
		return nil
	}
	b := make([]byte, min(n, end-at, 1<<20))
	_, err := r.ReadAt(b, int64(at))
	if errors.Is(err, io.EOF) {
		return nil // it was cut short meanwhile
	}
	return err
}

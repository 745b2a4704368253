package image

import (
	"os"

	"golang.org/x/sys/unix"
)

// beginFlush has the kernel begin to write n bytes of f from off on, 0 = to its end. A
// file system that cannot writes them when it will.
func beginFlush(f *os.File, off, n int64) {
	_ = unix.SyncFileRange(int(f.Fd()), off, n, unix.SYNC_FILE_RANGE_WRITE) // a hint
}

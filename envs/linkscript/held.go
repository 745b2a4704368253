package linkscript

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// memoryOf is the memory in bytes that a process keeps from others: its own pages
// and those that it shares as memory, in use or swapped out. Files that it maps can
// be dropped at any time and do not count.
func memoryOf(proc string) (n int64) {
	data, err := os.ReadFile(proc + "/status")
	if err != nil {
		return 0 // it ended
	}
	for line := range bytes.Lines(data) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch string(name) {
		case "RssAnon", "RssShmem", "VmSwap":
			if f := bytes.Fields(value); len(f) == 2 {
				kb, _ := strconv.ParseInt(string(f[0]), 10, 64) // the kernel writes numbers
				n += kb << 10
			}
		}
	}
	return n
}

// inode tells files apart.
type inode struct{ dev, ino uint64 }

// heldFiles adds to held the files without a name that a process has open, with
// what they take of the disk: they are in no directory and go only when they are
// closed.
func heldFiles(proc string, held map[inode]int64) {
	fds, err := os.ReadDir(proc + "/fd")
	if err != nil {
		return // it ended
	}
	for _, fd := range fds {
		// Of pipes and others that a look could wait for, the link's text says so.
		if text, err := os.Readlink(filepath.Join(proc, "fd", fd.Name())); err != nil || !filepath.IsAbs(text) {
			continue
		}
		info, err := os.Stat(filepath.Join(proc, "fd", fd.Name()))
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Nlink == 0 {
			held[inode{uint64(st.Dev), st.Ino}] = allocated(info)
		}
	}
}

// allocated is what a file takes, or could take, of the disk.
func allocated(info fs.FileInfo) int64 {
	size := info.Size()
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		size = max(size, st.Blocks*512)
	}
	return size
}

// freeBytes is what is left of the file system below path; -1 = not known.
func freeBytes(path string) (free, reserve int64) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil || st.Blocks == 0 {
		return -1, 0
	}
	size := int64(st.Bsize)
	return int64(st.Bavail) * size, int64(st.Blocks/50) * size
}

package staging

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// inMemory tells whether what is written to an open directory takes the node's memory. Of
// an overlay the upper directory decides; where that is not seen, memory is assumed.
func inMemory(dir *os.File) (bool, error) {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(dir.Fd()), &st); err != nil {
		return false, fmt.Errorf("file system of %s: %w", dir.Name(), err)
	}
	if int64(st.Type) != unix.OVERLAYFS_SUPER_MAGIC {
		return memoryType(int64(st.Type)), nil
	}
	var at unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &at); err != nil {
		return false, fmt.Errorf("look at %s: %w", dir.Name(), err)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return false, err
	}
	upper := upperOf(string(mounts), fmt.Sprintf("%d:%d", unix.Major(at.Dev), unix.Minor(at.Dev)))
	if upper == "" || unix.Statfs(upper, &st) != nil {
		return true, nil
	}
	return int64(st.Type) == unix.OVERLAYFS_SUPER_MAGIC || memoryType(int64(st.Type)), nil
}

func memoryType(t int64) bool { return t == unix.TMPFS_MAGIC || t == unix.RAMFS_MAGIC }

// upperOf is the upper directory of the overlay with a device number; "" = not told.
func upperOf(mountinfo, device string) string {
	for line := range strings.Lines(mountinfo) {
		head, tail, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " - ")
		f, t := strings.Fields(head), strings.Fields(tail)
		if !ok || len(f) < 3 || len(t) < 3 || f[2] != device {
			continue
		}
		for option := range strings.SplitSeq(t[2], ",") {
			if upper, ok := strings.CutPrefix(option, "upperdir="); ok {
				return upper
			}
		}
	}
	return ""
}

package doctor

import (
	"os"
	"syscall"
)

// device is the number of the file system that a file lies on.
func device(st os.FileInfo) uint64 {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return sys.Dev
	}
	return 0
}

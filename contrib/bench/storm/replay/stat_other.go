//go:build !amd64

package replay

import "golang.org/x/sys/unix"

const sysStatAt = unix.SYS_FSTATAT

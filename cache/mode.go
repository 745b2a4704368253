package cache

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// modeProbes numbers the probes of this process, which may run at once in one
// directory.
var modeProbes atomic.Int64

// exactModesIn is exactModes for the directory at path.
func exactModesIn(path string) (exact bool, err error) {
	d, err := os.Open(path)
	if err != nil {
		return false, storeError("open", path, err)
	}
	defer d.Close() // only read
	return exactModes(int(d.Fd()))
}

// exactModes reports whether what is made in the directory dirfd gets just the
// mode that is asked for. Umask, default ACLs and set-group-id directories may
// be against it; where none is, the setting of every single mode can be spared.
func exactModes(dirfd int) (bool, error) {
	name := fmt.Sprintf("%smode-%d-%d", probeName, os.Getpid(), modeProbes.Add(1))
	exact := true
	for _, p := range []struct {
		mode uint32
		flag int
		make func(mode uint32) error
	}{
		{0o755, unix.AT_REMOVEDIR, func(m uint32) error { return unix.Mkdirat(dirfd, name, m) }},
		{0o555, 0, func(m uint32) error { return makeEmpty(dirfd, name, m) }},
	} {
		err := p.make(p.mode)
		if notMade(err) {
			return false, nil
		}
		var st unix.Stat_t
		if err == nil {
			err = unix.Fstatat(dirfd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
			err = errors.Join(err, unix.Unlinkat(dirfd, name, p.flag))
		}
		if err != nil {
			return false, storeError("probe for modes with", name, err)
		}
		exact = exact && uint32(st.Mode)&0o7777 == p.mode
	}
	return exact, nil
}

// notMade: mknod is not to be had here, by a sandbox or by the file system.
func notMade(err error) bool {
	for _, e := range []error{unix.EPERM, unix.EACCES, unix.ENOSYS, unix.ENOTSUP, unix.EINVAL} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

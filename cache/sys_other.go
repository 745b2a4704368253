//go:build !linux

package cache

import "golang.org/x/sys/unix"

// Elsewhere than on Linux a store only serves to fetch what a bundle is made of.
// What the system does not have says so, and the callers take their other way.

func makeEmpty(int, string, uint32) error { return unix.ENOSYS }

func cloneFile(int, int) error { return unix.ENOTSUP }

func syncFileSystem(int) error { return unix.Sync() }

func renameNew(string, string) error { return unix.ENOSYS }

func futimens(fd int, times []unix.Timespec) error {
	values := make([]unix.Timeval, len(times))
	for i, t := range times {
		values[i] = unix.NsecToTimeval(unix.TimespecToNsec(t))
	}
	return unix.Futimes(fd, values)
}

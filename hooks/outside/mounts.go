package outside

import (
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// leaveMounts puts the process into the node's own mounts, those of process 1, by executing
// the program again: a namespace is a thread's, and only so do all threads change. It
// returns if they are the process's already, or with why it cannot. A process that stays
// needs none of the step's mounts, but keeps what is mounted there, its loop devices
// included, until it ends.
//
// Where process 1 is the job's own (process namespaces of jobs), its mounts are, too.
func leaveMounts(args []string) error {
	var mine, theirs unix.Stat_t
	err := errors.Join(unix.Stat("/proc/self/ns/mnt", &mine), unix.Stat("/proc/1/ns/mnt", &theirs))
	if err != nil {
		return fmt.Errorf("the node's mounts: %w", err)
	}
	if mine.Ino == theirs.Ino && mine.Dev == theirs.Dev {
		return nil
	}
	fd, err := unix.Open("/proc/1/ns/mnt", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("the node's mounts: %w", err)
	}
	// The thread stays locked: if it comes to nothing, no other code runs on it but this
	// goroutine's, which works on descriptors.
	runtime.LockOSThread()
	if err = unix.Unshare(unix.CLONE_FS); err == nil {
		err = unix.Setns(fd, unix.CLONE_NEWNS)
	}
	if err = errors.Join(err, unix.Close(fd)); err == nil {
		err = unix.Exec("/proc/self/exe", append(args, Flag), []string{})
	}
	return fmt.Errorf("it stays in the step's mounts: %w", err)
}

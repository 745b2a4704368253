package staging

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// apartFlag says that the copier was in the node's own mounts, or tried to be.
const apartFlag = "--apart"

// leaveMounts puts the process into the node's own mounts, those of process 1, by executing
// the program again: a namespace is a thread's, and only so do all threads change. It
// returns if they are the process's already, or with why it cannot. A copier that stays
// needs none of its mounts, but keeps what is mounted there, the step's loop devices
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
		err = unix.Exec("/proc/self/exe", append(args, apartFlag), []string{})
	}
	return fmt.Errorf("it stays in the step's mounts: %w", err)
}

// leaveStep takes the copier out of what ends with a step. What it could not leave is said
// to who listens, and hinders nothing: killed, it leaves a part that the next removes.
func leaveStep(apart bool) {
	if !apart {
		if err := leaveMounts(os.Args); err != nil {
			fmt.Fprintln(os.Stderr, "note:", err)
		}
	}
	if err := leaveCgroups("/", os.Getpid()); err != nil {
		fmt.Fprintln(os.Stderr, "note:", err)
	}
}

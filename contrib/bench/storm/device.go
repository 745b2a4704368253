package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/hooks/loopdev"
)

// takes bounds how often another process may take the loop device that was free.
const takes = 1000

// mountDisk mounts a file with an ext4 file system, read-only: a node's own disk.
func mountDisk(file, target string) (err error) {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for range takes {
		device, err := loopdev.Free()
		if err != nil {
			return err
		}
		err = loopdev.Configure(device, f)
		taken := errors.Is(err, loopdev.ErrTaken)
		if err == nil {
			err = unix.Mount(device.Name(), target, "ext4", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, "noload")
		}
		// The device is freed when nobody has it open: now if the mount failed, else when
		// it ends.
		closed := device.Close()
		if taken && closed == nil {
			continue
		}
		if err = errors.Join(err, closed); err != nil {
			return fmt.Errorf("mount %s at %s: %w", file, target, err)
		}
		return nil
	}
	return fmt.Errorf("mount %s: each of %d loop devices was taken by somebody else", file, takes)
}

// unmount unmounts target; its loop device is freed with it.
func unmount(target string) error {
	if err := unix.Unmount(target, 0); err != nil {
		return fmt.Errorf("unmount %s: %w", target, err)
	}
	return nil
}

// alone hides the loop devices of the other simulated nodes from this one's programs:
// nodes have a kernel each, and look through their own devices only.
func alone() error {
	if err := unix.Mount("none", "/sys/block", "tmpfs", unix.MS_RDONLY, "size=4k"); err != nil {
		return fmt.Errorf("cover /sys/block: %w", err)
	}
	return nil
}

// device is the loop device that is mounted at target.
func device(target string) (*os.File, error) {
	var st unix.Stat_t
	if err := unix.Stat(target, &st); err != nil {
		return nil, fmt.Errorf("%s: %w", target, err)
	}
	link, err := os.Readlink(fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev)))
	if err != nil {
		return nil, fmt.Errorf("what is mounted at %s: %w", target, err)
	}
	return os.Open(filepath.Join("/dev", filepath.Base(link)))
}

// shows tells whether the device mounted at target shows the file.
func shows(target, file string) (yes bool, err error) {
	d, err := device(target)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	f, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return loopdev.Same(d, f)
}

// direct has the device mounted at target read its file past the host's memory.
func direct(target string) error {
	d, err := device(target)
	if err != nil {
		return err
	}
	err = unix.IoctlSetInt(int(d.Fd()), unix.LOOP_SET_DIRECT_IO, 1)
	return errors.Join(err, d.Close())
}

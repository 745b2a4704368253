package loopdev

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrTaken: between looking and configuring, the device became another process's.
var ErrTaken = errors.New("the loop device was taken by another process")

// Using opens, for reading, the devices whose file has this base name. Whether it is the
// file itself, Same tells. The caller closes them; while open, none is freed.
func Using(base string) ([]*os.File, error) {
	dirs, err := filepath.Glob("/sys/block/loop[0-9]*")
	if err != nil {
		return nil, err
	}
	var out []*os.File
	for _, dir := range dirs {
		name, err := os.ReadFile(filepath.Join(dir, "loop", "backing_file"))
		if err != nil || filepath.Base(strings.TrimSuffix(string(name), "\n")) != base {
			continue // it has no file, or lost it just now
		}
		f, err := os.Open(filepath.Join("/dev", filepath.Base(dir)))
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENXIO) {
			continue
		}
		if err != nil {
			return nil, errors.Join(err, closeAll(out))
		}
		out = append(out, f)
	}
	return out, nil
}

func closeAll(files []*os.File) error {
	var errs []error
	for _, f := range files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// Same tells whether the device shows all of the file, read-only, and is freed after its
// last use. The caller must be one whom the file's storage answers.
func Same(device, file *os.File) (bool, error) {
	info, err := unix.IoctlLoopGetStatus64(int(device.Fd()))
	if errors.Is(err, unix.ENXIO) {
		return false, nil // it has no file any more
	}
	if err != nil {
		return false, fmt.Errorf("look at %s: %w", device.Name(), err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return false, fmt.Errorf("look at %s: %w", file.Name(), err)
	}
	const flags = unix.LO_FLAGS_READ_ONLY | unix.LO_FLAGS_AUTOCLEAR
	return info.Device == encodeDev(st.Dev) && info.Inode == st.Ino && info.Offset == 0 && info.Sizelimit == 0 &&
		info.Flags&flags == flags, nil
}

// encodeDev is a device number as the loop driver tells it: in the kernel's 32 bits, not
// in the 64 of stat.
func encodeDev(dev uint64) uint64 {
	major, minor := uint64(unix.Major(dev)), uint64(unix.Minor(dev))
	return minor&0xff | major<<8 | (minor&^0xff)<<12
}

// Free opens a device that nobody uses at this moment.
func Free() (*os.File, error) {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("loop devices (kernel module loop): %w", err)
	}
	n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
	if err = errors.Join(err, control.Close()); err != nil {
		return nil, fmt.Errorf("a free loop device: %w", err)
	}
	return os.OpenFile(fmt.Sprintf("/dev/loop%d", n), os.O_RDWR, 0)
}

// Configure shows the file in the device: read-only, freed after the last use. It needs
// no right beyond having both open. An error of class ErrTaken: take another device.
//
// The file is read through the page cache and not directly: squashfs keeps few of the
// compressed blocks and would ask the storage for the same ones again (contrib/bench/storm
// measures it). FADV_RANDOM keeps the storage's own reading ahead from bringing what
// nobody asked for, so that each byte is read once at most.
func Configure(device, file *os.File) error {
	if err := unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_RANDOM); err != nil {
		return fmt.Errorf("%s: %w", file.Name(), err)
	}
	config := unix.LoopConfig{Fd: uint32(file.Fd())}
	config.Info.Flags = unix.LO_FLAGS_READ_ONLY | unix.LO_FLAGS_AUTOCLEAR
	err := unix.IoctlLoopConfigure(int(device.Fd()), &config)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTTY) || errors.Is(err, unix.ENOSYS) {
		err = configureOld(device, file) // before Linux 5.8
	}
	if errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("%s: %w", device.Name(), ErrTaken)
	}
	if err != nil {
		return fmt.Errorf("%s for %s: %w", device.Name(), file.Name(), err)
	}
	return nil
}

// configureOld takes two steps: the file, which is open for reading only, makes the
// device read-only.
func configureOld(device, file *os.File) error {
	if err := unix.IoctlSetInt(int(device.Fd()), unix.LOOP_SET_FD, int(file.Fd())); err != nil {
		return err
	}
	err := unix.IoctlLoopSetStatus64(int(device.Fd()), &unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR})
	if err != nil {
		return errors.Join(err, unix.IoctlSetInt(int(device.Fd()), unix.LOOP_CLR_FD, 0))
	}
	return nil
}

// NoReadAhead: squashfs unpacks a whole block for its first page anyway; what a device
// reads ahead are blocks that nobody wants. It needs root, and holds until the device is
// freed.
func NoReadAhead(device *os.File) error {
	if err := unix.IoctlSetInt(int(device.Fd()), unix.BLKRASET, 0); err != nil {
		return fmt.Errorf("%s: reading ahead: %w", device.Name(), err)
	}
	return nil
}

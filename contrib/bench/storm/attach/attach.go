package attach

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Options of a mount.
type Options struct {
	// User and Group who open the image; 0 is root, and then no other process is
	// started.
	User, Group uint32
	// Direct reads the image past the memory of the host that has it open. squashfs
	// keeps few compressed blocks; with Direct it asks the storage for others again
	// and again, without it they are in memory, beside what was made of them.
	Direct bool
	// Device is the number of the loop device to take, if it is free; 0 is any. The
	// simulated nodes have one kernel, and would all try the same one first.
	Device int
	// Type of the file system; "" is squashfs.
	Type string
}

// tries bounds how often another process may take the loop device that was free.
const tries = 1000

// Image mounts the image on target.
func Image(image, target string, opt Options) error {
	for i := range tries {
		wanted := opt.Device
		if i > 0 {
			wanted = 0
		}
		device, err := free(wanted)
		if err != nil {
			return err
		}
		err = configure(device, image, opt)
		if errors.Is(err, unix.EBUSY) {
			if err := device.Close(); err != nil {
				return err
			}
			continue // another was faster
		}
		if err == nil && opt.Type == "" {
			err = noReadAhead(device.Name())
		}
		if err == nil {
			err = mount(device.Name(), target, opt)
		}
		// With autoclear the device is free again when nobody has it open: at once if
		// the mount failed, else when it ends.
		if err = errors.Join(err, device.Close()); err != nil {
			return fmt.Errorf("attach %s at %s: %w", image, target, err)
		}
		return nil
	}
	return fmt.Errorf("attach %s: each of %d loop devices was taken by somebody else", image, tries)
}

// free opens a loop device that nobody uses at this moment: the wanted one, which
// is made if need be, or with 0 the first.
func free(wanted int) (*os.File, error) {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("loop devices: %w", err)
	}
	n := wanted
	if wanted == 0 {
		n, err = unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
	} else if err = unix.IoctlSetInt(int(control.Fd()), unix.LOOP_CTL_ADD, wanted); errors.Is(err, unix.EEXIST) {
		err = nil
	}
	if err := errors.Join(err, control.Close()); err != nil {
		return nil, fmt.Errorf("a free loop device: %w", err)
	}
	return os.OpenFile("/dev/loop"+strconv.Itoa(n), os.O_RDWR, 0)
}

func configure(device *os.File, image string, opt Options) error {
	if opt.User != 0 {
		return asUser(opt, []string{"configure", image, strconv.FormatBool(opt.Direct)}, device)
	}
	return loop(device, image, opt.Direct)
}

// loop opens the image and makes it the device's content.
func loop(device *os.File, image string, direct bool) error {
	f, err := os.Open(image)
	if err != nil {
		return err
	}
	if err := check(f); err != nil {
		return errors.Join(err, f.Close())
	}
	config := unix.LoopConfig{Fd: uint32(f.Fd())}
	config.Info.Flags = unix.LO_FLAGS_READ_ONLY | unix.LO_FLAGS_AUTOCLEAR
	if direct {
		config.Info.Flags |= unix.LO_FLAGS_DIRECT_IO
	}
	err = unix.IoctlLoopConfigure(int(device.Fd()), &config)
	return errors.Join(err, f.Close()) // the device has its own reference
}

// check is what hpcenv checks of an opened image at each launch, without reading
// more than its first block: the kernel would read ahead.
func check(f *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return fmt.Errorf("%s is no regular file", f.Name())
	}
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_RANDOM); err != nil {
		return err
	}
	superblock := make([]byte, 96)
	_, err := f.ReadAt(superblock, 0)
	return err
}

// noReadAhead: squashfs unpacks a whole block for its first page anyway; reading
// ahead, of which a loop device has a lot by default, brings blocks that nobody
// wants. The device forgets the setting with its content.
func noReadAhead(device string) error {
	return os.WriteFile("/sys/block/"+filepath.Base(device)+"/queue/read_ahead_kb", []byte("0"), 0o644)
}

func mount(device, target string, opt Options) error {
	kind, data := "squashfs", ""
	if opt.Type != "" {
		kind, data = opt.Type, "noload"
	}
	if err := unix.Mount(device, target, kind, unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, data); err != nil {
		return fmt.Errorf("mount %s: %w", device, err)
	}
	return nil
}

// Release unmounts target; its loop device is free when it is done.
func Release(target string) error {
	if err := unix.Unmount(target, 0); err != nil {
		return fmt.Errorf("unmount %s: %w", target, err)
	}
	return nil
}

// Remove removes loop devices that Device made, by their numbers from first on,
// unless somebody uses them.
func Remove(first, count int) error {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("loop devices: %w", err)
	}
	var errs []error
	for n := first; n < first+count; n++ {
		err := unix.IoctlSetInt(int(control.Fd()), unix.LOOP_CTL_REMOVE, n)
		if err != nil && !errors.Is(err, unix.ENODEV) && !errors.Is(err, unix.EBUSY) {
			errs = append(errs, fmt.Errorf("remove loop%d: %w", n, err))
		}
	}
	return errors.Join(append(errs, control.Close())...)
}

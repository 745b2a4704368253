package helper

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/hooks/loopdev"
	"github.com/hpcenv/hpcenv/internal/fdmsg"
)

// eachMark is a file in the prefix root when environments are mounted one by one. Only
// root could have put it there.
const eachMark = ".one-by-one"

// eachMounted tells whether environments are mounted one by one in this namespace.
func eachMounted(prefixRoot string) (bool, error) {
	_, err := os.Lstat(filepath.Join(prefixRoot, eachMark))
	if err == nil {
		return true, nil
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return false, nil // or what is there refuses root: trees
	}
	return false, refuse(api.ExitUnreachable, "prefix root: %w", err)
}

// mountOne mounts one environment at its prefix, and before the first of them an empty
// file system with room for prefixes at the prefix root.
func (f *attachFlags) mountOne(c *opener, one *offer, file *os.File, first bool) (err error) {
	// Before the lock: launches of other images do not wait for this one's copy.
	copied, near, err := f.copyOf(c, one, file)
	if err != nil {
		return err
	}
	if copied != nil {
		defer func() { err = errors.Join(err, copied.Close()) }()
	}
	if first {
		if err := f.makeRoot(); err != nil {
			return err
		}
	}
	unlock, err := f.lockImage(one.ID)
	if err != nil {
		return err
	}
	defer unlock()
	target := filepath.Join(f.prefixRoot, one.ID)
	if one.Image == nil {
		f.deliver(one.ID, asTree)
		return bindReadOnly(int(file.Fd()), one.Name, target)
	}
	if err := os.Mkdir(target, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return refuse(api.ExitUnreachable, "prefix %s cannot be made on this node: %w; next: exclude the node (--exclude) and tell the administrator", target, err)
	}
	there, err := otherDevice(target, f.prefixRoot)
	if err != nil {
		return refuse(api.ExitUnreachable, "prefix %s: %w", target, err)
	}
	var what string
	if there {
		if what, err = f.recordedDelivered(one.ID); err == nil && what == asSquashfuse {
			there, err = serves(target)
		}
	}
	if !there && err == nil {
		if what, err = f.mountImage(c, one, file, copied, target); err == nil {
			err = f.recordDelivered(one.ID, what)
		}
	}
	if err != nil {
		return err
	}
	f.handOver(near)
	f.deliver(one.ID, what)
	if err := fdmsg.Send(c.conn, &request{Done: true}, nil); err != nil {
		return c.verdict(err)
	}
	return nil
}

// makeRoot covers the prefix root with a small file system of this namespace's own.
func (f *attachFlags) makeRoot() error {
	unlock, err := f.lockNode(rootLock, f.end)
	if err != nil {
		return err
	}
	defer unlock()
	each, err := eachMounted(f.prefixRoot)
	if err != nil || each {
		return err
	}
	if err := os.MkdirAll(f.prefixRoot, 0o755); err != nil {
		return refuse(api.ExitUnreachable, "prefix root %s cannot be made on this node: %w; next: the administrator creates it", f.prefixRoot, err)
	}
	if has, err := os.ReadDir(f.prefixRoot); f.shared && (err != nil || len(has) > 0) {
		return refuse(api.ExitUnreachable, "this step's environment is an image, and a step of this job has the store's trees at %s already, which would be hidden; next: run it as a job of its own", f.prefixRoot)
	}
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if err := unix.Mount("hpcenv", f.prefixRoot, "tmpfs", flags, "mode=0755,size=64m"); err != nil {
		return refuse(api.ExitUnreachable, "prefix root %s: an empty file system cannot be mounted there: %w; next: exclude the node (--exclude) and tell the administrator", f.prefixRoot, err)
	}
	if err := os.WriteFile(filepath.Join(f.prefixRoot, eachMark), nil, 0o444); err != nil {
		return errors.Join(refuse(api.ExitUnreachable, "prefix root: %w", err), unix.Unmount(f.prefixRoot, unix.MNT_DETACH))
	}
	return nil
}

// mountImage mounts an image that the user's child has opened, or its copy on this node, and
// says as what.
func (f *attachFlags) mountImage(c *opener, one *offer, file, copied *os.File, target string) (string, error) {
	what := asImage
	if copied != nil {
		what, file = asLocal, copied
	}
	err := errOnly
	if f.fuse != fuseOnly {
		err = f.mountInKernel(c, one, copied, target)
	}
	if err == errOnly || errors.As(err, new(*lacking)) {
		return f.mountAnyhow(c, one, file, target, err)
	}
	return what, err
}

// mountInKernel mounts it in the loop device that shows it on this node already, or in a
// new one.
func (f *attachFlags) mountInKernel(c *opener, one *offer, copied *os.File, target string) error {
	var device *os.File
	var err error
	if copied != nil {
		device, err = localDevice(copied)
	} else {
		device, err = f.device(c, one)
	}
	if err != nil {
		return err
	}
	err = mountDevice(device, one, target)
	// Mounted, it stays; else the kernel frees it now.
	return errors.Join(err, device.Close())
}

// rootChecks sees with root's own eyes what the child has checked, as far as the storage
// answers root.
func (f *attachFlags) rootChecks(one *offer, file *os.File) error {
	var st unix.Statx_t
	err := unix.Statx(int(file.Fd()), "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_BASIC_STATS, &st)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		return nil
	}
	if err != nil {
		return refuse(api.ExitUnreachable, "store: %w", &fs.PathError{Op: "stat", Path: one.Name, Err: err})
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Mode&0o222 != 0 || f.owner >= 0 && int(st.Uid) != f.owner || st.Size != uint64(one.Image.Size) {
		return refuse(api.ExitUnreachable, "%s is not the image that was published: root sees mode %06o, owner %d and %d bytes, not %d bytes of owner %d that nobody may write to; it is not mounted; next: tell the administrator, who looks at who has changed it", one.Name, st.Mode, st.Uid, st.Size, one.Image.Size, f.owner)
	}
	return nil
}

// takes bounds how often another process may be faster in taking a free loop device.
const takes = 100

// device is a loop device that shows the image. The caller closes it.
func (f *attachFlags) device(c *opener, one *offer) (*os.File, error) {
	have, err := loopdev.Using(filepath.Base(one.Name))
	if err != nil {
		return nil, noDevice(err)
	}
	var found *os.File
	for _, d := range have {
		var told *answer
		if err == nil && found == nil {
			told, err = c.ask(request{}, d)
		}
		if told != nil && told.Yes {
			found = d
			continue
		}
		err = errors.Join(err, d.Close())
	}
	if found != nil || err != nil {
		if err != nil && found != nil {
			err = errors.Join(err, found.Close())
		}
		return found, err
	}
	for range takes {
		d, err := loopdev.Free()
		if err != nil {
			return nil, noDevice(err)
		}
		told, err := c.ask(request{Configure: true}, d)
		if err == nil && told.Yes {
			if err = loopdev.NoReadAhead(d); err == nil {
				return d, nil
			}
			err = noDevice(err)
		}
		if err = errors.Join(err, d.Close()); err != nil {
			return nil, err
		}
	}
	return nil, noDevice(fmt.Errorf("each of %d was taken by other programs first", takes))
}

func noDevice(err error) error {
	return &lacking{refuse(api.ExitUnreachable, "this node has no loop device for the environment's image: %w; next: exclude the node (--exclude) and tell the administrator: losetup -a shows there which are in use, by what", err)}
}

// mountDevice looks at what the device shows, through the kernel's own reading, and
// mounts it.
func mountDevice(device *os.File, one *offer, target string) error {
	s, err := image.ReadSuperblock(device, one.Image.Size)
	if err == nil && s != one.Image.Superblock {
		err = errors.New("it begins with another superblock than it was published with")
	}
	if err != nil {
		return refuse(api.ExitUnreachable, "%s, in %s: %w; it is not mounted; next: tell the administrator", one.Name, device.Name(), err)
	}
	err = unix.Mount(device.Name(), target, "squashfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, "")
	if errors.Is(err, unix.EINVAL) {
		return refuse(api.ExitUnreachable, "this node's kernel cannot mount %s: %w: its squashfs may lack zstd, or the image is damaged; next: exclude the node (--exclude) and tell the administrator: the node's kernel log says which, and hpcenv admin verify looks at the image", one.Name, err)
	}
	if errors.Is(err, unix.ENODEV) {
		return &lacking{refuse(api.ExitUnreachable, "this node's kernel has no squashfs: %w; next: exclude the node (--exclude); the administrator loads the module squashfs", err)}
	}
	if err != nil {
		return refuse(api.ExitUnreachable, "%s cannot be mounted at %s: %w; next: tell the administrator, or exclude the node (--exclude)", one.Name, target, err)
	}
	return nil
}

// otherDevice tells whether a is on another device than b, so that something is mounted.
func otherDevice(a, b string) (bool, error) {
	var x, y unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, a, unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE, &x)
	if errors.Is(err, unix.EACCES) {
		return true, nil // what refuses root is mounted
	}
	err = errors.Join(err, unix.Statx(unix.AT_FDCWD, b, unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE, &y))
	return x.Dev_major != y.Dev_major || x.Dev_minor != y.Dev_minor, err
}

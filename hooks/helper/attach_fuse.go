package helper

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/squashfuse"
)

// lacking is an error that says what the node's kernel lacks to mount images. Then another
// way is tried.
type lacking struct{ error }

func (l *lacking) Unwrap() error { return l.error }

// How the site wants squashfuse: fuse= in plugstack.conf.
const (
	fuseYes  = "yes"  // where the kernel cannot mount images
	fuseNo   = "no"   // never
	fuseOnly = "only" // always: the kernel is not asked
)

// errOnly stands for what the kernel lacks where it is not asked.
var errOnly = errors.New("plugstack.conf says fuse=only")

// mountAnyhow mounts an image that the kernel cannot mount for what it lacks, or the
// environment's tree, and says which.
func (f *attachFlags) mountAnyhow(c *opener, one *offer, file *os.File, target string, lack error) (string, error) {
	err := f.serveImage(one, file, target)
	if err == nil {
		if lack != errOnly {
			fallBack("%s is shown by squashfuse, which reads several times slower: %v", one.Name, lack)
		}
		return asSquashfuse, nil
	}
	tree, treeErr := c.tree()
	if treeErr != nil {
		return "", treeErr
	}
	if tree == nil {
		return "", refuse(api.ExitUnreachable, "this node cannot show the environment's image %s: %w; %w; the store has no tree of it; next: exclude the node (--exclude); the administrator has the kernel modules loop and squashfs loaded, or squashfuse installed, or environments delivered as both", one.Name, withoutNext(lack), err)
	}
	treeErr = bindReadOnly(int(tree.Fd()), "the tree of "+one.ID, target)
	if treeErr = errors.Join(treeErr, tree.Close()); treeErr != nil {
		return "", treeErr
	}
	fallBack("the environment's tree is used and not its image %s: %v; %v", one.Name, lack, err)
	return asTree, nil
}

// serveImage mounts an image that a process of the user's shows.
func (f *attachFlags) serveImage(one *offer, file *os.File, target string) error {
	if f.fuse == fuseNo {
		return errors.New("squashfuse is not used (fuse=no in plugstack.conf)")
	}
	program, err := squashfuse.Find()
	if err != nil {
		return err
	}
	fuse, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("squashfuse needs FUSE (kernel module fuse): %w", err)
	}
	s, err := f.startServer(program, file, fuse)
	if err != nil {
		return errors.Join(err, fuse.Close())
	}
	err = squashfuse.Mount(fuse, one.Name, target, f.uid, f.gid)
	// From here on the server alone has the other end of the mount.
	if err = errors.Join(err, fuse.Close()); err != nil {
		return errors.Join(fmt.Errorf("FUSE cannot be mounted at %s: %w", target, err), s.giveUp())
	}
	if err := s.ready(target); err != nil {
		return fmt.Errorf("%s does not show the image (it must be 0.1.103 or newer, with libfuse 3 and zstd): %w", program, err)
	}
	return nil
}

// serves tells whether what is mounted at target answers. Where its server is gone it is
// unmounted, so that it can be mounted anew: who has files of it open is not helped.
func serves(target string) (bool, error) {
	var st unix.Statfs_t
	err := unix.Statfs(target, &st)
	if !squashfuse.Ended(err) {
		return true, nil // and whatever else is wrong, activation sees as the user
	}
	if err := unix.Unmount(target, unix.MNT_DETACH); err != nil {
		return false, refuse(api.ExitUnreachable, "prefix %s: the process that showed the environment's image here has ended, and it cannot be unmounted: %w; next: exclude the node (--exclude)", target, err)
	}
	return false, nil
}

// fallBack warns that something else is used than what should be.
func fallBack(format string, args ...any) {
	for i, a := range args {
		if err, ok := a.(error); ok {
			args[i] = withoutNext(err)
		}
	}
	fmt.Fprintln(os.Stderr, "warning: "+strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; "))
}

// withoutNext is an error without what it proposes to do.
func withoutNext(err error) error {
	text, _, cut := strings.Cut(err.Error(), "; next: ")
	if !cut {
		return err
	}
	return &said{text, err}
}

// said is an error in other words.
type said struct {
	text string
	err  error
}

func (s *said) Error() string { return s.text }
func (s *said) Unwrap() error { return s.err }

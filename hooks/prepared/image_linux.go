package prepared

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/materialize"
)

// Image is where the image of an environment lies.
func (s Store) Image(id, platform string) string {
	return filepath.Join(s.Root, "images", platform, id+cache.ImageSuffix)
}

// OpenImage opens the image that m describes and checks what a launch can afford to, on
// the open file: no symbolic link below the store's root, a regular file of owner's (a
// numeric uid) that nobody may write to, its size and superblock. Errors: fs.ErrNotExist,
// ErrDamaged for what is not as it was published, or why the store cannot be read.
func (s Store) OpenImage(m *materialize.Meta, owner int) (*os.File, error) {
	path := s.Image(m.ID, m.Platform)
	rel, err := filepath.Rel(s.Root, path)
	if err != nil {
		return nil, err
	}
	f, err := OpenBelow(s.Root, rel)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		return nil, fmt.Errorf("%w (symbolic links are not followed in the store): %w", ErrDamaged, err)
	}
	if err != nil {
		return nil, err
	}
	if err := asPublished(f, m, owner); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func asPublished(f *os.File, m *materialize.Meta, owner int) error {
	if m.Image == nil {
		return fmt.Errorf("%s is %w: its description names no image", f.Name(), ErrDamaged)
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok || int(st.Uid) != owner:
		return fmt.Errorf("%s is %w: it belongs to uid %d, the store to uid %d", f.Name(), ErrDamaged, st.Uid, owner)
	case info.Mode().Perm()&0o222 != 0: // it is published 0444
		return fmt.Errorf("%s is %w: somebody may write to it (mode %04o)", f.Name(), ErrDamaged, info.Mode().Perm())
	}
	if err := image.Check(f, m.Image); err != nil {
		return fmt.Errorf("%s is %w: %w", f.Name(), ErrDamaged, err)
	}
	return nil
}

// OpenBelow opens a file for reading, by a path below root in which no part is a
// symbolic link. (openat2 is not on all kernels that nodes have.)
func OpenBelow(root, rel string) (*os.File, error) {
	dir, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: root, Err: err}
	}
	at, parts := root, strings.Split(rel, "/")
	for i, part := range parts {
		how := unix.O_PATH | unix.O_DIRECTORY
		if i == len(parts)-1 {
			how = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY
		}
		at = filepath.Join(at, part)
		next, err := unix.Openat(dir, part, how|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			err = &fs.PathError{Op: "open", Path: at, Err: err}
		}
		if err = errors.Join(err, unix.Close(dir)); err != nil {
			if next >= 0 {
				err = errors.Join(err, unix.Close(next))
			}
			return nil, err
		}
		dir = next
	}
	return os.NewFile(uintptr(dir), at), nil
}

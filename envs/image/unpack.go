package image

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Unpack makes root, which is not there yet, the tree that an image of size bytes holds:
// as it is inside, but with directories that this process may write to. The caller
// removes what is there after an error.
func Unpack(ctx context.Context, r io.ReaderAt, size int64, root string) error {
	img, err := Open(r, size)
	if err != nil {
		return err
	}
	return img.Walk(ctx, func(e *Entry, content io.Reader) error {
		// Names in an image are checked, and a link has nothing below it.
		at := filepath.Join(root, filepath.FromSlash(e.Path))
		switch {
		case e.Mode.IsDir():
			return os.Mkdir(at, 0o755)
		case content == nil:
			return os.Symlink(e.Target, at)
		}
		return WriteFile(at, e, content)
	})
}

// WriteFile makes a file of an image at a path where there is none.
func WriteFile(at string, e *Entry, content io.Reader) error {
	f, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Chmod(e.Mode.Perm()), f.Close())
}

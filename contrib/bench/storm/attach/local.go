package attach

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// copyBuffer is how much is read at once, in bytes.
const copyBuffer = 1 << 20

// Local mounts a copy of the image on target; the copy is at path, on the node's
// own disk, and made now unless it is there. Its digest, in hex, is of the image
// as it was published. A user who may not open the image does not get the copy.
func Local(image, path, digest, target string, opt Options) (err error) {
	f, err := openAs(image, opt)
	if err != nil {
		return fmt.Errorf("open %s as user %d: %w", image, opt.User, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if err := copyOnce(f, path, digest); err != nil {
			return fmt.Errorf("copy %s to %s: %w", image, path, err)
		}
	} else if err != nil {
		return err
	}
	// The copy is root's, and root opens it.
	return Image(path, target, Options{Direct: opt.Direct, Device: opt.Device})
}

// copyOnce hashes while it writes: what is renamed to path is what was published.
func copyOnce(from io.Reader, path, digest string) (err error) {
	to, err := os.CreateTemp(filepath.Dir(path), ".copy-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(to.Name()))
		}
	}()
	sum := sha256.New()
	_, err = io.CopyBuffer(struct{ io.Writer }{io.MultiWriter(to, sum)}, struct{ io.Reader }{from}, make([]byte, copyBuffer))
	if err == nil {
		err = errors.Join(to.Chmod(0o444), to.Sync())
	}
	if err = errors.Join(err, to.Close()); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != digest {
		return fmt.Errorf("the content is %s, published was %s", got, digest)
	}
	return os.Rename(to.Name(), path)
}

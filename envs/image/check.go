package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/hpcenv/hpcenv/cache"
)

// Check tells whether the open file f is, as far as its size and its superblock say,
// the image of rec: what a launch can afford to ask of every mount. An error of class
// cache.ErrIntegrity says what is not so, one of class cache.ErrStore why it cannot be told. Whose file it is and who may write to it is
// for the caller to look at: that differs by store.
func Check(f *os.File, rec *Record) error {
	st, err := f.Stat()
	if err != nil {
		return fmt.Errorf("%w: look at %s: %w", cache.ErrStore, f.Name(), err)
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%w: %s is no regular file (%v)", cache.ErrIntegrity, f.Name(), st.Mode().Type())
	}
	if st.Size() != rec.Size {
		return fmt.Errorf("%w: %s has %d bytes, it was published with %d", cache.ErrIntegrity, f.Name(), st.Size(), rec.Size)
	}
	s, err := ReadSuperblock(f, st.Size())
	if err != nil {
		class := cache.ErrIntegrity
		if !errors.Is(err, ErrFormat) {
			class = cache.ErrStore // not read, so nothing is known of it
		}
		return fmt.Errorf("%w: %s: %w", class, f.Name(), err)
	}
	if s != rec.Superblock {
		return fmt.Errorf("%w: %s begins with another superblock than it was published with", cache.ErrIntegrity, f.Name())
	}
	return nil
}

// Hash is the sha256 of all of r, in hex. It ends early with ctx.
func Hash(ctx context.Context, r io.Reader) (string, error) {
	h := sha256.New()
	if _, err := copyWith(ctx, h, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// copyWith copies until ctx ends.
func copyWith(ctx context.Context, w io.Writer, r io.Reader) (int64, error) {
	return io.CopyBuffer(struct{ io.Writer }{w}, &untilDone{ctx, r}, make([]byte, 1<<20))
}

// untilDone is a reader that ends with a context.
type untilDone struct {
	ctx context.Context
	r   io.Reader
}

func (u *untilDone) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.r.Read(p)
}

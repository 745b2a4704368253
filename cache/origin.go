package cache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// ConfirmOrigin finds out that src's URL delivers the bytes of src.SHA256, which
// the store may have got from somewhere else: whoever hands an archive over can
// name any URL for it. It is asked once for each origin, a name of where the URL
// lies; the answer is kept, since what a server has once delivered, it has
// delivered. Nothing else is kept.
//
// Errors: as Fetch has them; ErrIntegrity where the URL delivers other bytes.
func (s *Store) ConfirmOrigin(ctx context.Context, f *Fetcher, src Source, origin string) (err error) {
	if err := src.check(); err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(origin))
	note := filepath.Join(s.root, "pool", "origins", src.SHA256+"-"+hex.EncodeToString(sum[:8]))
	if _, err := os.Lstat(note); err == nil || !errors.Is(err, os.ErrNotExist) {
		return storeError("look at", note, err)
	}
	dir, err := s.TempDir("origin")
	if err != nil {
		return err
	}
	defer func() {
		if rerr := os.RemoveAll(dir); rerr != nil && err == nil {
			err = storeError("remove", dir, rerr)
		}
	}()
	d := &download{s: s, f: f, src: src, progress: func(int64, int64) {}, part: filepath.Join(dir, "archive"), look: true}
	if err := d.run(ctx); err != nil {
		return fmt.Errorf("package %s: %w", src.Name, err)
	}
	if err := s.MkdirAll(filepath.Dir(note)); err != nil {
		return err
	}
	return s.SaveFile(note, 0o444, func(w io.Writer) error {
		_, err := io.WriteString(w, origin+"\n")
		return err
	})
}

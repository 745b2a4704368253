package prepared

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// A client that looked for a name just before it was published may be told for
// a while that it is not there (NFS caches that too). Listing the directory
// again makes it ask the server.
const (
	tries = 4
	pause = 150 * time.Millisecond
)

// again does try once, or, patiently, until it finds something.
func (s Store) again(path string, try func() error) error {
	var err error
	for i := range tries {
		// ESTALE is what NFS answers for a handle that the server no longer has.
		if err = try(); !s.Patient || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ESTALE) {
			return err
		}
		if i == tries-1 {
			break
		}
		if _, listErr := os.ReadDir(filepath.Dir(path)); errors.Is(listErr, fs.ErrNotExist) && i > 0 {
			return err
		}
		time.Sleep(pause)
	}
	return err
}

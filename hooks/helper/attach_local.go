package helper

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/hooks/loopdev"
	"github.com/hpcenv/hpcenv/hooks/staging"
)

// localWait bounds how long an attach waits for copies of images, all together: well within
// attachTime, so that the store's image can still be mounted.
const localWait = 3 * time.Second

// stage is the copy on this node's disk of an image that the user's child has opened; nil =
// the store's own is mounted, after one warning that says why.
func (f *attachFlags) stage(one *offer, file *os.File) (*os.File, error) {
	if f.local.Dir == "" {
		return nil, nil
	}
	if f.localEnd.IsZero() {
		f.localEnd = time.Now().Add(localWait)
	}
	c := f.local
	c.Wait = time.Until(f.localEnd)
	copied, err := c.Get(file, one.Image, "/proc/self/exe", "spank", "stage")
	if err == nil {
		if err = image.Check(copied, one.Image); err == nil {
			return copied, nil
		}
		err = errors.Join(err, copied.Close())
	}
	if errors.Is(err, staging.ErrSource) {
		return nil, refuse(api.ExitUnreachable, "%s: %w; it is not mounted; next: the administrator looks at it with hpcenv admin verify, removes it and prepares it again", one.Name, err)
	}
	if f.localFail == "refuse" {
		return nil, refuse(api.ExitUnreachable, "%s has no copy in %s: %w; next: exclude the node (--exclude) and tell the administrator, who may choose local_fail=store", one.Name, c.Dir, err)
	}
	fmt.Fprintf(os.Stderr, "warning: %s is used from the store, it has no copy in %s: %v\n", one.Name, c.Dir, err)
	return nil, nil
}

// localDevice is a loop device that shows a copy, which root itself may open. The caller
// closes it.
func localDevice(copied *os.File) (found *os.File, err error) {
	have, err := loopdev.Using(filepath.Base(copied.Name()))
	if err != nil {
		return nil, noDevice(err)
	}
	for _, d := range have {
		same := false
		if err == nil && found == nil {
			same, err = loopdev.Same(d, copied)
		}
		if same {
			found = d
			continue
		}
		err = errors.Join(err, d.Close())
	}
	if err != nil && found != nil {
		err = errors.Join(err, found.Close())
	}
	if err != nil {
		return nil, noDevice(err)
	}
	if found != nil {
		return found, nil
	}
	for range takes {
		d, err := loopdev.Free()
		if err != nil {
			return nil, noDevice(err)
		}
		err = loopdev.Configure(d, copied)
		taken := errors.Is(err, loopdev.ErrTaken)
		if err == nil {
			if err = loopdev.NoReadAhead(d); err == nil {
				return d, nil
			}
		}
		closed := d.Close()
		if !taken || closed != nil {
			return nil, noDevice(errors.Join(err, closed))
		}
	}
	return nil, noDevice(fmt.Errorf("each of %d was taken by other programs first", takes))
}

package image

import (
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/cache"
)

// Share of a tree's bytes that its image takes, as hundredths: Python stacks take 30
// to 40. It serves to say beforehand that there is not the room.
const share = 50

// guess is what an image of a tree of so many bytes takes, rather more than less.
func guess(bytes int64) int64 { return bytes/100*share + 1<<20 }

// Guess is what an image of a tree of so many bytes takes, as far as can be said
// before it is made.
func Guess(bytes int64) int64 { return guess(bytes) }

// free is how many bytes this process may still write below dir.
func free(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}

// HasRoom returns an ErrRoom error if the disks have not the room that a job takes.
// What is staged is there already.
func (t *Tool) HasRoom(job Job) error {
	dirs := []string{filepath.Dir(job.Out)}
	if job.Work != "" {
		dirs = append(dirs, job.Work)
	}
	for _, dir := range dirs {
		if err := t.Room(dir, guess(job.Bytes)); err != nil {
			return err
		}
	}
	return nil
}

// Room returns an ErrRoom error if there are no need bytes free below dir.
func (t *Tool) Room(dir string, need int64) error {
	have, err := t.free(dir)
	if err != nil {
		return fmt.Errorf("%w: how much room is in %s: %w", cache.ErrStore, dir, err)
	}
	if have < need {
		return fmt.Errorf("%w: making it takes about %d MB in %s, which has %d MB left; next: make room there, or name a directory on a larger disk (build_dir of hpcenvd, the store of a user)", ErrRoom, mega(need), dir, mega(have))
	}
	return nil
}

// mega is bytes in MB, rounded up.
func mega(bytes int64) int64 { return (bytes + 999_999) / 1_000_000 }

// full says of an error of writing to dir that the disk is full, where it is.
func full(err error, dir string, need int64) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return fmt.Errorf("%w: %s is full; the image takes about %d MB: %w", ErrRoom, dir, mega(need), err)
	}
	return err
}

package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/hpcenv/hpcenv/cache"
)

// memory is what mksquashfs may use for its caches and queues, in MB: with it a run
// has at most 200 MB in all. 64 MB took twice the time, 512 MB none off.
const memory = 256

// blockSize of data, in bytes. Measured on 47,000 files of a Python stack (767 MB):
// 64 KiB gives 243 MB, 128 KiB 236, 256 KiB 226, 1 MiB 216; importing NumPy, parts
// of SciPy and 600 other modules cold reads 43, 47, 56 and 108 MB of it.
const blockSize = 128 << 10

// level of zstd: 15, the default, takes 15 times as long for 13% less.
const level = 3

// options decide an image's bytes; they are part of its Record.
func options() []string {
	time := strconv.FormatInt(cache.FileTime.Unix(), 10)
	return []string{
		"-comp", "zstd", "-Xcompression-level", strconv.Itoa(level), "-b", strconv.Itoa(blockSize),
		"-no-hardlinks", "-no-xattrs", "-all-root", "-all-time", time, "-mkfs-time", time,
		// Who may do what is not the tree's to say: files of the pool, copies and
		// patched files differ in it, by where the tree was made.
		"-root-mode", "0555", "-action", "chmod(a=rx)@type(d)",
		"-action", "chmod(a=rx)@type(f) && perm(/a=x)", "-action", "chmod(a=r)@type(f) && !perm(/a=x)",
	}
}

// arguments are those of one run. -exit-on-error: a file that cannot be read would
// be left out with a warning.
func (t *Tool) arguments(tree, out string) []string {
	return append([]string{tree, out, "-noappend", "-no-progress", "-quiet", "-no-recovery", "-exit-on-error",
		"-processors", strconv.Itoa(t.processors), "-mem", strconv.Itoa(memory) + "M"}, options()...)
}

// Job is one image to make.
type Job struct {
	// Tree is the finished tree, Digest its tree digest, and Bytes the size of all of
	// its files.
	Tree, Digest string
	Bytes        int64
	// Work is a directory on the local disk where the image is made before it is
	// copied to Out; "" = it is made at Out, which then lies on the same file system
	// as the tree. The caller removes what is left there after an error.
	Work string
	// Out is the file to make. There must be nothing yet.
	Out string
	// Packed (may be nil) is called when the tree is not needed any more.
	Packed func()
}

// Build makes an image and returns its Record. After an error Out may be there, in
// part. The errors are of the classes ErrTool, ErrRoom and cache.ErrStore.
func (t *Tool) Build(ctx context.Context, job Job) (*Record, error) {
	if err := t.Available(ctx); err != nil {
		return nil, err
	}
	if err := t.HasRoom(job); err != nil {
		return nil, err
	}
	rec := &Record{TreeDigest: job.Digest, Mksquashfs: t.version, Libzstd: t.libzstd, Options: options()}
	var err error
	if rec.Stripes, err = t.stripe(ctx, job.Out, guess(job.Bytes)); err != nil {
		return nil, err
	}
	made := job.Out
	if job.Work != "" {
		made = filepath.Join(job.Work, "image.sqfs")
	}
	if err := t.run(ctx, job.Tree, made); err != nil {
		return nil, full(err, filepath.Dir(made), guess(job.Bytes))
	}
	if job.Packed != nil {
		job.Packed()
	}
	if made == job.Out {
		rec.SHA256, rec.Size, err = settle(ctx, made)
		err = full(err, filepath.Dir(made), guess(job.Bytes))
	} else {
		rec.SHA256, rec.Size, err = copyFile(ctx, made, job.Out)
		if err != nil {
			err = full(err, filepath.Dir(job.Out), guess(job.Bytes))
		} else if rerr := os.Remove(made); rerr != nil {
			err = fmt.Errorf("%w: remove %s: %w", cache.ErrStore, made, rerr)
		}
	}
	if err != nil {
		return nil, err
	}
	return rec, verifyMade(job.Out, rec)
}

// verifyMade reads the superblock of a new image, into its Record, and finds out
// whether it is one as it was asked for.
func verifyMade(out string, rec *Record) error {
	f, err := os.Open(out)
	if err != nil {
		return fmt.Errorf("%w: open %s: %w", cache.ErrStore, out, err)
	}
	defer f.Close() // only read
	st, err := f.Stat()
	if err != nil {
		return fmt.Errorf("%w: look at %s: %w", cache.ErrStore, out, err)
	}
	s, err := ReadSuperblock(f, st.Size())
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%w: mksquashfs %s ended well, but the image %s is not as it was asked for: %s", ErrTool, rec.Mksquashfs, out, fmt.Sprintf(format, args...))
	}
	switch {
	case err != nil:
		return wrong("%v", err)
	case st.Size() != rec.Size:
		return wrong("it has %d bytes, %d were written", st.Size(), rec.Size)
	case int64(s.BytesUsed) > st.Size() || st.Size()-int64(s.BytesUsed) >= padTo:
		return wrong("it has %d bytes and uses %d", st.Size(), s.BytesUsed)
	case int64(s.Time) != cache.FileTime.Unix():
		return wrong("its time of making is %d, not %d", s.Time, cache.FileTime.Unix())
	case s.BlockSize != blockSize:
		return wrong("its blocks have %d bytes, not %d", s.BlockSize, blockSize)
	case s.IDs != 1:
		return wrong("its files belong to %d users and groups, not to root alone", s.IDs)
	case s.Flags&flagNoXattrs == 0 || s.XattrTable != noTable:
		return wrong("it has extended attributes")
	}
	rec.Superblock = s
	return nil
}

func hashFile(ctx context.Context, path string) (sum string, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, fmt.Errorf("%w: open %s: %w", cache.ErrStore, path, err)
	}
	defer f.Close() // only read
	h := sha256.New()
	if size, err = copyWith(ctx, h, f); err != nil {
		return "", 0, fmt.Errorf("%w: read %s: %w", cache.ErrStore, path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}

// copyFile copies from to out, which may be there and empty, and hashes on the way.
func copyFile(ctx context.Context, from, out string) (sum string, size int64, err error) {
	in, err := os.Open(from)
	if err != nil {
		return "", 0, fmt.Errorf("%w: open %s: %w", cache.ErrStore, from, err)
	}
	defer in.Close() // only read
	to, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return "", 0, fmt.Errorf("%w: create %s: %w", cache.ErrStore, out, err)
	}
	h := sha256.New()
	size, err = copyWith(ctx, io.MultiWriter(to, h), in)
	if err = errors.Join(err, to.Close()); err != nil {
		return "", 0, fmt.Errorf("%w: write %s: %w", cache.ErrStore, out, err)
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}

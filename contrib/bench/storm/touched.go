package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/hpcenv/hpcenv/contrib/bench/storm/squash"
	"github.com/hpcenv/hpcenv/contrib/bench/storm/trace"
)

// touchedBytes is the least that the image at path can cost a node that mounts it
// and carries out t, in compressed bytes; each block counts once.
func touchedBytes(path string, t *trace.Trace) (bytes int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	img, err := squash.Open(f)
	if err != nil {
		return 0, err
	}
	u := user{img, map[int]*opened{}}
	for n, op := range t.Ops {
		if err := u.carryOut(op); err != nil {
			return 0, fmt.Errorf("operation %d (%s %s): %w", n, op.Kind, op.Path, err)
		}
	}
	bytes, _ = img.Touched()
	return bytes, nil
}

// user carries out operations on an image without reading content.
type user struct {
	img   *squash.Image
	files map[int]*opened
}

type opened struct {
	inode    *squash.Inode
	position int64
}

func (u *user) carryOut(op trace.Op) error {
	f := u.files[op.File]
	switch op.Kind {
	case trace.Open, trace.Stat, trace.Lstat, trace.Access, trace.Readlink:
		inode, err := u.img.Walk(op.Path, op.Kind != trace.Lstat && op.Kind != trace.Readlink)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			if op.Err == 0 {
				return err
			}
			return nil
		}
		if op.Kind == trace.Open && op.Err == 0 {
			u.files[op.File] = &opened{inode: inode}
		}
		return err
	case trace.List:
		return u.img.List(f.inode)
	case trace.ReadAt:
		return u.img.Read(f.inode, op.Offset, op.Size)
	case trace.ReadFile:
		at := f.position
		f.position = max(at, min(at+op.Size, f.inode.Size))
		return u.img.Read(f.inode, at, op.Size)
	case trace.Seek:
		f.position = op.Size + [...]int64{0, f.position, f.inode.Size, 0, 0}[op.Offset]
	case trace.Touch:
		for _, run := range op.Pages {
			if err := u.img.Read(f.inode, run.First*trace.PageSize, run.Count*trace.PageSize); err != nil {
				return err
			}
		}
	case trace.Close:
		delete(u.files, op.File)
	}
	return nil
}

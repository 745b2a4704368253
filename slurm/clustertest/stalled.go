//go:build cluster

package clustertest

import (
	"errors"
	"os"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// stalledUntil is a file on the node: while it is not there, stalled answers no reading of root's.
const stalledUntil = "/run/store-answers"

// stalled serves a directory in which root reads nothing of a file until the node has
// stalledUntil: storage that stops answering in the middle of a copying.
func stalled(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: stalled SOURCE TARGET")
	}
	root, err := fs.NewLoopbackRoot(args[0])
	if err != nil {
		return err
	}
	srv, err := fuse.NewServer(&waiting{fs.NewNodeFS(root, &fs.Options{})}, args[1], &fuse.MountOptions{AllowOther: true, DirectMount: true, FsName: "test"})
	if err != nil {
		return err
	}
	srv.Serve()
	return nil
}

type waiting struct{ fuse.RawFileSystem }

// Open has the kernel ask for what it reads, also where it could read by itself.
func (w *waiting) Open(c <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	s := w.RawFileSystem.Open(c, in, out)
	out.OpenFlags, out.BackingID = out.OpenFlags&^fuse.FOPEN_PASSTHROUGH, 0
	return s
}

func (w *waiting) Read(c <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	for in.Caller.Uid == 0 {
		if _, err := os.Stat(stalledUntil); err == nil {
			break
		}
		select {
		case <-c:
			return nil, fuse.EINTR
		case <-time.After(20 * time.Millisecond):
		}
	}
	return w.RawFileSystem.Read(c, in, buf)
}

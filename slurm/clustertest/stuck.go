//go:build cluster

package clustertest

import (
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/hpcenv/hpcenv/cache"
)

// stuck serves directory args[0] at args[1]: storage that does not answer operations on
// images of the kinds that file args[2] names (lookup, open, getattr, read, tables: reads
// behind the superblock), for as long as the file names them. Who waits is not let go by a signal.
func stuck(args []string) error {
	if len(args) != 3 {
		return errors.New("usage: stuck SOURCE TARGET FILE")
	}
	root, err := fs.NewLoopbackRoot(args[0])
	if err != nil {
		return err
	}
	s := &stuckFS{RawFileSystem: fs.NewNodeFS(root, &fs.Options{}), file: args[2], images: map[uint64]bool{}}
	srv, err := fuse.NewServer(s, args[1], &fuse.MountOptions{AllowOther: true, DirectMount: true, FsName: "test"})
	if err != nil {
		return err
	}
	srv.Serve()
	return nil
}

type stuckFS struct {
	fuse.RawFileSystem
	file string

	mu     sync.Mutex
	images map[uint64]bool // by their numbers here
}

func (s *stuckFS) wait(kind string, image bool) {
	for image {
		kinds, err := os.ReadFile(s.file)
		if err != nil || !strings.Contains(string(kinds), kind) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (s *stuckFS) waitFor(kind string, h *fuse.InHeader) {
	s.mu.Lock()
	image := s.images[h.NodeId]
	s.mu.Unlock()
	s.wait(kind, image)
}

func (s *stuckFS) Lookup(c <-chan struct{}, h *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	image := strings.HasSuffix(name, cache.ImageSuffix)
	s.wait("lookup", image)
	status := s.RawFileSystem.Lookup(c, h, name, out)
	if image && status.Ok() {
		s.mu.Lock()
		s.images[out.NodeId] = true
		s.mu.Unlock()
	}
	return status
}

func (s *stuckFS) GetAttr(c <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	s.waitFor("getattr", &in.InHeader)
	return s.RawFileSystem.GetAttr(c, in, out)
}

func (s *stuckFS) Open(c <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	s.waitFor("open", &in.InHeader)
	status := s.RawFileSystem.Open(c, in, out)
	out.OpenFlags &^= fuse.FOPEN_PASSTHROUGH // reads are to come here
	out.BackingID = 0
	return status
}

func (s *stuckFS) Read(c <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	s.waitFor("read", &in.InHeader)
	if in.Offset > 0 {
		s.waitFor("tables", &in.InHeader)
	}
	return s.RawFileSystem.Read(c, in, buf)
}

//go:build cluster

package clustertest

import (
	"errors"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// rootSquash serves directory args[0] at args[1] to everyone but root, as an
// NFS export with root_squash and private files does: by the modes and groups of files.
func rootSquash(args []string) error {
	return serveFS(args, func(fuse.Caller) bool { return true }, "default_permissions")
}

// hang serves a directory to root and never answers anyone else: storage that
// is gone, with a mount that is not.
func hang(args []string) error {
	return serveFS(args, func(c fuse.Caller) bool {
		if c.Uid != 0 {
			select {}
		}
		return false
	})
}

// serveFS mounts a loopback file system in which refuse decides what root gets
// (EACCES if true); other callers pass it too and are served after it returns.
func serveFS(args []string, refuse func(fuse.Caller) bool, options ...string) error {
	if len(args) != 2 {
		return errors.New("usage: PROGRAM SOURCE TARGET")
	}
	root, err := fs.NewLoopbackRoot(args[0])
	if err != nil {
		return err
	}
	raw := fs.NewNodeFS(root, &fs.Options{})
	srv, err := fuse.NewServer(&guard{raw, refuse}, args[1], &fuse.MountOptions{AllowOther: true, DirectMount: true, FsName: "test", Options: options})
	if err != nil {
		return err
	}
	srv.Serve()
	return nil
}

// guard asks before every operation that looks at something.
type guard struct {
	fuse.RawFileSystem
	refuse func(fuse.Caller) bool
}

func (g *guard) check(h *fuse.InHeader) fuse.Status {
	if g.refuse(h.Caller) && h.Caller.Uid == 0 {
		return fuse.Status(syscall.EACCES)
	}
	return fuse.OK
}

func (g *guard) Lookup(c <-chan struct{}, h *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	if s := g.check(h); s != fuse.OK {
		return s
	}
	return g.RawFileSystem.Lookup(c, h, name, out)
}

func (g *guard) GetAttr(c <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	// The root directory's own attributes are asked for by whoever mounts.
	if in.NodeId != fuse.FUSE_ROOT_ID {
		if s := g.check(&in.InHeader); s != fuse.OK {
			return s
		}
	}
	return g.RawFileSystem.GetAttr(c, in, out)
}

func (g *guard) Open(c <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	if s := g.check(&in.InHeader); s != fuse.OK {
		return s
	}
	return g.RawFileSystem.Open(c, in, out)
}

func (g *guard) OpenDir(c <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	if s := g.check(&in.InHeader); s != fuse.OK {
		return s
	}
	return g.RawFileSystem.OpenDir(c, in, out)
}

func (g *guard) Readlink(c <-chan struct{}, h *fuse.InHeader) ([]byte, fuse.Status) {
	if s := g.check(h); s != fuse.OK {
		return nil, s
	}
	return g.RawFileSystem.Readlink(c, h)
}

func (g *guard) Access(c <-chan struct{}, in *fuse.AccessIn) fuse.Status {
	if s := g.check(&in.InHeader); s != fuse.OK {
		return s
	}
	return g.RawFileSystem.Access(c, in)
}

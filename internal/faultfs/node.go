package faultfs

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// node asks before it does what the directory below does.
type node struct {
	fs.LoopbackNode
	fs *FS
}

// at is this node's path, relative to the mount.
func (n *node) at() string { return n.Path(n.Root()) }

// child is the path of a name in this directory, and the name that it has there.
func (n *node) child(name string) (at, real string) {
	dir := n.at()
	if n.fs.opt.FoldCase {
		name = n.fold(dir, name)
	}
	return path.Join(dir, name), name
}

// fold finds the name that is there and differs from name in case only.
func (n *node) fold(dir, name string) string {
	entries, err := os.ReadDir(filepath.Join(n.fs.source, dir))
	if err != nil {
		return name // the operation itself will say what is wrong
	}
	found := name
	for _, e := range entries {
		if e.Name() == name {
			return name
		}
		if strings.EqualFold(e.Name(), name) {
			found = e.Name()
		}
	}
	return found
}

// ask is before for an operation on a name in this directory.
func (n *node) ask(op, name string) (real string, errno syscall.Errno) {
	at, real := n.child(name)
	return real, n.fs.before(Op{Name: op, Path: at})
}

func (n *node) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	real, errno := n.ask("lookup", name)
	if errno != 0 {
		return nil, errno
	}
	return n.LoopbackNode.Lookup(ctx, real, out)
}

func (n *node) Getattr(ctx context.Context, f fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	if errno := n.fs.before(Op{Name: "getattr", Path: n.at()}); errno != 0 {
		return errno
	}
	return n.LoopbackNode.Getattr(ctx, f, out)
}

func (n *node) Setattr(ctx context.Context, f fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if errno := n.fs.before(Op{Name: "setattr", Path: n.at()}); errno != 0 {
		return errno
	}
	return n.LoopbackNode.Setattr(ctx, f, in, out)
}

func (n *node) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	real, errno := n.ask("create", name)
	if errno != 0 {
		return nil, nil, 0, errno
	}
	return n.LoopbackNode.Create(ctx, real, flags, mode, out)
}

func (n *node) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	if errno := n.fs.before(Op{Name: "open", Path: n.at()}); errno != 0 {
		return nil, 0, errno
	}
	return n.LoopbackNode.Open(ctx, flags)
}

func (n *node) OpendirHandle(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	if errno := n.fs.before(Op{Name: "readdir", Path: n.at()}); errno != 0 {
		return nil, 0, errno
	}
	return n.LoopbackNode.OpendirHandle(ctx, flags)
}

func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	real, errno := n.ask("mkdir", name)
	if errno != 0 {
		return nil, errno
	}
	return n.LoopbackNode.Mkdir(ctx, real, mode, out)
}

func (n *node) Symlink(ctx context.Context, target, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	real, errno := n.ask("symlink", name)
	if errno != 0 {
		return nil, errno
	}
	return n.LoopbackNode.Symlink(ctx, target, real, out)
}

func (n *node) Link(ctx context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	at, real := n.child(name)
	op := Op{Name: "link", Path: at, Old: target.EmbeddedInode().Path(n.Root())}
	var st syscall.Stat_t
	if err := syscall.Lstat(filepath.Join(n.fs.source, op.Old), &st); err != nil {
		return nil, fs.ToErrno(err)
	}
	op.Links = uint64(st.Nlink)
	if errno := n.fs.before(op); errno != 0 {
		return nil, errno
	}
	return n.LoopbackNode.Link(ctx, target, real, out)
}

func (n *node) Rename(ctx context.Context, name string, to fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	old, real := n.child(name)
	at, newReal := newName, newName
	if d, ok := to.(*node); ok {
		at, newReal = d.child(newName)
	}
	if errno := n.fs.before(Op{Name: "rename", Path: at, Old: old}); errno != 0 {
		return errno
	}
	return n.LoopbackNode.Rename(ctx, real, to, newReal, flags)
}

func (n *node) Unlink(ctx context.Context, name string) syscall.Errno {
	real, errno := n.ask("unlink", name)
	if errno != 0 {
		return errno
	}
	return n.LoopbackNode.Unlink(ctx, real)
}

func (n *node) Rmdir(ctx context.Context, name string) syscall.Errno {
	real, errno := n.ask("rmdir", name)
	if errno != 0 {
		return errno
	}
	return n.LoopbackNode.Rmdir(ctx, real)
}

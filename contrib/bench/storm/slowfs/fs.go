package slowfs

import (
	"path/filepath"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// node answers the requests of one mount.
type node struct {
	fuse.RawFileSystem // says ENOSYS to everything else; the kernel does not ask again
	tree               *Tree
	server             *Server
	opt                Options
	count              counters
}

// metadata counts an operation on a file, or on a name in a directory, and returns when
// it is done.
func (n *node) metadata(k Kind, id uint64, name string) {
	n.count.ops[k].Add(1)
	if n.opt.OnMetadata != nil {
		n.opt.OnMetadata(k, filepath.Join(n.entry(id).path, name))
	}
	n.server.wait()
}

func (n *node) entry(id uint64) *entry { return n.tree.entries[id-1] }

func (n *node) String() string { return "slowfs" }

func (n *node) Lookup(_ <-chan struct{}, h *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	child, ok := n.entry(h.NodeId).children[name]
	if !ok {
		n.metadata(Missing, h.NodeId, name)
		// Node 0 is an answer that the kernel keeps, which ENOENT is not.
		*out = fuse.EntryOut{}
		out.SetEntryTimeout(n.opt.Cache)
		if n.opt.Cache == 0 {
			return fuse.ENOENT
		}
		return fuse.OK
	}
	n.metadata(Lookup, h.NodeId, name)
	out.NodeId, out.Generation = uint64(child+1), 1
	out.Attr = n.tree.entries[child].attr
	out.SetEntryTimeout(n.opt.Cache)
	out.SetAttrTimeout(n.opt.Cache)
	return fuse.OK
}

// Forget has nothing to forget: a Tree stays as it is.
func (n *node) Forget(_, _ uint64) {}

func (n *node) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	n.metadata(Getattr, in.NodeId, "")
	out.Attr = n.entry(in.NodeId).attr
	out.SetTimeout(n.opt.Cache)
	return fuse.OK
}

func (n *node) Readlink(_ <-chan struct{}, h *fuse.InHeader) ([]byte, fuse.Status) {
	n.metadata(Readlink, h.NodeId, "")
	return []byte(n.entry(h.NodeId).link), fuse.OK
}

func (n *node) Open(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	n.metadata(Open, in.NodeId, "")
	if in.Flags&syscall.O_ACCMODE != syscall.O_RDONLY {
		return fuse.EROFS
	}
	if _, err := n.tree.open(int(in.NodeId - 1)); err != nil {
		return fuse.ToStatus(err)
	}
	out.OpenFlags = fuse.FOPEN_NOFLUSH
	if n.opt.Cache > 0 {
		out.OpenFlags |= fuse.FOPEN_KEEP_CACHE
	}
	return fuse.OK
}

func (n *node) Read(_ <-chan struct{}, in *fuse.ReadIn, _ []byte) (fuse.ReadResult, fuse.Status) {
	f, err := n.tree.open(int(in.NodeId - 1))
	if err != nil {
		return nil, fuse.ToStatus(err)
	}
	e := n.entry(in.NodeId)
	size := min(int64(in.Size), max(0, int64(e.attr.Size)-int64(in.Offset)))
	n.count.ops[Read].Add(1)
	n.count.bytes.Add(size)
	if n.opt.OnRead != nil {
		n.opt.OnRead(e.path, int64(in.Offset), size)
	}
	return fuse.ReadResultFd(f.Fd(), int64(in.Offset), int(size)), fuse.OK
}

func (n *node) OpenDir(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	n.metadata(Opendir, in.NodeId, "")
	if n.opt.Cache > 0 {
		out.OpenFlags = fuse.FOPEN_KEEP_CACHE | fuse.FOPEN_CACHE_DIR
	}
	return fuse.OK
}

// ReadDir counts the request that ends a listing, too: a client learns only by it
// that there is no more.
func (n *node) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	n.metadata(Readdir, in.NodeId, "")
	e := n.entry(in.NodeId)
	for i := int(in.Offset); i < len(e.names); i++ {
		child := e.children[e.names[i]]
		if !out.AddDirEntry(fuse.DirEntry{Name: e.names[i], Ino: uint64(child + 1), Mode: n.tree.entries[child].attr.Mode, Off: uint64(i + 1)}) {
			break
		}
	}
	return fuse.OK
}

func (n *node) StatFs(_ <-chan struct{}, h *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	n.metadata(Statfs, h.NodeId, "")
	*out = fuse.StatfsOut{Bsize: 4096, NameLen: 255}
	return fuse.OK
}

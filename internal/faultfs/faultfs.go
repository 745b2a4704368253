package faultfs

import (
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// Op is one operation on metadata, before it is carried out.
type Op struct {
	// Name is lookup, getattr, setattr, create, open, mkdir, symlink, link,
	// rename, unlink, rmdir or readdir.
	Name string
	// Path is what the operation is about, relative to the mount; of link and
	// rename the new name.
	Path string
	// Old is the file that a link gives another name to, or the old name of a
	// rename, relative to the mount; else empty.
	Old string
	// Links is how many names the file Old has already (link only).
	Links uint64
}

// Rule decides what becomes of an operation: 0 lets it happen. It is called by
// many goroutines at once.
type Rule func(Op) syscall.Errno

// Options of a mount.
type Options struct {
	// Delay of every operation on metadata.
	Delay time.Duration
	// Rules are asked in order; the first that objects decides.
	Rules []Rule
	// FoldCase: names that differ in case only are one name.
	FoldCase bool
	// AttrCache is how long the kernel believes what it was told; 0 = 1 s.
	AttrCache time.Duration
}

// FS is a mounted file system.
type FS struct {
	// Dir is where it is mounted.
	Dir string

	source string
	opt    Options
	mu     sync.Mutex
	counts map[string]int
}

// Count is how often an operation was asked for.
func (f *FS) Count(op string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counts[op]
}

// before waits and asks the rules.
func (f *FS) before(op Op) syscall.Errno {
	f.mu.Lock()
	f.counts[op.Name]++
	f.mu.Unlock()
	if f.opt.Delay > 0 {
		time.Sleep(f.opt.Delay)
	}
	for _, rule := range f.opt.Rules {
		if errno := rule(op); errno != 0 {
			return errno
		}
	}
	return 0
}

// Mount mounts a fresh directory with opt for the time of a test. Where that is
// impossible (no root, no /dev/fuse) the test is skipped, loudly.
func Mount(t testing.TB, opt Options) *FS {
	t.Helper()
	f := &FS{Dir: t.TempDir(), source: t.TempDir(), opt: opt, counts: map[string]int{}}
	if os.Geteuid() != 0 {
		t.Skip("FUSE IMPOSSIBLE: not root; run as root to test with faulty file systems")
	}
	var st syscall.Stat_t
	if err := syscall.Stat(f.source, &st); err != nil {
		t.Fatal(err)
	}
	data := &fs.LoopbackRoot{Path: f.source, Dev: uint64(st.Dev)}
	data.NewNode = func(*fs.LoopbackRoot, *fs.Inode, string, *syscall.Stat_t) fs.InodeEmbedder {
		return &node{LoopbackNode: fs.LoopbackNode{RootData: data}, fs: f}
	}
	root := data.NewNode(nil, nil, "", nil)
	data.RootNode = root
	cache := opt.AttrCache
	if cache == 0 {
		cache = time.Second
	}
	srv, err := fs.Mount(f.Dir, root, &fs.Options{
		EntryTimeout: &cache, AttrTimeout: &cache,
		MountOptions: fuse.MountOptions{AllowOther: true, DirectMount: true, FsName: "faultfs"},
	})
	if err != nil {
		t.Skipf("FUSE IMPOSSIBLE: %v; /dev/fuse and the right to mount are needed to test with faulty file systems", err)
	}
	t.Cleanup(func() {
		if err := srv.Unmount(); err != nil {
			t.Error(err)
		}
	})
	return f
}

package slowfs

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Options of a mount.
type Options struct {
	// Cache is how long the kernel believes what it was told, of what is there and
	// of what is not. 0: it asks each time, and drops pages when a file is opened.
	Cache time.Duration
	// OnRead, if set, is told of each read, by many goroutines at once.
	OnRead func(path string, offset, size int64)
	// OnMetadata, if set, is told of each other operation, likewise. The path of a lookup
	// is that of the name.
	OnMetadata func(kind Kind, path string)
}

// Mount is one node's view.
type Mount struct {
	// Dir is where it is mounted.
	Dir string

	node   *node
	server *fuse.Server
}

// background requests that a mount may have under way, such as reading ahead.
const background = 64

// New mounts tree at dir, which is there, for all users. It needs root and
// /dev/fuse. The caches of the new mount are empty.
func New(tree *Tree, server *Server, dir string, opt Options) (*Mount, error) {
	n := &node{RawFileSystem: fuse.NewDefaultRawFileSystem(), tree: tree, server: server, opt: opt}
	srv, err := fuse.NewServer(n, dir, &fuse.MountOptions{
		AllowOther: true, DirectMountStrict: true, DisableXAttrs: true, FsName: "slowfs", Name: "slowfs", MaxBackground: background,
		Options: []string{"default_permissions"}, DirectMountFlags: unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV,
		// One request for a name's attributes is one operation; a listing that
		// brings them along would have to be priced otherwise.
		DisabledCapabilities: fuse.CAP_READDIRPLUS,
	})
	if err != nil {
		return nil, fmt.Errorf("mount the slow file system at %s: %w; it needs root and /dev/fuse", dir, err)
	}
	go srv.Serve()
	if err := closeOnExec(); err != nil {
		return nil, errors.Join(err, srv.Unmount())
	}
	if err := srv.WaitMount(); err != nil {
		return nil, fmt.Errorf("mount at %s: %w", dir, err)
	}
	return &Mount{Dir: dir, node: n, server: srv}, nil
}

// Counts is what was asked for so far.
func (m *Mount) Counts() Counts { return m.node.count.snapshot() }

// closeOnExec keeps the connections of all mounts from children of this process,
// which go-fuse does not: a child that has one keeps its mount from ending, and
// nobody answers.
func closeOnExec() error {
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range fds {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err != nil || to != "/dev/fuse" {
			continue // also the descriptor of this very listing, closed by now
		}
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			return err
		}
		unix.CloseOnExec(fd)
	}
	return nil
}

// Close unmounts; nobody may use it any more, and no other mount namespace may
// have it.
func (m *Mount) Close() error {
	if err := m.server.Unmount(); err != nil {
		return fmt.Errorf("unmount %s: %w", m.Dir, err)
	}
	return nil
}

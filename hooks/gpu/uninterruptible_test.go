package gpu

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/hpcenv/hpcenv/hooks/gpu/gputest"
)

// stuck is a file whose reading takes until release: who reads it is in the kernel,
// in a sleep that no signal ends.
type stuck struct {
	fs.Inode
	release chan struct{}
	asked   chan struct{}
	once    sync.Once
}

func (s *stuck) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_DIRECT_IO, 0
}

func (s *stuck) Read(context.Context, fs.FileHandle, []byte, int64) (fuse.ReadResult, syscall.Errno) {
	s.once.Do(func() { close(s.asked) })
	<-s.release // interrupts are not looked at
	return fuse.ReadResultData([]byte("x")), 0
}

// TestUninterruptible: the same as TestUnkillable, with a real SIGKILL and a
// process that the kernel really keeps.
func TestUninterruptible(t *testing.T) {
	t.Parallel()
	mount := t.TempDir()
	file := &stuck{release: make(chan struct{}), asked: make(chan struct{})}
	root := &fs.Inode{}
	server, err := fs.Mount(mount, root, &fs.Options{OnAdd: func(ctx context.Context) {
		root.AddChild("stuck", root.NewPersistentInode(ctx, file, fs.StableAttr{Mode: fuse.S_IFREG}), true)
	}})
	if err != nil {
		t.Skipf("SKIPPED: FUSE cannot be mounted: %v", err)
	}
	var once sync.Once
	release := func() { once.Do(func() { close(file.release) }) }
	t.Cleanup(func() {
		release()
		if err := server.Unmount(); err != nil {
			t.Error(err)
		}
	})

	o := broken(t, "nvmlDeviceGetUUID", 1, gputest.Block)
	d := gputest.Drivers()["8xh100"]
	d.Block = filepath.Join(mount, "stuck")
	d.Rules = []gputest.Rule{{Call: "nvmlDeviceGetUUID", GPU: 1, Do: gputest.Block}}
	o.Library = gputest.Library(t, d)
	o.Limit, o.Reap = soon, 300*time.Millisecond
	r, err := Probe(t.Context(), o)
	if r != nil || !errors.Is(err, ErrHung) || !strings.Contains(err.Error(), "in nvmlDeviceGetUUID of GPU 1") {
		t.Fatalf("%+v %v", r, err)
	}
	<-file.asked
	pid := marked(t, o.RunDir)
	if pid == 0 || born(pid) == "" {
		t.Fatalf("process %d is not there", pid)
	}
	if r, err := Probe(t.Context(), o); r != nil || !errors.Is(err, ErrHung) || marked(t, o.RunDir) != pid {
		t.Fatalf("a second one was started: %+v %v", r, err)
	}
	release()
	for born(pid) != "" {
		time.Sleep(time.Millisecond)
	}
	if r, err := Probe(t.Context(), o); err != nil || len(r.GPUs) != 8 {
		t.Errorf("after its end: %+v %v", r, err)
	}
	if _, err := os.Stat(filepath.Join(o.RunDir, markFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the mark: %v", err)
	}
}

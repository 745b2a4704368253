package wrapper

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/activation"
	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/materialize"
)

// needImages skips where images cannot be shown without root.
func needImages(t *testing.T) {
	t.Helper()
	needNamespaces(t)
	if _, err := imageServer(os.Getenv("PATH")); err != nil {
		t.Skipf("NO IMAGES WITHOUT ROOT ON THIS HOST: this test was not run: %v", err)
	}
	// udev lets everybody use it; a container often has none.
	info, err := os.Stat("/dev/fuse")
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode&0o006 != 0o006 && os.Getuid() == 0 {
		if err := os.Chmod("/dev/fuse", 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// newImageWorld is newWorld with an image in place of the tree; as owns it.
func newImageWorld(t *testing.T, cluster bool) *world {
	t.Helper()
	needImages(t)
	w := newWorld(t, cluster)
	w.pack(t, id)
	return w
}

func (w *world) imagePath(id string) string {
	return filepath.Join(w.Store, "images", w.Platform, id+cache.ImageSuffix)
}

// pack makes an image of a tree and removes the tree.
func (w *world) pack(t *testing.T, id string) {
	t.Helper()
	tool := image.NewTool("")
	if err := tool.Available(context.Background()); err != nil {
		t.Skipf("NO MKSQUASHFS ON THIS HOST: this test was not run: %v", err)
	}
	tree, out := filepath.Join(w.Store, "trees", w.Platform, id), w.imagePath(id)
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		t.Fatal(err)
	}
	rec, err := tool.Build(context.Background(), image.Job{Tree: tree, Digest: "d", Bytes: 1 << 20, Out: out})
	if err != nil {
		t.Fatal(err)
	}
	prefix := filepath.Join(filepath.Dir(w.prefix), id)
	st, err := activation.FromTree(tree, prefix)
	if err != nil {
		t.Fatal(err)
	}
	w.writeJSON(t, filepath.Join(w.Store, "meta", id, w.Platform+".json"), materialize.Meta{Version: 1, ID: id, Platform: w.Platform,
		Environment: "default", Prefix: prefix, Activation: st, Image: rec})
	w.writeJSON(t, filepath.Join(w.Store, "FORMAT"), cache.Format{Version: cache.FormatVersion, PrefixRoot: w.root, Platforms: []string{w.Platform}, OwnerUID: os.Getuid()})
	if err := os.RemoveAll(filepath.Join(w.Store, "trees")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(out, 0o444); err != nil {
		t.Fatal(err)
	}
}

// program is a copy of the test's own that every account may run.
func (w *world) program(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(filepath.Dir(w.Store), "hpcenv")
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	w.write(t, bin, string(data), 0o755)
	return bin
}

// waitForServers waits until nothing shows an image of this world any more.
func (w *world) waitForServers(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		left := w.servers(t)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("servers are left: %v", left)
		}
	}
}

// servers are the processes that have an image of this world open.
func (w *world) servers(t *testing.T) map[string]bool {
	t.Helper()
	fds, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, filepath.Join(w.Store, "images")) {
			out[strings.Split(fd, "/")[2]] = true
		}
	}
	return out
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/hpcenv/hpcenv/contrib/bench/storm/attach"
	"github.com/hpcenv/hpcenv/contrib/bench/storm/trace"
)

// TestMain is also the benchmark's own processes.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case attach.Command, "rank", "node":
			main()
		}
	}
	os.Exit(m.Run())
}

// small is a world with a made-up prefix of so many files, and a trace that
// looks for, lists, reads and maps some of them.
func small(t *testing.T, files int) *world {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("MOUNTING IMPOSSIBLE: not root; run as root to test the storm benchmark")
	}
	for _, tool := range []string{"mksquashfs", "mkfs.ext4"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s IS MISSING: install it to test the storm benchmark", strings.ToUpper(tool))
		}
	}
	for _, dev := range []string{"/dev/fuse", "/dev/loop-control"} {
		f, err := os.OpenFile(dev, os.O_RDWR, 0)
		if err != nil {
			t.Skipf("MOUNTING IMPOSSIBLE: %v", err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// Outside t.TempDir, whose parents others may not enter; the user nobody opens images.
	work, err := os.MkdirTemp("/var/tmp", "storm-test-")
	if err != nil {
		t.Fatal(err)
	}
	prefix, project := filepath.Join(work, "prefix"), filepath.Join(work, "project")
	for _, d := range []string{filepath.Join(prefix, "lib"), project} {
		if err := errors.Join(os.MkdirAll(d, 0o755), os.Chmod(work, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	var ops []trace.Op
	for i := range files {
		name := "lib/f" + strconv.Itoa(i)
		if err := os.WriteFile(filepath.Join(prefix, name), bytes.Repeat([]byte(name+"\n"), 1000), 0o644); err != nil {
			t.Fatal(err)
		}
		if i >= 20 {
			continue
		}
		ops = append(ops, trace.Op{Kind: trace.Stat, Path: name + ".so", Err: syscall.ENOENT},
			trace.Op{Kind: trace.Open, Path: name}, trace.Op{Kind: trace.Fstat}, trace.Op{Kind: trace.ReadFile, Size: 4096},
			trace.Op{Kind: trace.Touch, Pages: []trace.Run{{First: 1, Count: 1}}}, trace.Op{Kind: trace.Close})
	}
	ops = append(ops, trace.Op{Kind: trace.Open, Path: "lib", Flags: syscall.O_DIRECTORY}, trace.Op{Kind: trace.List, Size: 1 << 16}, trace.Op{Kind: trace.Close})
	for _, name := range []string{"pixi.toml", "pixi.lock"} {
		if err := os.WriteFile(filepath.Join(project, name), []byte("version: 6\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w := &world{dir: filepath.Join(work, "storm"), attach: attach.Options{User: nobody, Group: nobody}, trace: &trace.Trace{Ops: ops}}
	inProject := &trace.Trace{Ops: append([]trace.Op{}, ops...)}
	for i := range inProject.Ops {
		if op := &inProject.Ops[i]; op.Path != "" {
			op.Path = ".pixi/envs/default/" + op.Path
		}
	}
	if err := w.fill(context.Background(), &options{prefix: prefix, project: project}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(writeTrace(w.trace, w.treeTrace()), writeTrace(inProject, w.pixiTrace()), w.index()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(w.close(), os.RemoveAll(work)); err != nil {
			t.Error(err)
		}
	})
	return w
}

// TestEachContenderOnTwoNodes: what each asks of the storage is what it is about.
func TestEachContenderOnTwoNodes(t *testing.T) {
	w := small(t, 300)
	image1, err := os.Stat(w.stored(storedImage))
	if err != nil {
		t.Fatal(err)
	}
	tarball, err := os.Stat(w.stored(storedPack))
	if err != nil {
		t.Fatal(err)
	}
	const ranks = ranksPerNode
	for _, c := range []struct {
		contender   contender
		most, least int64 // operations on metadata
		bytes       int64 // at most
	}{
		{contender: floor},
		// Each rank opens 20 files and the folder; names are asked for once per node, by
		// more than one rank if they ask at the same time.
		{contender: tree, least: 21*ranks + 40, most: 21*ranks + 60*ranks + 20, bytes: 20 * 8000},
		{contender: pixi, least: 21*ranks + 40, most: 21*ranks + 60*ranks + 40, bytes: 20 * 8000},
		{contender: image, least: 2, most: 30, bytes: image1.Size()},
		{contender: imageDirect, least: 2, most: 30, bytes: 10 * image1.Size()},
		{contender: localFirst, least: 2, most: 10, bytes: image1.Size()},
		{contender: localSecond, least: 2, most: 5, bytes: 4096},
		{contender: packRead, least: 2, most: 10, bytes: tarball.Size()},
		{contender: pack, least: 2, most: 10, bytes: tarball.Size()},
	} {
		results, err := w.run(context.Background(), launch{contender: c.contender, nodes: 2, slowness: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(results) != 2 {
			t.Fatalf("%s: %d results", c.contender, len(results))
		}
		for _, r := range results {
			if ops := r.Asked.Metadata(); ops < c.least || ops > c.most || r.Asked.Bytes > c.bytes {
				t.Errorf("%s: %v, want %d to %d operations and at most %d bytes", c.contender, r.Asked, c.least, c.most, c.bytes)
			}
			if r.Wall <= 0 || r.Attached > r.Wall {
				t.Errorf("%s: attached after %v, done after %v", c.contender, r.Attached, r.Wall)
			}
		}
	}
}

// TestImageCostsTheSameWhateverItsSize: a prefix of 20 times as many files costs
// no more operations.
func TestImageCostsTheSameWhateverItsSize(t *testing.T) {
	var ops [2]int64
	for i, files := range []int{50, 1000} {
		w := small(t, files)
		results, err := w.run(context.Background(), launch{contender: image, nodes: 1, slowness: 1})
		if err != nil {
			t.Fatal(err)
		}
		ops[i] = results[0].Asked.Metadata()
	}
	// The kernel may have asked for the file system's size once more.
	if ops[1] > ops[0]+2 {
		t.Errorf("%d operations with few files, %d with many", ops[0], ops[1])
	}
}

// TestTouchedIsTheLeast: a node reads no less of an image than it has to, and the
// whole image is more.
func TestTouchedIsTheLeast(t *testing.T) {
	w := small(t, 600)
	least, err := touchedBytes(w.stored(storedImage), w.trace)
	if err != nil {
		t.Fatal(err)
	}
	results, err := w.run(context.Background(), launch{contender: image, nodes: 1, slowness: 1})
	if err != nil {
		t.Fatal(err)
	}
	if got := results[0].Asked.Bytes; got < least {
		t.Errorf("a node read %d bytes, the least is said to be %d", got, least)
	}
	info, err := os.Stat(w.stored(storedImage))
	if err != nil {
		t.Fatal(err)
	}
	if least <= 0 || least >= info.Size() {
		t.Errorf("the least is %d bytes, the image has %d", least, info.Size())
	}
}

// TestChangedImageIsNotMounted: what is copied is not what was published.
func TestChangedImageIsNotMounted(t *testing.T) {
	w := small(t, 30)
	w.digest = strings.Repeat("0", 64)
	_, err := w.run(context.Background(), launch{contender: localFirst, nodes: 1, slowness: 1})
	if err == nil || !strings.Contains(err.Error(), "published was 000") {
		t.Errorf("%v", err)
	}
	left, err := filepath.Glob(filepath.Join(w.own(0), ".copy-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestNothingIsLeft: after a launch, one that failed too, no mount and no loop
// device is left.
func TestNothingIsLeft(t *testing.T) {
	w := small(t, 30)
	for _, fail := range []bool{false, true} {
		if fail {
			w.trace.Ops[0].Err = 0 // a file that is not there
			if err := writeTrace(w.trace, w.treeTrace()); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range []contender{image, tree, floor} {
			_, err := w.run(context.Background(), launch{contender: c, nodes: 2, slowness: 1})
			if (err != nil) != fail {
				t.Errorf("%s: %v", c, err)
			}
			if fail && !strings.Contains(err.Error(), "lib/f0.so") {
				t.Errorf("%s does not say what failed: %v", c, err)
			}
		}
		mounts, err := os.ReadFile("/proc/self/mounts")
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(mounts, []byte(w.dir)) {
			t.Errorf("mounts are left:\n%s", mounts)
		}
		backing, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range backing {
			// A device that ends at this moment has no such file any more.
			if text, err := os.ReadFile(b); err == nil && strings.HasPrefix(string(text), w.dir) {
				t.Errorf("%s has %s", b, text)
			}
		}
	}
}

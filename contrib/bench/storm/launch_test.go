package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/contrib/bench/storm/trace"
	hpcenvimage "github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/hooks/helper"
	"github.com/hpcenv/hpcenv/hooks/pin"
	"github.com/hpcenv/hpcenv/internal/ownmounts"
)

// TestMain is also the benchmark's own processes. The tests have mounts of their own, as
// the benchmark has.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "rank", "node", "step":
			main()
		case "spank":
			os.Exit(helper.Main(os.Args[1:], helper.Deps{}))
		}
	}
	os.Exit(ownmounts.Run(m.Run))
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
	// Outside t.TempDir, whose parents others may not enter; the job is the user nobody's.
	work, err := os.MkdirTemp("/var/tmp", "storm-test-")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{dir: filepath.Join(work, "storm"), node: hpcenv{Helper: "/proc/self/exe", PrefixRoot: filepath.Join(work, "storm/e"), ID: testID, User: nobody, Group: nobody}}
	prefix, project := w.stored(filepath.Join(storeDir, "trees", platform, testID)), filepath.Join(work, "project")
	for _, d := range []string{filepath.Join(prefix, "lib"), filepath.Join(prefix, "conda-meta"), project} {
		if err := errors.Join(os.MkdirAll(d, 0o755), os.Chmod(work, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(prefix, "conda-meta/history"), nil, 0o644); err != nil {
		t.Fatal(err)
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
	w.trace = &trace.Trace{Ops: ops}
	publish(t, w, prefix)
	inProject := &trace.Trace{Ops: append([]trace.Op{}, ops...)}
	for i := range inProject.Ops {
		if op := &inProject.Ops[i]; op.Path != "" {
			op.Path = ".pixi/envs/default/" + op.Path
		}
	}
	if err := w.fill(context.Background(), project); err != nil {
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

const testID = "0123456789abcdef0123456789abcdef"

// publish makes a store of a finished tree, and the pin of a job with it, as far as nodes
// look at either.
func publish(t *testing.T, w *world, tree string) {
	t.Helper()
	store := w.stored(storeDir)
	file := w.node.image(store)
	for _, dir := range []string{"meta/" + testID, "locks", "inventory", "images/" + platform, "pool", "archives"} {
		if err := os.MkdirAll(filepath.Join(store, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	rec, err := hpcenvimage.NewTool("").Build(t.Context(), hpcenvimage.Job{Tree: tree, Digest: strings.Repeat("0", 64), Bytes: 1 << 20, Out: file})
	if err != nil {
		t.Fatal(err)
	}
	meta, err := json.Marshal(&materialize.Meta{ID: testID, Platform: platform, Prefix: w.node.prefix(), Image: rec})
	if err != nil {
		t.Fatal(err)
	}
	p := &pin.Pin{Lock: strings.Repeat("a", 64), Choice: pin.Choice{Environment: "default", ID: testID, Platforms: []string{platform}}}
	if w.node.Pin, err = p.Encode(); err == nil {
		w.node.Env, err = jobEnv()
	}
	if err := errors.Join(err, os.Chmod(file, 0o444), os.WriteFile(filepath.Join(store, "meta", testID, platform+".json"), meta, 0o644),
		os.WriteFile(filepath.Join(store, "FORMAT"), nil, 0o644), w.recordFacts(t.Context())); err != nil {
		t.Fatal(err)
	}
}

// TestEachContenderOnTwoNodes: what each asks of the storage is what it is about.
func TestEachContenderOnTwoNodes(t *testing.T) {
	w := small(t, 300)
	image1, err := os.Stat(w.node.image(w.stored(storeDir)))
	if err != nil {
		t.Fatal(err)
	}
	tarball, err := os.Stat(w.stored(storedPack))
	if err != nil {
		t.Fatal(err)
	}
	const ranks, records = ranksPerNode, 16384 // what hpcenv reads beside the image's content
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
		{contender: image, least: 2, most: 30, bytes: image1.Size() + records},
		{contender: imageDirect, least: 2, most: 30, bytes: 10 * (image1.Size() + records)},
		{contender: localFirst, least: 2, most: 30, bytes: image1.Size() + records},
		{contender: localSecond, least: 2, most: 30, bytes: records},
		{contender: packRead, least: 2, most: 10, bytes: tarball.Size()},
		{contender: pack, least: 2, most: 10, bytes: tarball.Size()},
	} {
		results, err := w.run(context.Background(), launch{key: key{c.contender, 2, 1, false}})
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
		results, err := w.run(context.Background(), launch{key: usual(image, 1)})
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
	least, err := touchedBytes(w.node.image(w.stored(storeDir)), w.trace)
	if err != nil {
		t.Fatal(err)
	}
	results, err := w.run(context.Background(), launch{key: usual(image, 1)})
	if err != nil {
		t.Fatal(err)
	}
	if got := results[0].Asked.Bytes; got < least {
		t.Errorf("a node read %d bytes, the least is said to be %d", got, least)
	}
	info, err := os.Stat(w.node.image(w.stored(storeDir)))
	if err != nil {
		t.Fatal(err)
	}
	if least <= 0 || least >= info.Size() {
		t.Errorf("the least is %d bytes, the image has %d", least, info.Size())
	}
}

// TestWhatIsMountedIsChecked: a node that was to use its copy, and has none, is no result.
func TestWhatIsMountedIsChecked(t *testing.T) {
	w := small(t, 30)
	if err := w.outfit(0); err != nil {
		t.Fatal(err)
	}
	// Copies are not made in a directory that others may write to.
	if err := errors.Join(os.Mkdir(filepath.Join(w.own(0), "copies"), 0o777), os.Chmod(filepath.Join(w.own(0), "copies"), 0o777)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.run(context.Background(), launch{key: usual(localSecond, 1)}); err == nil || !strings.Contains(err.Error(), "has 0 copies") {
		t.Errorf("%v", err)
	}
}

// TestAttachingAlone: each repetition attaches, and nothing is left of any.
func TestAttachingAlone(t *testing.T) {
	w := small(t, 30)
	times, err := w.timeAttach(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, took := range [][]time.Duration{times.image, times.further, times.tree} {
		if len(took) != 3 || slices.Min(took) <= 0 {
			t.Errorf("%v", took)
		}
	}
	if err := freed(w.node.image(w.stored(storeDir))); err != nil {
		t.Error(err)
	}
	if err := w.makeCopies(t.Context(), 2); err != nil {
		t.Error(err)
	}
	for i := range 2 {
		if _, err := copyIn(filepath.Join(w.own(i), "copies")); err != nil {
			t.Error(err)
		}
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
			_, err := w.run(context.Background(), launch{key: key{c, 2, 1, false}})
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

package sitebuild_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/linkscript"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/envs/sitebuild"
)

// An environment gets its overlay once, whoever prepares it, at a path that was known
// before; the record names what a node needs, and the log is there.
func TestBuiltOnce(t *testing.T) {
	s := newSite(t)
	if notes, err := s.builder.Missing(s.store, s.meta); err != nil || len(notes) != 1 || !strings.Contains(notes[0], "site build mpi for linux-64 is not made") || s.nodes.probes > 0 {
		t.Errorf("missing: %v %v", notes, err)
	}
	notes, e := s.ensure()
	if len(notes) != 0 || e.State != sitebuild.Built || e.Identity != "gcc 12" || e.Package != "legate-mpi-wrapper" || e.MPI != "openmpi" || len(e.Sources) != 1 || e.Script == "" {
		t.Fatalf("%v %+v", notes, e)
	}
	task := s.nodes.builds[0]
	at := root + "/" + e.Overlay
	if task.Prefix != at || !slices.Equal(task.Site.Argv, []string{"/source/hpcenv-site-build", "-c", root + "/" + id + "/x", at}) || task.Site.Sbatch[0] != "--constraint=it" ||
		task.Site.Identity != "gcc 12" || s.nodes.sources != "gasnet.tar.gz hpcenv-site-build " || task.Site.EnvPrefix != s.meta.Prefix {
		t.Errorf("the task: %+v %+v, sources %q", task, task.Site, s.nodes.sources)
	}
	tree := s.store.TreePath(platform, e.Overlay)
	st, err := os.Stat(filepath.Join(tree, "lib", "l.so"))
	if err != nil || st.Mode() != 0o555 || st.ModTime().Unix() != 315619200 {
		t.Errorf("the overlay's file: %v %v", st, err)
	}
	if log, err := os.ReadFile(filepath.Join(s.store.Root(), e.Log)); err != nil || !strings.Contains(string(log), "compiled") || !strings.Contains(string(log), "gcc 12") {
		t.Errorf("log %q %v", log, err)
	}
	if !sitebuild.IsOverlay(s.store, e.Overlay, platform) || sitebuild.IsOverlay(s.store, id, platform) {
		t.Error("the overlay is not told from an environment")
	}
	if _, err := materialize.Published(s.store, e.Overlay, platform); err == nil {
		t.Error("the overlay is taken for an environment")
	}
	if damage, err := sitebuild.Verify(t.Context(), s.store, id, platform); err != nil || len(damage) != 0 {
		t.Errorf("verify: %v %v", damage, err)
	}
	if notes, err := s.builder.Missing(s.store, s.meta); err != nil || len(notes) != 0 {
		t.Errorf("missing: %v %v", notes, err)
	}
	said := len(s.said)
	if notes, again := s.ensure(); len(notes) != 0 || again.Overlay != e.Overlay || s.nodes.probes != 1 || len(s.nodes.builds) != 1 || len(s.said) != said {
		t.Errorf("again: %v %+v, %d probes, %d builds, said %q", notes, again, s.nodes.probes, len(s.nodes.builds), s.said)
	}
	if left, err := os.ReadDir(filepath.Join(s.store.Root(), "tmp")); err != nil || len(left) != 1 {
		t.Errorf("left in tmp: %v %v", left, err) // the locks
	}
}

// Before an environment can be seen, its record says that something is missing.
func TestAnnounced(t *testing.T) {
	s := newSite(t)
	if err := s.builder.Announce(context.Background(), s.store, s.meta); err != nil {
		t.Fatal(err)
	}
	rec, err := sitebuild.Read(s.store.Root(), id, platform)
	if err != nil || !rec.Pending() || s.nodes.probes > 0 {
		t.Errorf("%+v %v", rec, err)
	}
	if notes, e := s.ensure(); len(notes) != 0 || e.State != sitebuild.Built {
		t.Errorf("%v %+v", notes, e)
	}
	if err := s.builder.Announce(context.Background(), s.store, s.meta); err != nil {
		t.Fatal(err)
	}
	if rec, err := sitebuild.Read(s.store.Root(), id, platform); err != nil || rec.Pending() {
		t.Errorf("what is built is announced again: %+v %v", rec, err)
	}
	s.meta.ID, s.declared.Package = strings.Repeat("7", 32), "realm-gex-wrapper"
	s.check()
	if err := s.builder.Announce(context.Background(), s.store, s.meta); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(sitebuild.RecordPath(s.store.Root(), s.meta.ID, platform)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an environment without builds has a record: %v", err)
	}
}

// Many who prepare at once share one build.
func TestShared(t *testing.T) {
	s := newSite(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if notes, err := s.builder.Ensure(context.Background(), s.store, s.meta, s.say); err != nil || len(notes) > 0 {
				t.Errorf("%v %v", notes, err)
			}
		})
	}
	all.Wait()
	if s.nodes.probes != 1 || len(s.nodes.builds) != 1 {
		t.Errorf("%d probes and %d builds", s.nodes.probes, len(s.nodes.builds))
	}
}

// What the id depends on, and what not.
func TestOverlayID(t *testing.T) {
	s := newSite(t)
	of := func(identity string) string {
		t.Helper()
		s.check()
		b, err := sitebuild.Applying(s.builder.Declared, s.store, s.meta)
		if err != nil || len(b) != 1 {
			t.Fatalf("%v %v", b, err)
		}
		return b[0].OverlayID(identity)
	}
	first := of("gcc 12")
	seen := map[string]string{first: "first"}
	for _, c := range []struct {
		name string
		set  func()
		same bool
	}{
		{"nothing", func() {}, true},
		{"variables", func() { s.declared.Variables[0].Value = "${overlay}/other" }, true},
		{"how nodes are found", func() { s.declared.Nodes[0].Sbatch = nil }, true},
		{"networks", func() { s.declared.Networks = []string{"infiniband"} }, true},
		{"bounds", func() { s.declared.Files = 7 }, true},
		{"where a source comes from", func() { s.declared.Sources[0].URL = "https://mirror.example/gasnet.tar.gz" }, true},
		{"conduit", func() { s.declared.Conduit = "ibv" }, false},
		{"system", func() { s.declared.System = "slingshot11" }, false},
		{"MPI", func() { s.declared.MPI = "mpich" }, false},
		{"compiler", func() { s.declared.Compiler = "cc" }, false},
		{"micro-architecture", func() { s.declared.Microarchitecture = "zen3" }, false},
		{"script", func() { s.write("echo other\n") }, false},
		{"arguments", func() { s.declared.Arguments = []string{"-d"} }, false},
		{"source", func() { s.declared.Sources[0].SHA256 = strings.Repeat("b", 64) }, false},
		{"wrapper's version", func() { s.meta.Packages[1].Version = "25.4" }, false},
		{"wrapper's bytes", func() { s.meta.Packages[1].SHA256 = strings.Repeat("c", 64) }, false},
		{"environment", func() { s.meta.ID = strings.Repeat("5", 32) }, false},
	} {
		c.set()
		now := of("gcc 12")
		if was, known := seen[now]; known != c.same {
			t.Errorf("%s: %s (%s)", c.name, now, was)
		}
		seen[now] = c.name
	}
	if of("gcc 12") == of("gcc 13") {
		t.Error("what the node compiles with does not count")
	}
}

// Which environments a declaration applies to.
func TestApplying(t *testing.T) {
	s := newSite(t)
	for spec, want := range map[string]int{"legate-mpi-wrapper": 1, "legate-mpi-wrapper >=25,<26": 1, "legate-mpi-wrapper <25": 0, "realm-gex-wrapper": 0, "python 3.12.*": 1} {
		s.declared.Package = spec
		s.check()
		if b, err := sitebuild.Applying(s.builder.Declared, s.store, s.meta); err != nil || len(b) != want {
			t.Errorf("%s: %v %v", spec, b, err)
		}
	}
	s.meta.Platform = "linux-aarch64"
	if b, err := sitebuild.Applying(s.builder.Declared, s.store, s.meta); err != nil || len(b) != 0 {
		t.Errorf("another platform: %v %v", b, err)
	}
}

// A failed build names its log and stays failed, until it is declared otherwise or tried
// again; the environment's record never says more than is there.
func TestFailed(t *testing.T) {
	s := newSite(t)
	s.nodes.failed = "it ended with exit status 2"
	notes, e := s.ensure()
	log := filepath.Join(s.store.Root(), e.Log)
	if len(notes) != 1 || !strings.Contains(notes[0], "site build mpi for linux-64 FAILED: it ended with exit status 2; log: "+log) || e.State != sitebuild.Failed || e.Overlay != "" {
		t.Fatalf("%v %+v", notes, e)
	}
	if text, err := os.ReadFile(log); err != nil || !strings.Contains(string(text), "compiler says no") || !strings.Contains(string(text), "exit status 2") {
		t.Errorf("log %q %v", text, err)
	}
	s.nodes.failed = ""
	if again, e := s.ensure(); len(again) != 1 || e.State != sitebuild.Failed || len(s.nodes.builds) != 1 {
		t.Errorf("it was tried again by itself: %v %+v", again, e)
	}
	if n, err := s.builder.Retry(context.Background(), s.store, id, platform, "other"); n != 0 || err != nil {
		t.Errorf("another: %d %v", n, err)
	}
	if n, err := s.builder.Retry(context.Background(), s.store, id, platform, ""); n != 1 || err != nil {
		t.Errorf("retry: %d %v", n, err)
	}
	rec, err := sitebuild.Read(s.store.Root(), id, platform)
	if err != nil || !rec.Pending() {
		t.Errorf("%+v %v", rec, err)
	}
	if notes, e := s.ensure(); len(notes) != 0 || e.State != sitebuild.Built {
		t.Errorf("after retry: %v %+v", notes, e)
	}
	// Declared otherwise it is another build; the one before is not offered any more.
	s.nodes.failed = "no"
	s.write("echo other\n")
	if notes, e := s.ensure(); len(notes) != 1 || e.State != sitebuild.Failed || e.Overlay != "" {
		t.Errorf("another script: %v %+v", notes, e)
	}
	s.builder.Declared = nil
	if notes, e := s.ensure(); len(notes) != 0 || e.Name != "" {
		t.Errorf("no declaration: %v %+v", notes, e)
	}
}

// A job that did not come to run is tried by the next preparation.
func TestNotRun(t *testing.T) {
	s := newSite(t)
	s.nodes.err = fmt.Errorf("%w: no node", linkscript.ErrCannotRun)
	if notes, e := s.ensure(); len(notes) != 1 || !strings.Contains(notes[0], "was not run: ") || e.State != sitebuild.NotRun {
		t.Errorf("%v %+v", notes, e)
	}
	s.nodes.err = nil
	if notes, e := s.ensure(); len(notes) != 0 || e.State != sitebuild.Built {
		t.Errorf("%v %+v", notes, e)
	}
}

// Work that was interrupted is pending, and is finished by the next preparation; what was
// published already is not built again.
func TestInterrupted(t *testing.T) {
	s := newSite(t)
	_, e := s.ensure()
	e.State, e.Overlay = sitebuild.Pending, ""
	if err := (&sitebuild.Record{Builds: []sitebuild.Entry{e}}).Save(s.store, id, platform); err != nil {
		t.Fatal(err)
	}
	if notes, e := s.ensure(); len(notes) != 0 || e.State != sitebuild.Built || len(s.nodes.builds) != 1 || s.nodes.probes != 2 {
		t.Errorf("%v %+v, %d builds", notes, e, len(s.nodes.builds))
	}
	// An overlay that is gone is built again; one that changed is told.
	_, e = s.ensure()
	tree := s.store.TreePath(platform, e.Overlay)
	if err := os.Remove(filepath.Join(tree, "lib", "l.so")); err != nil {
		t.Fatal(err)
	}
	if damage, err := sitebuild.Verify(t.Context(), s.store, id, platform); err != nil || len(damage) != 1 || !strings.Contains(damage[0], "tree digest") || !strings.Contains(damage[0], tree) {
		t.Errorf("verify: %v %v", damage, err)
	}
	if err := os.RemoveAll(tree); err != nil {
		t.Fatal(err)
	}
	if _, e := s.ensure(); e.State != sitebuild.Built || len(s.nodes.builds) != 2 {
		t.Errorf("%+v, %d builds", e, len(s.nodes.builds))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.meta.ID = strings.Repeat("6", 32)
	if _, err := s.builder.Ensure(ctx, s.store, s.meta, s.say); err == nil {
		t.Error("it does not end with its context")
	}
}

// Overlays are delivered as environments are; what is there in one form is not built
// again for another one.
func TestOverlayImage(t *testing.T) {
	tool := image.NewTool("")
	if err := tool.Available(t.Context()); err != nil {
		t.Skipf("NO MKSQUASHFS ON THIS HOST: this test was not run: %v", err)
	}
	for _, d := range []image.Delivery{image.Image, image.Both} {
		s := newSite(t)
		s.builder.Delivery = d
		_, e := s.ensure()
		o, err := sitebuild.ReadOverlay(s.store.Root(), e.Overlay, platform)
		if err != nil || e.State != sitebuild.Built || o.Image == nil || o.Image.TreeDigest != o.TreeDigest {
			t.Fatalf("%s: %+v %+v %v", d, e, o, err)
		}
		tree, path := s.store.TreePath(platform, e.Overlay), s.store.ImagePath(platform, e.Overlay)
		if _, err := os.Stat(tree); (err == nil) != d.WantsTree() {
			t.Errorf("%s: tree: %v", d, err)
		}
		if st, err := os.Stat(path); err != nil || st.Mode() != 0o444 || st.Size() != o.Image.Size {
			t.Fatalf("%s: image: %v %v", d, st, err)
		}
		damage, err := sitebuild.Verify(t.Context(), s.store, id, platform)
		if err != nil || len(damage) != 0 {
			t.Errorf("%s: verify: %v %v", d, damage, err)
		}
		if left, err := os.ReadDir(filepath.Join(s.store.Root(), "tmp")); err != nil || len(left) != 1 {
			t.Errorf("%s: left in tmp: %v %v", d, left, err) // the locks
		}
		s.builder.Delivery = image.Tree
		if _, again := s.ensure(); again.Overlay != e.Overlay || len(s.nodes.builds) != 1 {
			t.Errorf("%s: built again: %+v", d, again)
		}
		// One byte of the data, behind the superblock.
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		data[100] ^= 1
		if err := errors.Join(os.Chmod(path, 0o644), os.WriteFile(path, data, 0o644)); err != nil {
			t.Fatal(err)
		}
		damage, err = sitebuild.Verify(t.Context(), s.store, id, platform)
		if err != nil || len(damage) != 1 || !strings.Contains(damage[0], path) || !strings.Contains(damage[0], "sha256") {
			t.Errorf("%s: verify: %v %v", d, damage, err)
		}
		if err := errors.Join(os.RemoveAll(tree), os.Remove(path)); err != nil {
			t.Fatal(err)
		}
		if _, e := s.ensure(); e.State != sitebuild.Built || len(s.nodes.builds) != 2 {
			t.Errorf("%s: gone, and not built again: %+v", d, e)
		}
	}
}

// Answers that are no tree by themselves fail the build.
func TestRefused(t *testing.T) {
	for name, changes := range map[string][]linkscript.Change{
		"nothing":       {},
		"no directory":  {{Path: "lib/w.so", Kind: linkscript.File, Size: 7}},
		"gone":          {{Path: "lib", Kind: linkscript.Gone}},
		"below a link":  {{Path: "lib", Kind: linkscript.Link, Target: "."}, {Path: "lib/w.so", Kind: linkscript.File, Size: 7}},
		"below a file":  {{Path: "lib", Kind: linkscript.File, Size: 7}, {Path: "lib/w.so", Kind: linkscript.File, Size: 7}},
		"empty in part": {{Path: "lib", Kind: linkscript.Dir}, {Path: "lib/x/y", Kind: linkscript.Dir}},
	} {
		s := newSite(t)
		s.nodes.changes = changes
		if notes, e := s.ensure(); len(notes) != 1 || e.State != sitebuild.Failed {
			t.Errorf("%s: %v %+v", name, notes, e)
		}
		if trees, err := os.ReadDir(filepath.Join(s.store.Root(), "trees", platform)); err != nil || len(trees) != 0 {
			t.Errorf("%s: published %v %v", name, trees, err)
		}
	}
}

// A script that others may write to is not run.
func TestScriptOfOthers(t *testing.T) {
	s := newSite(t)
	if err := os.Chmod(s.script, 0o666); err != nil {
		t.Fatal(err)
	}
	if notes, e := s.ensure(); len(notes) != 1 || !strings.Contains(notes[0], "nobody else may write to") || e.Name != "" || s.nodes.probes > 0 {
		t.Errorf("%v %+v", notes, e)
	}
}

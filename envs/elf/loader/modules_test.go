package loader_test

import (
	"bytes"
	stdelf "debug/elf"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/envs/elf"
	"github.com/hpcenv/hpcenv/envs/elf/loader"
)

// link compiles a library of one function that needs others, in w.stage.
func (w *world) link(file string, args ...string) []byte {
	w.t.Helper()
	c := filepath.Join(w.stage, word(w.r)+".c")
	w.check(os.WriteFile(c, fmt.Appendf(nil, "int f_%s(void) { return 1; }\n", word(w.r)), 0o644))
	w.run(w.stage, append([]string{"gcc", "-shared", "-fPIC", "-nostdlib", "-o", file, c, "-L.", "-Wl,--no-as-needed", "-Wl,-soname," + file}, args...)...)
	b, err := os.ReadFile(filepath.Join(w.stage, file))
	w.check(err)
	return b
}

// weakened is a file whose first needed version is marked as weak (VER_FLG_WEAK),
// which linkers rarely do.
func (w *world) weakened(file string) []byte {
	w.t.Helper()
	b, err := os.ReadFile(file)
	w.check(err)
	f, err := stdelf.NewFile(bytes.NewReader(b))
	w.check(err)
	const flags = 16 + 4 // behind the library's record
	s := f.Section(".gnu.version_r")
	if s == nil {
		w.t.Fatalf("%s needs no version", file)
	}
	b[s.Offset+flags] |= byte(stdelf.VER_FLG_WEAK)
	return b
}

// TestModulesOfAPrefix: modules with random names, in a prefix that lies elsewhere
// than nodes have it, are judged as a program of the prefix opens them: one has all,
// one lacks a library of the node that a library of the prefix needs, one
// lacks a version, one can do without it, and one needs a library by two names.
func TestModulesOfAPrefix(t *testing.T) {
	needed(t)
	w := &world{t: t, r: rand.New(rand.NewPCG(11, 5)), root: t.TempDir(), stage: t.TempDir()}
	at := "/opt/hpcenv/e/" + word(w.r)
	elsewhere := t.TempDir()
	for _, dir := range []string{"/etc", "/lib64", "/proc"} {
		w.check(os.MkdirAll(filepath.Join(w.root, dir), 0o755))
	}
	for _, f := range []string{interpreter, libc} {
		b, err := os.ReadFile(f)
		w.check(err)
		w.put(f, b)
	}
	both := func(name string, b []byte) { // for the real loader, and where it is judged
		w.put(path.Join(at, name), b)
		file := filepath.Join(elsewhere, name)
		w.check(os.MkdirAll(filepath.Dir(file), 0o755))
		w.check(os.WriteFile(file, b, 0o755))
	}
	ours, verbs, node, versioned := "lib"+word(w.r)+".so.0", "lib"+word(w.r)+".so.1", "lib"+word(w.r)+".so.2", "lib"+word(w.r)+".so.3"
	gone := "lib" + word(w.r) + ".so.4"
	v := filepath.Join(w.stage, "v.map")
	w.check(os.WriteFile(v, []byte("NEW_2 { global: fresh; };\n"), 0o644))
	c := filepath.Join(w.stage, "v.c")
	w.check(os.WriteFile(c, []byte("int fresh(void) { return 2; }\n"), 0o644))
	w.run(w.stage, "gcc", "-shared", "-fPIC", "-nostdlib", "-o", versioned, c, "-Wl,-soname,"+versioned, "-Wl,--version-script="+v)
	user := filepath.Join(w.stage, "user.c")
	w.check(os.WriteFile(user, []byte("int fresh(void); int user(void) { return fresh(); }\n"), 0o644))

	w.link(gone)
	both("lib/"+ours, w.link(ours))
	w.put("/usr/lib/"+node, w.link(node))
	both("lib/"+verbs, w.link(verbs, "-l:"+gone))
	good, bad, old := "libuct_"+word(w.r)+".so", "libuct_"+word(w.r)+".so", "libuct_"+word(w.r)+".so"
	weak, twice := "libuct_"+word(w.r)+".so", "libuct_"+word(w.r)+".so"
	up := "-Wl,--enable-new-dtags,-rpath,$ORIGIN/.."
	both("lib/ucx/"+good, w.link(good, up, "-l:"+ours, "-l:"+node))
	both("lib/ucx/"+bad, w.link(bad, up, "-l:"+node, "-l:"+verbs))
	// The node's library has two names that are links of one file.
	second := "lib" + word(w.r) + ".so.5"
	w.link(second)
	w.check(os.Link(filepath.Join(w.root, "usr/lib", node), filepath.Join(w.root, "usr/lib", second)))
	both("lib/ucx/"+twice, w.link(twice, "-l:"+node, "-l:"+second))
	w.run(w.stage, "gcc", "-shared", "-fPIC", "-nostdlib", "-o", old, user, "-L.", "-l:"+versioned, "-Wl,-z,lazy")
	b, err := os.ReadFile(filepath.Join(w.stage, old))
	w.check(err)
	both("lib/ucx/"+old, b)
	// It refers to the same version, and can do without.
	w.check(os.WriteFile(user, []byte("__attribute__((weak)) int fresh(void); int user(void) { return fresh ? fresh() : 0; }\n"), 0o644))
	w.run(w.stage, "gcc", "-shared", "-fPIC", "-nostdlib", "-o", weak, user, "-L.", "-Wl,--no-as-needed", "-l:"+versioned, "-Wl,-z,lazy")
	both("lib/ucx/"+weak, w.weakened(filepath.Join(w.stage, weak)))
	w.check(os.WriteFile(v, []byte("OLD_1 { global: *; };\n"), 0o644))
	w.run(w.stage, "gcc", "-shared", "-fPIC", "-nostdlib", "-o", versioned, c, "-Wl,-soname,"+versioned, "-Wl,--version-script="+v)
	b, err = os.ReadFile(filepath.Join(w.stage, versioned))
	w.check(err)
	w.put("/usr/lib/"+versioned, b)
	src := filepath.Join(w.stage, "probe.c")
	w.check(os.WriteFile(src, []byte(probeSource), 0o644))
	w.run(w.stage, "gcc", "-o", "probe", src, "-Wl,--disable-new-dtags,-rpath,$ORIGIN/../lib")
	b, err = os.ReadFile(filepath.Join(w.stage, "probe"))
	w.check(err)
	both("bin/probe", b)
	judged := t.TempDir() // the node without the prefix
	w.run(judged, "cp", "-a", w.root+"/.", judged)
	w.check(os.RemoveAll(filepath.Join(judged, at)))

	s, err := loader.Open(loader.Root{Dir: judged, Binds: map[string]string{at: elsewhere}}, loader.Options{Machine: "x86_64", PageSize: 4096, HWCaps: levels(t)})
	w.check(err)
	if s.Problem == "" {
		t.Error("nothing is said of the missing ld.so.cache")
	}
	p := loader.Process{Program: at + "/bin/probe", Dir: "/"}
	space, verdict, err := s.Start(p)
	if err != nil || space == nil {
		t.Fatalf("%v, %v", verdict, err)
	}
	modules, err := elf.Modules(elsewhere)
	w.check(err)
	if len(modules) != 5 {
		t.Errorf("modules: %v", modules)
	}
	got := map[string]loader.Verdict{}
	for _, m := range modules {
		file := path.Join(at, m.Path)
		v, err := space.Judge(file)
		w.check(err)
		got[path.Base(m.Path)] = v
		line := w.dlopen(p, file)[0]
		if inWords(v) != said(t, line) {
			t.Errorf("%s: %s; dlopen: %s", file, v, line)
		}
	}
	lib := at + "/lib/ucx/../"
	want := map[string]loader.Verdict{
		good:  {Loads: true, Loaded: []loader.Loaded{{Name: ours, Path: lib + ours}, {Name: node, Path: "/usr/lib/" + node}}},
		weak:  {Loads: true, Loaded: []loader.Loaded{{Name: versioned, Path: "/usr/lib/" + versioned}}},
		twice: {Loads: true, Loaded: []loader.Loaded{{Name: node, Path: "/usr/lib/" + node}}},
		bad:   {Problem: loader.NoLibrary, Missing: gone, Chain: []string{at + "/lib/ucx/" + bad, lib + verbs}},
		old:   {Problem: loader.NoVersion, Missing: "NEW_2", In: "/usr/lib/" + versioned, Chain: []string{at + "/lib/ucx/" + old}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}

	// All of it is recorded: the prefix, wherever it is, is not read.
	unread, err := loader.Open(loader.Root{Dir: judged, Binds: map[string]string{at: "/nowhere/" + word(w.r)}, Recorded: recorded(t, w.root, at)}, s.Options)
	w.check(err)
	space, _, err = unread.Start(p)
	w.check(err)
	for _, m := range modules {
		v, err := space.Judge(path.Join(at, m.Path))
		w.check(err)
		if d := cmp.Diff(want[path.Base(m.Path)], v); d != "" {
			t.Errorf("%s, recorded: %s", m.Path, d)
		}
	}

	// A path that the user set puts another library before the environment's.
	w.put("/site/"+ours, w.link(ours))
	w.run(judged, "cp", "-a", w.root+"/site", judged)
	s, err = loader.Open(loader.Root{Dir: judged, Binds: map[string]string{at: elsewhere}}, s.Options)
	w.check(err)
	p.LibraryPath = "/site"
	shadowing, _, err := s.Start(p)
	w.check(err)
	with, err := shadowing.Judge(at + "/lib/ucx/" + good)
	w.check(err)
	if d := cmp.Diff([]loader.Shadow{{Name: ours, Path: "/site/" + ours, Instead: lib + ours}}, loader.Shadows(with, got[good])); d != "" {
		t.Error(d)
	}

	// On a node with larger pages nothing of this loads.
	o := s.Options
	o.PageSize = 1 << 30
	s, err = loader.Open(loader.Root{Dir: judged, Binds: map[string]string{at: elsewhere}}, o)
	w.check(err)
	if space, v, err := s.Start(p); err != nil || space != nil || v.Problem != loader.Unloadable {
		t.Errorf("with large pages: %v, %v", v, err)
	}
}

// TestNoLoader: nodes of which nothing can be said.
func TestNoLoader(t *testing.T) {
	for _, machine := range []string{"x86_64", "aarch64", "s390x", ""} {
		if _, err := loader.Open(loader.Root{Dir: t.TempDir()}, loader.Options{Machine: machine}); !errors.Is(err, loader.ErrNoLoader) {
			t.Errorf("%q: %v", machine, err)
		}
	}
}

package preflight_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/preflight"
)

func contains(text, word string) bool { return strings.Contains(text, word) }

// versioned makes a library in the stage that defines one version.
func (w *world) versioned(name, version string) {
	w.t.Helper()
	c, v := filepath.Join(w.stage, "v.c"), filepath.Join(w.stage, "v.map")
	w.check(os.WriteFile(c, []byte("int fresh(void) { return 2; }\n"), 0o644))
	w.check(os.WriteFile(v, []byte(version+" { global: *; };\n"), 0o644))
	w.run("gcc", "-shared", "-fPIC", "-nostdlib", "-o", name, c, "-Wl,-soname,"+name, "-Wl,--version-script="+v)
}

// compileUser makes a library that needs the version that another one defines.
func (w *world) compileUser(of string) []byte {
	w.t.Helper()
	c := filepath.Join(w.stage, "user.c")
	w.check(os.WriteFile(c, []byte("int fresh(void); int user(void) { return fresh(); }\n"), 0o644))
	w.run("gcc", "-shared", "-fPIC", "-nostdlib", "-o", "libuser.so", c, "-L.", "-l:"+of, "-Wl,-z,lazy")
	return w.staged("libuser.so")
}

func (w *world) staged(name string) []byte {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.stage, name))
	w.check(err)
	return b
}

// TestModules: one finding a program. A module that needs what nobody has is named, with
// the library of the environment on the way; one for hardware that the node does not have
// is not.
func TestModules(t *testing.T) {
	w := newWorld(t)
	culprit, ours := randomLibrary(), randomLibrary()
	good, bad, tool := "lib/ucx/libuct_"+word()+".so", "lib/ucx/libuct_"+word()+".so", "lib/ucc/libucc_"+word()+".so"
	w.lib("lib/"+ours, culprit)
	w.lib(good)
	w.lib(bad, ours)
	w.lib("lib/ucx/libuct_cuda.so", "libcuda.so.1", "libnvidia-ml.so.1")
	w.lib("lib/ucx/libuct_xpmem.so", "libxpmem.so.0")
	w.lib(tool)
	found := w.found("modules")
	if len(found) != 2 {
		t.Fatalf("%v", found)
	}
	for _, f := range found {
		switch {
		case strings.HasPrefix(f.Evidence, "UCC: all 1"):
			if f.Level != preflight.Fits {
				t.Errorf("%+v", f)
			}
		case f.Level != preflight.Warn || f.File != bad || f.Evidence != "UCX would run without 1 of its modules: "+bad+" (pack 1.0) → lib/"+ours+" needs "+culprit+", which neither the environment nor n7 provides":
			t.Errorf("%+v", f)
		}
	}
	if got, want := preflight.Run(t.Context(), w.in, true).Elsewhere, []string{"lib/ucx/libuct_cuda.so", "lib/ucx/libuct_xpmem.so"}; !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		t.Errorf("for other hardware: %v, want %v", got, want)
	}
	// With the driver there the library should be, too; and with the device.
	w.in.Facts.GPU = &facts.GPU{Vendor: "nvidia"}
	w.put("/dev/xpmem", nil)
	for _, f := range w.found("modules") {
		if strings.HasPrefix(f.Evidence, "UCX") && (!contains(f.Evidence, "without 3 of") || !contains(f.Evidence, "libuct_cuda.so (pack 1.0) needs libcuda.so.1") || !contains(f.Evidence, "libxpmem.so.0")) {
			t.Errorf("%+v", f)
		}
	}
}

// TestModuleOfAnOpener: modules of wheels have no path to the libraries of what opens
// them, which are loaded by then.
func TestModuleOfAnOpener(t *testing.T) {
	w := newWorld(t)
	dir := "lib/python3.12/site-packages/libucx/lib/"
	bare := func(at string, needed ...string) {
		name := filepath.Base(at)
		args := append([]string{"gcc", "-shared", "-fPIC", "-nostdlib", "-o", name, w.source(), "-Wl,-soname," + name, "-Wl,--no-as-needed", "-L."}, w.linked(needed)...)
		w.run(args...)
		w.put(at, w.staged(name))
	}
	low, high := randomLibrary(), randomLibrary()
	bare(dir + low)
	bare(dir+high, low)
	bare(dir+"ucx/libuct_"+word()+".so", high, low)
	w.want("modules", preflight.Fits, "all 1 modules load")

	w = newWorld(t)
	culprit := randomLibrary()
	bare(dir+low, culprit)
	bare(dir+"ucx/libuct_"+word()+".so", low)
	w.want("modules", preflight.Warn, culprit)
}

// TestModuleLacksAVersion: the library is the node's, and older.
func TestModuleLacksAVersion(t *testing.T) {
	w, old := newWorld(t), randomLibrary()
	w.versioned(old, "NEW_2")
	module := "lib/ucx/libuct_" + word() + ".so"
	w.put(module, w.compileUser(old))
	w.versioned(old, "OLD_1")
	w.put("/usr/lib/"+old, w.staged(old))
	w.want("modules", preflight.Warn, module+" (pack 1.0) needs NEW_2, which /usr/lib/"+old+" does not have")
}

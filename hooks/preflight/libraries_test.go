package preflight_test

import (
	"testing"

	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/preflight"
)

// TestProgram: a Python whose library is on no node, on this one, in the environment, and
// behind an LD_LIBRARY_PATH that breaks it.
func TestProgram(t *testing.T) {
	w, culprit := newWorld(t), randomLibrary()
	w.python(culprit)
	w.want("program", preflight.Unfit, "bin/python3.12 needs "+culprit+", which neither the environment nor n7 provides", "pixi add")
	w.none("modules") // nothing more can be said

	w = newWorld(t)
	w.python(culprit)
	w.lib("/usr/lib/" + culprit)
	w.want("program", preflight.Fits)
	w.want("libraries", preflight.Fits)

	w = newWorld(t)
	w.python(culprit)
	w.lib("lib/" + culprit)
	w.lib("/site/lib/"+culprit, randomLibrary())
	w.env["LD_LIBRARY_PATH"] = "/site/lib"
	w.survey()
	w.want("program", preflight.Fits) // its RPATH comes first
	w = newWorld(t)
	w.python(culprit)
	w.lib("/usr/lib/" + culprit)
	w.lib("/site/lib/"+culprit, "libgone.so.3")
	w.env["LD_LIBRARY_PATH"] = "/site/lib"
	w.want("program", preflight.Unfit, "/site/lib/"+culprit+" needs libgone.so.3", "without LD_LIBRARY_PATH=/site/lib it would start", "unset LD_LIBRARY_PATH")
}

// TestLibraries: what files need of the node, but for modules, the program, and hardware
// that the node does not have either.
func TestLibraries(t *testing.T) {
	w, culprit, there, only := newWorld(t), randomLibrary(), randomLibrary(), randomLibrary()
	w.lib("lib/libtool.so", culprit, there, "libcuda.so.1")
	w.lib("lib/ucx/libuct_"+word()+".so", only)
	w.lib("/usr/local/lib/" + there)
	w.want("libraries", preflight.Warn, "lib/libtool.so (pack 1.0) needs "+culprit+", which neither", "pixi add")
	if f := w.found("libraries")[0]; len(f.Packages) != 1 || f.File != "lib/libtool.so" || contains(f.Evidence, there) || contains(f.Evidence, only) || contains(f.Evidence, "libcuda") {
		t.Errorf("%+v", f)
	}
	w.in.Facts.GPU = &facts.GPU{Vendor: "nvidia"}
	w.want("libraries", preflight.Warn, culprit, "libcuda.so.1")
}

// TestLibraryOfTheNodeIsTooOld: it is there without a version that is needed.
func TestLibraryOfTheNodeIsTooOld(t *testing.T) {
	w, old := newWorld(t), randomLibrary()
	w.versioned(old, "NEW_2")
	user := w.compileUser(old)
	w.put("lib/libuser.so", user)
	w.versioned(old, "OLD_1")
	w.put("/usr/lib/"+old, w.staged(old))
	w.want("libraries", preflight.Warn, "lib/libuser.so (pack 1.0) needs NEW_2, which /usr/lib/"+old+" does not have")
}

// TestShadowed: a path of the user's puts another library before the environment's; one
// that leads into the environment, or that no file would load, is no matter.
func TestShadowed(t *testing.T) {
	w, ours, module := newWorld(t), randomLibrary(), "libuct_"+word()+".so"
	w.lib("lib/" + ours)
	w.lib("lib/ucx/"+module, ours)
	w.lib("/site/" + ours)
	w.lib("/site/" + randomLibrary())
	w.survey()
	w.none("shadowed")
	w.env["LD_LIBRARY_PATH"] = "/site:/elsewhere"
	w.want("shadowed", preflight.Warn, "/site/"+ours+" instead of the environment's lib/"+ours, "LD_LIBRARY_PATH=/site:/elsewhere")
	w.env["LD_LIBRARY_PATH"] = prefix + "/lib"
	w.want("shadowed", preflight.Fits)
}

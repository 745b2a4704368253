package recipe

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/contrib/demo/condapkg"
	"github.com/hpcenv/hpcenv/contrib/demo/debian"
)

func TestLayout(t *testing.T) {
	arch := &layout{arch: Archs()[0], py: "3.11"}
	pure := &layout{arch: Archs()[0], py: "3.11", noarch: "python"}
	for _, c := range []struct {
		l        *layout
		in, want string
	}{
		{arch, "usr/bin/python3.11", "bin/python3.11"},
		{arch, "lib/x86_64-linux-gnu/libz.so.1", "lib/libz.so.1"},
		{arch, "usr/lib/x86_64-linux-gnu/blas/libblas.so.3", "lib/libblas.so.3"},
		{arch, "usr/lib/x86_64-linux-gnu/pkgconfig/zlib.pc", "lib/pkgconfig/zlib.pc"},
		{arch, "usr/lib/aarch64-linux-gnu/libz.so.1", ""},
		{arch, "usr/lib/python3.11/os.py", "lib/python3.11/os.py"},
		{arch, "usr/lib/python3.11/sitecustomize.py", ""},
		{arch, "usr/lib/python3.11/EXTERNALLY-MANAGED", ""},
		{arch, "usr/lib/python3.11/dist-packages/numpy/x.so", "lib/python3.11/site-packages/numpy/x.so"},
		{arch, "usr/lib/python3/dist-packages/numpy/__init__.py", "lib/python3.11/site-packages/numpy/__init__.py"},
		{pure, "usr/lib/python3/dist-packages/six.py", "site-packages/six.py"},
		{pure, "usr/bin/pygmentize", "python-scripts/pygmentize"},
		{arch, "lib/terminfo/x/xterm", "share/terminfo/x/xterm"},
		{arch, "usr/share/zoneinfo/UTC", "share/zoneinfo/UTC"},
		{arch, "usr/share/doc/x/copyright", ""},
		{arch, "etc/passwd", ""},
		{arch, "unheard/of", ""},
	} {
		if got := c.l.target(c.in); got != c.want {
			t.Errorf("%s goes to %q, want %q", c.in, got, c.want)
		}
	}
	for _, c := range []struct{ at, text, want string }{
		{"usr/lib/x86_64-linux-gnu/libz.so", "/lib/x86_64-linux-gnu/libz.so.1", "libz.so.1"},
		{"usr/include/python3.11/numpy", "../../lib/python3/dist-packages/numpy/core", "../../lib/python3.11/site-packages/numpy/core"},
		{"usr/bin/x", "/etc/alternatives/x", ""},
	} {
		if got := arch.link(&debian.Entry{Path: c.at, Link: c.text}); got != c.want {
			t.Errorf("link %s -> %s becomes %q, want %q", c.at, c.text, got, c.want)
		}
	}
	both := map[string]bool{"usr/lib/python3/dist-packages/numpy/x.so": true}
	if !arch.twice("usr/lib/python3.11/dist-packages/numpy/x.so", both) || arch.twice("usr/lib/python3.11/dist-packages/numpy/y.so", both) {
		t.Error("files that Debian has twice are not told from others")
	}
}

func TestEdits(t *testing.T) {
	l := &layout{arch: Archs()[0], py: "3.11"}
	ph := condapkg.Placeholder
	for _, c := range []struct {
		path, in, want string
		exec           bool
	}{
		{"bin/x", "#! /usr/bin/python3\nx", "#!" + ph + "/bin/python3.11\nx", true},
		{"bin/x", "#!/usr/bin/python3.11 -E\n", "#!" + ph + "/bin/python3.11 -E\n", true},
		{"bin/x", "#!/usr/bin/env python3\n", "#!" + ph + "/bin/python3.11\n", true},
		{"bin/x", "#!/usr/bin/perl\n", "#!/usr/bin/perl\n", true},
		{"lib/x.py", "#!/usr/bin/python3\n", "#!/usr/bin/python3\n", false},
		{"lib/pkgconfig/z.pc", "prefix=/usr\nlibdir=${prefix}/lib/x86_64-linux-gnu\n", "prefix=" + ph + "\nlibdir=${prefix}/lib\n", false},
		{"lib/python3.11/site.py", `"dist-packages"`, `"site-packages"`, false},
	} {
		f := condapkg.File{Path: c.path, Data: []byte(c.in), Executable: c.exec}
		if err := l.edit(&f); err != nil || string(f.Data) != c.want {
			t.Errorf("%s %q became %q (%v), want %q", c.path, c.in, f.Data, err, c.want)
		}
	}
	for _, path := range []string{"lib/python3.11/site.py", "lib/python3.11/sysconfig.py", "site-packages/certifi/core.py"} {
		if err := l.edit(&condapkg.File{Path: path, Data: []byte("nothing known")}); err == nil {
			t.Errorf("%s: an edit that finds nothing is no error", path)
		}
	}
}

func TestVersionsAndNames(t *testing.T) {
	for in, want := range map[string]string{
		"1:1.2.13.dfsg-1": "1.2.13", "5.3.28+dfsg2-1": "5.3.28", "6.4-4": "6.4", "20230311+deb12u1": "20230311.deb12u1", "2.0~RC1-1": "2.0.rc1",
	} {
		if got := condaVersion(&debian.Stanza{Version: in}); got != want {
			t.Errorf("version %s becomes %s, want %s", in, got, want)
		}
	}
	for in, want := range map[string]string{"python3.11-minimal": "python", "python3.11": "python-tools", "python3-six": "six", "libstdc++6": "libstdcxx6"} {
		if got := condaName(in, "3.11"); got != want {
			t.Errorf("name %s becomes %s, want %s", in, got, want)
		}
	}
	if got := nextMinor("3.9"); got != "3.10" {
		t.Errorf("after 3.9 comes %s", got)
	}
	for _, n := range []string{"libc6", "gcc-12-base", "python3.11", "python3"} {
		if !Stop(n) {
			t.Errorf("%s is followed", n)
		}
	}
}

// deb makes a Debian package from files by path.
func deb(t *testing.T, files map[string]string) string {
	t.Helper()
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("dpkg-deb IS NOT INSTALLED")
	}
	root := t.TempDir()
	files["DEBIAN/control"] = "Package: fake\nVersion: 1.0-1\nArchitecture: all\nMaintainer: none\nDescription: fake\n"
	for name, data := range files {
		full := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(data), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(t.TempDir(), "fake.deb")
	if msg, err := exec.Command("dpkg-deb", "--root-owner-group", "--build", root, out).CombinedOutput(); err != nil {
		t.Fatalf("dpkg-deb: %v: %s", err, msg)
	}
	return out
}

func TestConvertNoarchPython(t *testing.T) {
	site := "usr/lib/python3/dist-packages/"
	file := deb(t, map[string]string{
		site + "fake/__init__.py":                   "",
		site + "fake-1.0.egg-info/entry_points.txt": "[console_scripts]\nfake = fake.cli : main\nother = fake:other\n[x]\ny = z\n",
		"usr/bin/fake":                              "#!/usr/bin/python3\ngenerated\n",
		"usr/bin/hand":                              "#!/usr/bin/python3\nby hand\n",
		"usr/share/doc/fake/copyright":              "free",
	})
	src := Source{Arch: Archs()[0], File: file, Needs: []string{"python3-six"}, Stanza: &debian.Stanza{
		Package: "python3-fake", Version: "1.0-4", Architecture: "all", SHA256: "aa", Depends: [][]string{{"python3"}, {"python3-six"}}}}
	p, err := Convert(t.Context(), src, "3.11")
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "fake" || p.Subdir != "noarch" || p.Noarch != "python" || p.BuildNumber != 4 || !strings.HasPrefix(p.Build, "pyh") || !strings.HasSuffix(p.Build, "_4") {
		t.Errorf("package %s in %s, noarch %s", p.Dist(), p.Subdir, p.Noarch)
	}
	if diff := cmp.Diff([]string{"python >=3.9", "six"}, p.Depends); diff != "" {
		t.Errorf("depends (-want +got):\n%s", diff)
	}
	// Only a command whose script the package had: "other" has none.
	if diff := cmp.Diff([]string{"fake = fake.cli:main"}, p.EntryPoints); diff != "" {
		t.Errorf("entry points (-want +got):\n%s", diff)
	}
	if have(p.Files, "python-scripts/fake") || !have(p.Files, "python-scripts/hand") || !have(p.Files, "site-packages/fake/__init__.py") {
		t.Errorf("files: %+v", p.Files)
	}
	if string(p.Licenses["copyright"]) != "free" {
		t.Error("the licence is lost")
	}
}

func TestConvertRelocatesLibraries(t *testing.T) {
	for _, tool := range []string{"gcc", "patchelf"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s IS NOT INSTALLED", tool)
		}
	}
	dir := t.TempDir()
	so := filepath.Join(dir, "x.so")
	cmd := exec.Command("gcc", "-shared", "-o", so, "-xc", "-")
	cmd.Stdin = strings.NewReader("#include <stdio.h>\nint f(void) { return puts(\"x\"); }\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("gcc CANNOT COMPILE HERE: %v: %s", err, out)
	}
	lib, err := os.ReadFile(so)
	if err != nil {
		t.Fatal(err)
	}
	arch := Archs()[0]
	if f := (&condapkg.File{Data: lib}); true {
		facts, err := readELF(f)
		if err != nil || facts == nil || facts.glibc == "" {
			t.Fatalf("facts %+v, %v", facts, err)
		}
		if facts.machine != machine(arch) {
			t.Skip("THIS TEST NEEDS x86-64")
		}
	}
	stanza := &debian.Stanza{Package: "python3-fake", Version: "1.0-1", Architecture: "amd64", SHA256: "aa"}
	file := deb(t, map[string]string{"usr/lib/python3/dist-packages/fake/x.so": string(lib)})
	p, err := Convert(t.Context(), Source{Arch: arch, Stanza: stanza, File: file}, "3.11")
	if err != nil {
		t.Fatal(err)
	}
	if p.Subdir != "linux-64" || len(p.Files) != 1 || !bytes.Contains(p.Files[0].Data, []byte("$ORIGIN/../../..\x00")) {
		t.Errorf("%s: the library's RPATH does not lead to the prefix's lib", p.Dist())
	}
	if len(p.Depends) != 1 || !strings.HasPrefix(p.Depends[0], "__glibc >=2.") {
		t.Errorf("depends %v: want the C library's version", p.Depends)
	}
	if _, err := Convert(t.Context(), Source{Arch: Archs()[1], Stanza: stanza, File: file}, "3.11"); err == nil {
		t.Error("a library for x86-64 went into a package for aarch64")
	}
}

func TestDropDangling(t *testing.T) {
	a := &condapkg.Package{Subdir: "linux-64", Files: []condapkg.File{
		{Path: "lib/libz.so", Link: "libz.so.1"}, {Path: "lib/gone", Link: "nowhere"}, {Path: "lib/dir", Link: "../share/x"}}}
	b := &condapkg.Package{Subdir: "linux-64", Files: []condapkg.File{{Path: "lib/libz.so.1"}}}
	n := &condapkg.Package{Subdir: "noarch", Files: []condapkg.File{{Path: "share/x/y"}, {Path: "share/z", Link: "../lib/libz.so.1"}}}
	other := &condapkg.Package{Subdir: "linux-aarch64", Files: []condapkg.File{{Path: "lib/q", Link: "libz.so.1"}}}
	dropDangling([]*condapkg.Package{a, b, n, other})
	if have(a.Files, "lib/gone") || !have(a.Files, "lib/libz.so") || !have(a.Files, "lib/dir") || !have(n.Files, "share/z") || have(other.Files, "lib/q") {
		t.Errorf("links kept: %+v %+v %+v", a.Files, n.Files, other.Files)
	}
}

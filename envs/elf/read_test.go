package elf_test

import (
	"bytes"
	"debug/elf"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	hpcelf "github.com/hpcenv/hpcenv/envs/elf"
)

func read(t *testing.T, b []byte) *hpcelf.Facts {
	t.Helper()
	f, err := hpcelf.Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// full says something of every field.
func full() spec {
	return spec{
		SOName: "libx.so.1", Needed: []string{"libc.so.6", "libm.so.6"}, RPath: "$ORIGIN/../lib", RunPath: "/opt/lib:$ORIGIN",
		Flags1: uint64(elf.DF_1_NODEFLIB | elf.DF_1_NOOPEN), Align: 65536,
		Needs:   []needSpec{{Library: "libc.so.6", Names: []string{"GLIBC_2.17", "GLIBC_2.34"}}, {Library: "libm.so.6", Names: []string{"GLIBC_2.2.5"}, Weak: true}},
		Defines: []string{"X_1", "X_2"},
	}
}

// TestEveryClassAndOrder: the same file says the same, whatever its class and byte
// order, and whether or not it has section headers.
func TestEveryClassAndOrder(t *testing.T) {
	for _, c := range []struct {
		class   int
		big     bool
		machine elf.Machine
		want    string
	}{
		{64, false, elf.EM_X86_64, "x86_64"}, {64, false, elf.EM_AARCH64, "aarch64"}, {64, true, elf.EM_PPC64, "ppc64"}, {64, false, elf.EM_PPC64, "ppc64le"},
		{64, true, elf.EM_S390, "s390x"}, {32, true, elf.EM_PPC, "ppc"}, {32, false, elf.EM_386, "i686"}, {32, false, elf.EM_ARM, "arm"},
		{32, false, elf.EM_X86_64, "x32"}, {64, false, elf.EM_RISCV, "riscv64"}, {64, false, 9999, "machine-9999"},
	} {
		for _, bare := range []bool{false, true} {
			s := full()
			s.Class, s.Big, s.Machine, s.NoHeaders = c.class, c.big, c.machine, bare
			want := &hpcelf.Facts{
				Machine: c.want, Class: c.class, BigEndian: c.big, Kind: hpcelf.Library, Dynamic: true, MaxPage: 65536, SOName: "libx.so.1",
				Needed: []string{"libc.so.6", "libm.so.6"}, RPath: "$ORIGIN/../lib", RunPath: "/opt/lib:$ORIGIN", HasRunPath: true,
				NoDefaultLib: true, NoOpen: true, Versioned: true, Defines: []string{"X_1", "X_2"},
				Needs: []hpcelf.Need{
					{Library: "libc.so.6", Versions: []hpcelf.Version{{Name: "GLIBC_2.17"}, {Name: "GLIBC_2.34"}}},
					{Library: "libm.so.6", Versions: []hpcelf.Version{{Name: "GLIBC_2.2.5", Weak: true}}},
				},
			}
			if d := cmp.Diff(want, read(t, s.Make())); d != "" {
				t.Errorf("%s, bare %v: %s", c.want, bare, d)
			}
		}
	}
}

// TestReadsWhatCompilersMake: kinds of files as compilers make them.
func TestReadsWhatCompilersMake(t *testing.T) {
	const library, program = "int f(void) { return 1; }", "int main(void) { return 0; }"
	for name, c := range map[string]struct {
		compiler, source string
		args             []string
		want             func(*hpcelf.Facts) bool
	}{
		"library": {"gcc", library, []string{"-shared", "-fPIC", "-Wl,-soname,liba.so.3"}, func(f *hpcelf.Facts) bool {
			return f.Kind == hpcelf.Library && f.SOName == "liba.so.3" && f.Interpreter == "" && !f.Static
		}},
		"pie": {"gcc", program, []string{"-pie"}, func(f *hpcelf.Facts) bool {
			return f.Kind == hpcelf.Executable && f.PIE && !f.Static && f.Interpreter != "" && slices.Contains(f.Needed, "libc.so.6")
		}},
		"fixed":      {"gcc", program, []string{"-no-pie"}, func(f *hpcelf.Facts) bool { return f.Kind == hpcelf.Executable && f.Fixed && !f.PIE && !f.Static }},
		"static":     {"gcc", program, []string{"-static", "-no-pie"}, func(f *hpcelf.Facts) bool { return f.Kind == hpcelf.Executable && f.Static && f.Needed == nil }},
		"static-pie": {"gcc", program, []string{"-static-pie"}, func(f *hpcelf.Facts) bool { return f.Kind == hpcelf.Executable && f.Static && f.PIE }},
		"object":     {"gcc", library, []string{"-c"}, func(f *hpcelf.Facts) bool { return f.Kind == hpcelf.Other && f.MaxPage == 0 && !f.Static }},
		"32":         {"gcc", library, []string{"-m32", "-shared", "-nostdlib"}, func(f *hpcelf.Facts) bool { return f.Machine == "i686" && f.Class == 32 && f.Kind == hpcelf.Library }},
		"page 4k":    {"gcc", library, []string{"-shared", "-nostdlib", "-Wl,-z,max-page-size=0x1000"}, func(f *hpcelf.Facts) bool { return f.MaxPage == 4096 }},
		"page 2M":    {"gcc", library, []string{"-shared", "-nostdlib", "-Wl,-z,max-page-size=0x200000"}, func(f *hpcelf.Facts) bool { return f.MaxPage == 2<<20 }},
		"aarch64": {"aarch64-linux-gnu-gcc", library, []string{"-shared", "-nostdlib", "-Wl,-z,max-page-size=65536"}, func(f *hpcelf.Facts) bool {
			return f.Machine == "aarch64" && f.MaxPage == 65536
		}},
		"rpath":   {"gcc", library, []string{"-shared", "-nostdlib", "-Wl,--disable-new-dtags,-rpath,$ORIGIN/x"}, func(f *hpcelf.Facts) bool { return f.RPath == "$ORIGIN/x" && !f.HasRunPath }},
		"runpath": {"gcc", library, []string{"-shared", "-nostdlib", "-Wl,--enable-new-dtags,-rpath,$ORIGIN/x"}, func(f *hpcelf.Facts) bool { return f.RunPath == "$ORIGIN/x" && f.HasRunPath }},
		"nodeflib": {"gcc", library, []string{"-shared", "-nostdlib", "-Wl,-z,nodefaultlib", "-Wl,-z,nodlopen"}, func(f *hpcelf.Facts) bool {
			return f.NoDefaultLib && f.NoOpen
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := hpcelf.ReadFile(gcc(t, c.compiler, c.source, c.args...))
			if err != nil {
				t.Fatal(err)
			}
			if !c.want(f) {
				t.Errorf("%+v", f)
			}
		})
	}
}

// TestSameAsDebugELF: of the files of this host the standard library reads the same,
// by their sections.
func TestSameAsDebugELF(t *testing.T) {
	const most = 600
	seen := 0
	for _, dir := range []string{"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/bin"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || !d.Type().IsRegular() || seen == most {
				return err
			}
			std, err := elf.Open(path)
			if err != nil {
				return nil // no ELF file
			}
			defer std.Close()
			seen++
			got, err := hpcelf.ReadFile(path)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				return nil
			}
			compare(t, path, std, got)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 50 {
		t.Errorf("only %d ELF files were found on this host", seen)
	}
}

func compare(t *testing.T, path string, std *elf.File, got *hpcelf.Facts) {
	t.Helper()
	text := func(tag elf.DynTag) string {
		v, err := std.DynString(tag)
		if err != nil || len(v) == 0 {
			return ""
		}
		return v[len(v)-1]
	}
	needed, err := std.ImportedLibraries()
	if err != nil {
		needed = nil
	}
	var needs []hpcelf.Need
	if std.Type == elf.ET_DYN || std.Type == elf.ET_EXEC {
		all, err := std.DynamicVersionNeeds()
		if err != nil {
			all = nil
		}
		for _, n := range all {
			need := hpcelf.Need{Library: n.Name}
			for _, v := range n.Needs {
				need.Versions = append(need.Versions, hpcelf.Version{Name: v.Dep, Weak: v.Flags&elf.VER_FLG_WEAK != 0})
			}
			needs = append(needs, need)
		}
	}
	var defines []string
	if all, err := std.DynamicVersions(); err == nil {
		for _, v := range all {
			if v.Flags&elf.VER_FLG_BASE == 0 {
				defines = append(defines, v.Name)
			}
		}
	}
	want := []any{std.Class == elf.ELFCLASS64, slices.Clip(needed), text(elf.DT_SONAME), text(elf.DT_RPATH), text(elf.DT_RUNPATH), needs, defines}
	have := []any{got.Class == 64, slices.Clip(got.Needed), got.SOName, got.RPath, got.RunPath, got.Needs, got.Defines}
	if got.Kind == hpcelf.Other {
		return
	}
	if d := cmp.Diff(want, have); d != "" {
		t.Errorf("%s: %s", path, d)
	}
}

// TestCutOff: a file that ends anywhere is no ELF file or a broken one, and no
// fault of the storage.
func TestCutOff(t *testing.T) {
	s := full()
	s.NoHeaders = true
	whole := s.Make()
	for n := range whole {
		_, err := hpcelf.Read(bytes.NewReader(whole[:n]), int64(n))
		if want := hpcelf.ErrBroken; n >= 4 && !errors.Is(err, want) {
			t.Errorf("%d bytes of %d: %v", n, len(whole), err)
		} else if n < 4 && !errors.Is(err, hpcelf.ErrNotELF) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// counting counts what is read of a file.
type counting struct {
	b []byte
	n int
}

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	c.n += len(p)
	return bytes.NewReader(c.b).ReadAt(p, off)
}

// TestReadsLittle: of a file that is none the first bytes alone are read, of one
// with much content a few pages.
func TestReadsLittle(t *testing.T) {
	text := &counting{b: bytes.Repeat([]byte("print(1)\n"), 100000)}
	if _, err := hpcelf.Read(text, int64(len(text.b))); !errors.Is(err, hpcelf.ErrNotELF) || text.n > 64 {
		t.Errorf("%v after %d bytes", err, text.n)
	}
	s := full()
	s.Sections = map[string][]byte{".text": make([]byte, 10<<20)}
	large := &counting{b: s.Make()}
	if _, err := hpcelf.Read(large, int64(len(large.b))); err != nil || large.n > 64<<10 {
		t.Errorf("%v after %d bytes", err, large.n)
	}
}

// failing storage.
type failing struct{}

func (failing) ReadAt([]byte, int64) (int, error) { return 0, os.ErrPermission }

// TestStorageIsNoFile: an error of the storage is not taken for a broken file.
func TestStorageIsNoFile(t *testing.T) {
	_, err := hpcelf.Read(failing{}, 1000)
	if !errors.Is(err, os.ErrPermission) || errors.Is(err, hpcelf.ErrBroken) || errors.Is(err, hpcelf.ErrNotELF) {
		t.Error(err)
	}
	if _, err := hpcelf.ReadFile(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

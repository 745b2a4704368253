package standalone

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/internal/standalonetest"
)

func newStore(t testing.TB) *cache.Store {
	t.Helper()
	s, err := cache.Create(filepath.Join(t.TempDir(), "s"), cache.Format{Platforms: []string{"linux-64"}, OwnerUID: os.Geteuid()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ingest takes an archive in, as prepare does.
func ingest(t testing.TB, s *cache.Store, data []byte, format cache.ArchiveFormat) (*cache.Manifest, *Meta, error) {
	t.Helper()
	at := filepath.Join(t.TempDir(), "archive")
	if err := os.WriteFile(at, data, 0o644); err != nil {
		t.Fatal(err)
	}
	m, err := s.Ingest(context.Background(), at, cache.Source{Name: "cpython." + string(format), SHA256: standalonetest.SHA256(data), Format: format}, Interpret)
	if err != nil {
		return nil, nil, err
	}
	again, err := s.Manifest(m.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	meta, err := DecodeMeta(again.Meta)
	if err != nil {
		t.Fatal(err)
	}
	return again, meta, nil
}

func TestInterpret(t *testing.T) {
	s, files := newStore(t), standalonetest.Small("3.12.4", "0")
	m, meta, err := ingest(t, s, standalonetest.TarGz(t, files), cache.FormatTarGz)
	if err != nil {
		t.Fatal(err)
	}
	if meta.Version != "3.12.4" || meta.Short != "3.12" || meta.Site != "lib/python3.12/site-packages" || meta.FreeThreaded || meta.Subdir != "" || len(m.Notes) > 0 {
		t.Errorf("%+v, %v", meta, m.Notes)
	}
	want := map[string]standalonetest.File{}
	for _, f := range files {
		want[strings.TrimSuffix(f.Path, "/")] = f
	}
	for _, e := range m.Entries {
		f, ok := want[e.Path]
		delete(want, e.Path)
		is := map[cache.EntryType]bool{cache.EntryLink: f.Link != "", cache.EntryDir: strings.HasSuffix(f.Path, "/"), cache.EntryFile: f.Link == "" && !strings.HasSuffix(f.Path, "/")}[e.Type]
		if !ok || !is || e.Exec != f.Exec || e.Target != f.Link || (e.Time != 0) != (strings.HasSuffix(e.Path, ".py") && e.Type == cache.EntryFile) || e.Placeholder != "" {
			t.Errorf("%+v, want %+v", e, f)
		}
	}
	if len(want) > 0 {
		t.Errorf("lost: %v", slices.Collect(maps.Keys(want)))
	}
	site := "lib/python3.12/site-packages/"
	pip := map[string]Bundled{"pip": {Version: "1.0", Paths: []string{
		"bin/pip", site + "pip-1.0.dist-info/INSTALLER", site + "pip-1.0.dist-info/METADATA", site + "pip-1.0.dist-info/RECORD", site + "pip/__init__.py", site + "pip/_vendor/one.py",
	}}}
	if d := cmp.Diff(pip, meta.Bundled); d != "" {
		t.Error(d)
	}
	edited := []string{"bin/old-script", "lib/pkgconfig/python-3.12.pc", "lib/python3.12/_sysconfigdata__linux_x86_64-linux-gnu.py"}
	if got := slices.Sorted(maps.Keys(meta.Edits)); !slices.Equal(got, edited) {
		t.Errorf("edited are %v", got)
	}

	// The same files in the other format are the same entries.
	z, zmeta, err := ingest(t, s, standalonetest.TarZst(t, files), cache.FormatTarZst)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(m.Entries, z.Entries) + cmp.Diff(meta, zmeta); d != "" {
		t.Error(d)
	}
}

// TestFreeThreaded: its library has a name of its own, and a suffix of its version
// says nothing.
func TestFreeThreaded(t *testing.T) {
	var files []standalonetest.File
	for _, f := range standalonetest.Small("3.13.1+", "0") {
		for _, dir := range []string{"lib", "include"} {
			f.Path = strings.Replace(f.Path, dir+"/python3.13/", dir+"/python3.13t/", 1)
		}
		if f.Path == "bin/python3.13" {
			files = append(files, standalonetest.File{Path: "bin/python3.13", Link: "python3.13t"})
			f.Path = "bin/python3.13t"
		}
		files = append(files, f)
	}
	_, meta, err := ingest(t, newStore(t), standalonetest.TarZst(t, files), cache.FormatTarZst)
	if err != nil {
		t.Fatal(err)
	}
	if !meta.FreeThreaded || meta.Short != "3.13" || meta.Version != "3.13.1" || meta.Site != "lib/python3.13t/site-packages" || len(meta.Edits) != 3 || meta.Bundled["pip"].Version != "1.0" {
		t.Errorf("%+v", meta)
	}
	if f := meta.Faults("3.13.1", "linux-64", true); f != nil {
		t.Errorf("%v", f)
	}
}

// TestApply: what a prefix gets, word by word.
func TestApply(t *testing.T) {
	s := newStore(t)
	m, meta, err := ingest(t, s, standalonetest.TarGz(t, standalonetest.Small("3.12.4", "0")), cache.FormatTarGz)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range m.Entries {
		edits := meta.Edits[e.Path]
		if edits == nil {
			continue
		}
		f, err := s.OpenEntry(e)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := Apply(&got, f, edits, "/opt/e/1"); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		text := map[string]string{
			"bin/old-script":               "#!/opt/e/1/bin/python3.12\nprint('/install')\n",
			"lib/pkgconfig/python-3.12.pc": "# See: man pkg-config\nprefix=${pcfiledir}/../..\nexec_prefix=${prefix}\nlibdir=${exec_prefix}/lib\n",
		}[e.Path]
		if text == "" {
			text = `# system configuration generated and used by the sysconfig module
build_time_vars = {'PYTHON_BUILD_STANDALONE': 1,
 'ABIFLAGS': '',
 'AC_APPLE_UNIVERSAL_BUILD': 0,
 'AR': 'ar',
 'BINDIR': '/opt/e/1/bin',
 'BLDSHARED': 'cc -pthread -shared',
 'CC': 'cc -pthread',
 'CONFIG_ARGS': "'--prefix=/install' '--build=x86_64-unknown-linux-gnu'",
 'CXX': 'c++ -pthread',
 'INSTALL': '/usr/bin/install -c',
 'LDFLAGS': '-L/install/lib '
            '/opt/e/1/lib/libpython.a '
            '/installed',
 'LIBDIR': '/opt/e/1/lib',
 'QUOTED': 'it\'s "/install" \\',
 'SIZEOF_LONG': 8,
 'prefix': '/opt/e/1'}
`
		}
		if d := cmp.Diff(text, got.String()); d != "" {
			t.Errorf("%s: %s", e.Path, d)
		}
	}
}

func TestRefused(t *testing.T) {
	small := standalonetest.Small("3.12.4", "0")
	with := func(more ...standalonetest.File) []byte {
		return standalonetest.TarGz(t, append(slices.Clone(small), more...))
	}
	without := func(path string) []byte {
		return standalonetest.TarGz(t, slices.DeleteFunc(slices.Clone(small), func(f standalonetest.File) bool { return f.Path == path }))
	}
	for name, c := range map[string]struct {
		data  []byte
		says  string
		class error
	}{
		"another folder":      {standalonetest.TarGzBelow(t, "cpython/", small), "outside of the folder python/", cache.ErrIntegrity},
		"no folder":           {standalonetest.TarGzBelow(t, "", small), "outside of the folder python/", cache.ErrIntegrity},
		"a full archive":      {with(standalonetest.File{Path: "PYTHON.json", Content: "{}"}), "the one called install_only", cache.ErrIntegrity},
		"no library":          {without("lib/python3.12/os.py"), "no python/lib/python3.N/os.py", cache.ErrIntegrity},
		"two":                 {with(standalonetest.File{Path: "lib/python3.11/os.py", Content: "x\n"}), "two Pythons", cache.ErrIntegrity},
		"no program":          {without("bin/python3.12"), "no program python/bin/python3.12", cache.ErrIntegrity},
		"a link that is lost": {standalonetest.TarGz(t, relink(small, "nowhere")), "no program", cache.ErrIntegrity},
		"a link to itself":    {standalonetest.TarGz(t, relink(small, "python3.12")), "leads to no file", cache.ErrIntegrity},
		"leaves its folder":   {with(standalonetest.File{Path: "../../x", Content: "x"}), "", cache.ErrUnsafe},
		"through a link":      {with(standalonetest.File{Path: "share", Link: "/tmp"}, standalonetest.File{Path: "share/x", Content: "x"}), "", cache.ErrUnsafe},
		"no gzip":             {[]byte("not an archive"), "gzip", cache.ErrIntegrity},
		"cut off":             {with()[:1000], "truncated", cache.ErrIntegrity},
		"more after its end":  {append(with(), "more"...), "", cache.ErrIntegrity},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := ingest(t, newStore(t), c.data, cache.FormatTarGz)
			if !errors.Is(err, c.class) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v", err)
			}
		})
	}
	data := standalonetest.TarZst(t, small)
	for name, data := range map[string][]byte{"cut off": data[:len(data)-10], "damaged": append(slices.Clone(data[:200]), bytes.Repeat([]byte{7}, 300)...), "more": append(slices.Clone(data), "more"...)} {
		if _, _, err := ingest(t, newStore(t), data, cache.FormatTarZst); !errors.Is(err, cache.ErrIntegrity) {
			t.Errorf("zstd, %s: %v", name, err)
		}
	}
}

// relink makes the program a link.
func relink(files []standalonetest.File, to string) []standalonetest.File {
	files = slices.Clone(files)
	for i := range files {
		if files[i].Path == "bin/python3.12" {
			files[i] = standalonetest.File{Path: files[i].Path, Link: to}
		}
	}
	return files
}

// TestForms: a text of another form stays as it is, and that is told.
func TestForms(t *testing.T) {
	for name, text := range map[string]string{
		"no dictionary": "vars = {'prefix': '/install'}\n", "computed": "build_time_vars = {'prefix': f('/install')}\n",
		"open": "build_time_vars = {'prefix': '/install\n}\n", "no value": "build_time_vars = {'prefix'}\n", "no end": "build_time_vars = {'prefix': 1,", "inside": "x = 1; build_time_vars = {}\n",
	} {
		files := slices.Clone(standalonetest.Small("3.12.4", "0"))
		for i := range files {
			if strings.Contains(files[i].Path, "_sysconfigdata_") {
				files[i].Content = text
			}
		}
		m, meta, err := ingest(t, newStore(t), standalonetest.TarGz(t, files), cache.FormatTarGz)
		if err != nil || len(m.Notes) != 1 || !strings.Contains(m.Notes[0], "_sysconfigdata__linux_x86_64-linux-gnu.py stays as it is: its form is not known") || len(meta.Edits) != 2 {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
	// One that says already what it is, and has nothing to change.
	if edits, err := sysconfigEdits([]byte("build_time_vars = {\n    \"PYTHON_BUILD_STANDALONE\": 1,\n    \"CC\": \"cc\", 'A': None, 'B': -1.5\n}\nmore = 1\n")); err != nil || edits != nil {
		t.Errorf("%v, %v", edits, err)
	}
}

func TestFaults(t *testing.T) {
	m := Meta{Version: "3.13.2", Short: "3.13", Subdir: "linux-64", Libc: "glibc"}
	if f := m.Faults("3.13.2", "linux-64", false); f != nil {
		t.Errorf("%v", f)
	}
	for _, c := range []struct {
		change          func(*Meta)
		version, subdir string
		free            bool
		says            string
	}{
		{func(*Meta) {}, "3.13.1", "linux-64", false, "it is Python 3.13.2, not 3.13.1"},
		{func(m *Meta) { m.Version = "" }, "3.12.9", "linux-64", false, "it is Python 3.13, not 3.12.9"},
		{func(m *Meta) { m.Version, m.Short = "", "3.1" }, "3.13.2", "linux-64", false, "it is Python 3.1, not 3.13.2"},
		{func(*Meta) {}, "3.13.2", "linux-aarch64", false, "it is for linux-64"},
		{func(*Meta) {}, "3.13.2", "linux-64", true, "with the global interpreter lock"},
		{func(m *Meta) { m.FreeThreaded = true }, "3.13.2", "linux-64", false, "without the global interpreter lock"},
		{func(m *Meta) { m.Libc = "musl" }, "3.13.2", "linux-64", false, "musl"},
		{func(m *Meta) { m.Libc = "none" }, "3.13.2", "linux-64", false, "statically"},
	} {
		m := m
		c.change(&m)
		if f := m.Faults(c.version, c.subdir, c.free); len(f) != 1 || !strings.Contains(f[0], c.says) {
			t.Errorf("%v, want %q", f, c.says)
		}
	}
	for _, raw := range []string{"{}", "[]", `{"standalone_version":2}`} {
		if _, err := DecodeMeta(json.RawMessage(raw)); !errors.Is(err, cache.ErrIntegrity) {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

package wheel_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/wheel"
	"github.com/hpcenv/hpcenv/internal/wheeltest"
)

func newStore(t *testing.T) *cache.Store {
	t.Helper()
	s, err := cache.Create(filepath.Join(t.TempDir(), "store"), cache.Format{PrefixRoot: "/opt/e", Platforms: []string{"linux-64"}, OwnerUID: os.Geteuid()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ingest takes a wheel into a store, under the file name that it is given.
func ingest(t *testing.T, s *cache.Store, w wheeltest.Wheel, fileName string) (*cache.Manifest, error) {
	t.Helper()
	path, sum := w.Write(t, t.TempDir())
	return s.Ingest(context.Background(), path, cache.Source{Name: fileName, URL: "file://" + path, SHA256: sum, Format: cache.FormatWheel}, wheel.Interpret)
}

func taken(t *testing.T, w wheeltest.Wheel) (*cache.Manifest, *wheel.Meta) {
	t.Helper()
	m, err := ingest(t, newStore(t), w, w.FileName())
	if err != nil {
		t.Fatal(err)
	}
	meta, err := wheel.DecodeMeta(m.Meta)
	if err != nil {
		t.Fatal(err)
	}
	return m, meta
}

// TestFacts: what a wheel says of itself is in its manifest.
func TestFacts(t *testing.T) {
	m, meta := taken(t, wheeltest.Wheel{Name: "Some_Name", Version: "1.0", Tag: "1-cp311-abi3-manylinux_2_17_x86_64",
		Files: []wheeltest.File{{Path: "a.py", Content: "a"}, {Path: "Some_Name-1.0.data/scripts/s", Content: "#!python -E\r\nrest"}},
		Info: map[string][]byte{
			"WHEEL":            []byte("Wheel-Version: 1.0\r\nGenerator: g (1)\r\nRoot-Is-Purelib: false\r\nTag: cp311-abi3-x\r\nTag: cp311-abi3-y\r\n"),
			"METADATA":         []byte("Metadata-Version: 2.1\nName: some.name\nVersion: 1.0.0\nRequires-Python: >=3.8\nRequires-Dist: b>1\n  ,<2\nRequires-Dist: c; extra == 'x'\nProvides-Extra: x\n\nRequires-Dist: body\n"),
			"entry_points.txt": []byte("[console_scripts]\nb = m.n:f.g [x]\na = m:f\n[gui_scripts]\nw = m:g\n"),
		}})
	want := &wheel.Meta{
		MetaVersion: wheel.MetaVersion, Name: "some.name", Version: "1.0.0", RequiresPython: ">=3.8", RequiresDist: []string{"b>1\n  ,<2", "c; extra == 'x'"},
		ProvidesExtra: []string{"x"}, WheelVersion: "1.0", Generator: "g (1)", Tags: []string{"cp311-abi3-x", "cp311-abi3-y"}, Prefix: "Some_Name-1.0",
		Console: []wheel.EntryPoint{{Name: "a", Module: "m", Func: "f"}, {Name: "b", Module: "m.n", Func: "f.g"}},
		GUI:     []wheel.EntryPoint{{Name: "w", Module: "m", Func: "g"}},
		Scripts: map[string][]byte{"Some_Name-1.0.data/scripts/s": []byte("rest")},
	}
	rows := meta.Rows
	meta.Rows = nil
	if d := cmp.Diff(want, meta); d != "" {
		t.Error(d)
	}
	if len(rows) != 1 || rows["Some_Name-1.0.data/scripts/s"].Hash == "" {
		t.Errorf("rows %v", rows)
	}
	for _, e := range m.Entries {
		if e.Path == "Some_Name-1.0.data/scripts/s" || strings.HasSuffix(e.Path, "/RECORD") {
			t.Errorf("%s is an entry", e.Path)
		}
	}
}

func with(name string, content string) map[string][]byte {
	return map[string][]byte{name: []byte(content)}
}

func rows(change func([]string) []string) wheeltest.Wheel {
	return wheeltest.Wheel{Name: "w", Version: "1", Files: []wheeltest.File{{Path: "a.py", Content: "a"}}, Record: change}
}

func file(path string) wheeltest.Wheel {
	return wheeltest.Wheel{Name: "w", Version: "1", Files: []wheeltest.File{{Path: path, Content: "x"}}}
}

func info(name, content string) wheeltest.Wheel {
	return wheeltest.Wheel{Name: "w", Version: "1", Info: with(name, content)}
}

func missing(name string) wheeltest.Wheel {
	return wheeltest.Wheel{Name: "w", Version: "1", Info: map[string][]byte{name: nil}}
}

func command(line string) wheeltest.Wheel {
	return info("entry_points.txt", "[console_scripts]\n"+line+"\n")
}

// TestRefused: what is wrong with a wheel is said by name, with the class of error.
func TestRefused(t *testing.T) {
	const name = "w-1-py3-none-any.whl"
	metadata := func(n, v string) wheeltest.Wheel {
		return info("METADATA", "Metadata-Version: 2.1\nName: "+n+"\nVersion: "+v+"\n")
	}
	for title, c := range map[string]struct {
		wheel wheeltest.Wheel
		file  string
		want  error
		says  string
	}{
		"file name":                   {wheeltest.Wheel{Name: "w", Version: "1"}, "w-1.whl", cache.ErrIntegrity, "5 or 6 parts"},
		"file name, build":            {wheeltest.Wheel{Name: "w", Version: "1"}, "w-1-b-py3-none-any.whl", cache.ErrIntegrity, "build tag"},
		"file name, version":          {wheeltest.Wheel{Name: "w", Version: "1"}, "w-one-py3-none-any.whl", cache.ErrIntegrity, "is no version"},
		"no wheel at all":             {wheeltest.Wheel{Name: "w", Version: "1"}, "w-1.zip", cache.ErrIntegrity, "does not end in .whl"},
		"other name":                  {metadata("v", "1"), name, cache.ErrIntegrity, `METADATA says the package is "v"`},
		"other version":               {metadata("w", "2"), name, cache.ErrIntegrity, "METADATA says the version is 2"},
		"bad version":                 {metadata("w", "one"), name, cache.ErrIntegrity, `"one" is not a version`},
		"no name":                     {info("METADATA", "Version: 1\n"), name, cache.ErrIntegrity, "METADATA has no Name"},
		"METADATA no field":           {info("METADATA", "Name: w\nnonsense\n"), name, cache.ErrIntegrity, "METADATA, line 2"},
		"METADATA begins with blank":  {info("METADATA", " Name: w\n"), name, cache.ErrIntegrity, "line 1"},
		"METADATA huge":               {info("METADATA", "Name: w\nVersion: 1\n\n"+strings.Repeat("x", 9<<20)), name, cache.ErrUnsafe, "METADATA"},
		"METADATA bytes":              {info("METADATA", "Name: w\xff\nVersion: 1\n"), name, cache.ErrIntegrity, "not UTF-8"},
		"other dist-info":             {wheeltest.Wheel{Name: "w", Version: "1", DistInfo: "v-1.dist-info"}, name, cache.ErrIntegrity, "v-1.dist-info says"},
		"dist-info version":           {wheeltest.Wheel{Name: "w", Version: "1", DistInfo: "w-2.dist-info"}, name, cache.ErrIntegrity, "w-2.dist-info says"},
		"dist-info bare":              {wheeltest.Wheel{Name: "w", Version: "1", DistInfo: "w.dist-info"}, name, cache.ErrIntegrity, "name-version.dist-info"},
		"two dist-infos":              {file("v-1.dist-info/x"), name, cache.ErrIntegrity, "2 .dist-info directories"},
		"no dist-info":                {wheeltest.Wheel{Name: "w", Version: "1", DistInfo: "w-1.info"}, name, cache.ErrIntegrity, "no .dist-info"},
		"no METADATA":                 {missing("METADATA"), name, cache.ErrIntegrity, "no w-1.dist-info/METADATA"},
		"no WHEEL":                    {missing("WHEEL"), name, cache.ErrIntegrity, "no w-1.dist-info/WHEEL"},
		"no RECORD":                   {missing("RECORD"), name, cache.ErrIntegrity, "no w-1.dist-info/RECORD"},
		"newer":                       {info("WHEEL", "Wheel-Version: 2.0\n"), name, cache.ErrIntegrity, "Wheel-Version is 2.0"},
		"version 0":                   {info("WHEEL", "Wheel-Version: 0.9\n"), name, cache.ErrIntegrity, "Wheel-Version is 0.9"},
		"no number":                   {info("WHEEL", "Wheel-Version: x\n"), name, cache.ErrIntegrity, `Wheel-Version is "x"`},
		"huge number":                 {info("WHEEL", "Wheel-Version: 99999999999999999999.0\n"), name, cache.ErrIntegrity, "Wheel-Version is 9999"},
		"no Wheel-Version":            {info("WHEEL", "Generator: x\n"), name, cache.ErrIntegrity, `Wheel-Version is ""`},
		"RECORD differs":              {rows(func(r []string) []string { r[0] = wheeltest.Row("a.py", "b"); return r }), name, cache.ErrIntegrity, "a.py is not what RECORD says"},
		"RECORD of dist-info differs": {rows(func(r []string) []string { r[1] = wheeltest.Row("w-1.dist-info/METADATA", "b"); return r }), name, cache.ErrIntegrity, "METADATA is not what RECORD says"},
		"RECORD sha512 differs":       {rows(func(r []string) []string { r[0] = "a.py,sha512=AAAA,1"; return r }), name, cache.ErrIntegrity, "a.py is not what RECORD says"},
		"RECORD no base64":            {rows(func(r []string) []string { r[0] = "a.py,sha256=!!!,1"; return r }), name, cache.ErrIntegrity, "is no digest"},
		"RECORD up":                   {rows(func(r []string) []string { return append(r, "../../etc/passwd,sha256=AA,1") }), name, cache.ErrUnsafe, "leaves the place"},
		"RECORD up inside":            {rows(func(r []string) []string { return append(r, "a/../../b,,") }), name, cache.ErrUnsafe, "leaves the place"},
		"RECORD two fields":           {rows(func(r []string) []string { return append(r, "b,") }), name, cache.ErrIntegrity, "RECORD"},
		"RECORD size":                 {rows(func(r []string) []string { return append(r, "b,,x") }), name, cache.ErrIntegrity, `size "x"`},
		"RECORD bytes":                {info("RECORD", "a\xff,,\n"), name, cache.ErrIntegrity, "not UTF-8"},
		"RECORD control":              {info("RECORD", "\"a\x01\",,\n"), name, cache.ErrUnsafe, "control character"},
		"data of another":             {file("v-1.data/scripts/x"), name, cache.ErrIntegrity, "data of another package"},
		"unknown data":                {file("w-1.data/include/x"), name, cache.ErrIntegrity, `"include" is no kind of data`},
		"data file":                   {file("w-1.data"), name, cache.ErrIntegrity, "is a file"},
		"data key file":               {file("w-1.data/scripts"), name, cache.ErrIntegrity, "is a file"},
		"scripts directory":           {file("w-1.data/scripts/d/x"), name, cache.ErrIntegrity, "no directories"},
		"script python":               {file("w-1.data/scripts/Python3.EXE"), name, cache.ErrUnsafe, "interpreter"},
		"data python":                 {file("w-1.data/data/bin/python3.12"), name, cache.ErrUnsafe, "interpreter"},
		"huge scripts":                {wheeltest.Wheel{Name: "w", Version: "1", Files: []wheeltest.File{{Path: "w-1.data/scripts/a", Content: "#!python\n" + strings.Repeat("x", 9<<20), Deflate: true}, {Path: "w-1.data/scripts/b", Content: "#!python\n" + strings.Repeat("y", 9<<20), Deflate: true}}}, name, cache.ErrUnsafe, "scripts"},
		"command up":                  {command("../x = m:f"), name, cache.ErrUnsafe, "plain file name"},
		"command slash":               {command("x/y = m:f"), name, cache.ErrUnsafe, "plain file name"},
		"command dot":                 {command(".. = m:f"), name, cache.ErrUnsafe, "plain file name"},
		"command control":             {command("a\tb = m:f"), name, cache.ErrUnsafe, "plain file name"},
		"command python":              {command("python = m:f"), name, cache.ErrUnsafe, "interpreter"},
		"command code":                {command("x = m:f;import os"), name, cache.ErrIntegrity, "module:function"},
		"command quote":               {command(`x = m:f"`), name, cache.ErrIntegrity, "module:function"},
		"command newline":             {command("x = m:f\n  ()"), name, cache.ErrIntegrity, "module:function"},
		"command no func":             {command("x = m"), name, cache.ErrIntegrity, "module:function"},
		"command twice":               {command("x = m:f\nx = m:g"), name, cache.ErrIntegrity, "line 3"},
		"command no group":            {info("entry_points.txt", "x = m:f\n"), name, cache.ErrIntegrity, "before any [group]"},
		"command bytes":               {command("x\xff = m:f"), name, cache.ErrIntegrity, "not UTF-8"},
		"link":                        {wheeltest.Wheel{Name: "w", Version: "1", Files: []wheeltest.File{{Path: "l", Content: "a", Mode: 0o120777}}}, name, cache.ErrUnsafe, "symbolic link"},
	} {
		t.Run(title, func(t *testing.T) {
			_, err := ingest(t, newStore(t), c.wheel, c.file)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), c.file) {
				t.Errorf("got %v\nwant %v, %q, and the file's name", err, c.want, c.says)
			}
		})
	}
}

// TestNoted: what is odd and installed all the same is noted.
func TestNoted(t *testing.T) {
	for says, w := range map[string]wheeltest.Wheel{
		"1 files are not in RECORD; they are installed, and get rows without digests: a.py": rows(func(r []string) []string { return r[1:] }),
		"1 rows of RECORD are of files that the archive lacks":                              rows(func(r []string) []string { return append(r, "gone,,") }),
		"1 rows of RECORD have no digest: a.py":                                             rows(func(r []string) []string { r[0] = "a.py,,"; return r }),
		"1 rows of RECORD have digests of a kind":                                           rows(func(r []string) []string { r[0] = "a.py,md5=AAAA,1"; return r }),
		"1 sizes in RECORD":    rows(func(r []string) []string { r[0] = strings.TrimSuffix(r[0], "1") + "2"; return r }),
		"Wheel-Version is 1.7": info("WHEEL", "Wheel-Version: 1.7\n"),
		"in hex, where base64 is due": rows(func(r []string) []string {
			r[0] = "a.py,sha256=ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb,1"
			return r
		}),
	} {
		m, _ := taken(t, w)
		if len(m.Notes) != 1 || !strings.Contains(m.Notes[0], says) {
			t.Errorf("notes %q, want %q", m.Notes, says)
		}
	}
	if m, _ := taken(t, file("v.data/x")); len(m.Notes) > 0 {
		t.Errorf("notes of a directory that is called like data: %q", m.Notes)
	}
}

func TestFileNames(t *testing.T) {
	for name, w := range map[string]wheeltest.Wheel{
		"W.X-1.0-1b-py3-none-any.whl":          {Name: "w_x", Version: "1"},
		"w_x-1.0+cu118-py3-none-any.whl":       {Name: "w_x", Version: "1.0"},
		"w_x-1.0%2Bcu118-py3-none-any.whl":     {Name: "w_x", Version: "1.0+cu118"},
		"dir/w_x-1!2.0a1-py2.py3-none-any.whl": {Name: "w-x", Version: "1!2a1", DistInfo: "w_x-1!2a1.dist-info"},
	} {
		if _, err := ingest(t, newStore(t), w, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

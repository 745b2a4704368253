package materialize_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/internal/condatest"
)

const testPrefix = "/opt/hpcenv/e/0123456789abcdef0123456789abcdef"

// placeholder is what conda-build compiles into binaries: 255 bytes.
var placeholder = "/build/" + strings.Repeat("placehold_", 24) + "plac_env"

// sample is an environment with every kind of path.
func sample() []condatest.Package {
	elf := "\x7fELF shared library"
	return []condatest.Package{
		python(),
		{
			Name: "pip", Version: "24.0", Build: "py_0", Noarch: "python", Depends: []string{"python >=3.8"},
			EntryPoints: []string{"pip = pip._internal.cli.main:main", "pip-x = pip.x:App.run [extra]"},
			Files: []condatest.File{
				{Path: "site-packages/pip/__init__.py", Content: "version = 1\n"},
				{Path: "site-packages/pip/empty.py"},
				{Path: "python-scripts/pip-script", Content: "#!" + placeholder + "/bin/python -s\nprint()\n", Exec: true, Placeholder: placeholder},
				{Path: "share/pip/doc.txt", Content: "read me\n"},
			},
		},
		{
			Name: "lib", Version: "1.2", Build: "h_3", BuildNumber: 3, Depends: []string{"python", "__glibc >=2.17,<3"},
			Files: []condatest.File{
				{Path: "lib/libx.so.1", Content: elf, Exec: true},
				{Path: "lib/libx-copy.so.1", Content: elf, Exec: true},
				{Path: "lib/libx.so", Link: "libx.so.1"},
				{Path: "lib/text1", Content: "equal text"},
				{Path: "lib/text2", Content: "equal text"},
				{Path: "lib/outside", Link: "/etc/hostname"},
				{Path: "lib/dangling", Link: "../../nowhere"},
				{Path: "bin/tool", Content: "\x7fELF\x00" + placeholder + "/share:" + placeholder + "/lib\x00tail\x00", Exec: true, Placeholder: placeholder, Binary: true},
				{Path: "etc/conf", Content: "root=" + placeholder + "\nlib=" + placeholder + "/lib\n", Placeholder: placeholder},
				{Path: "lib/own", Content: "wants a copy", NoLink: true},
				{Path: "var/empty", Dir: true},
				{Path: "bin/.lib-post-link.sh", Content: "#!/bin/sh\n", Exec: true},
			},
		},
	}
}

// TestExecute checks each path of a prefix: content, mode, time, inode.
func TestExecute(t *testing.T) {
	s := newStore(t)
	pkgs := build(t, s, sample()...)
	for _, p := range pkgs {
		// The archive's bytes depend on the compressor; the golden digest must not.
		p.Lock.SHA256, p.Lock.Size = strings.Repeat("0", 64), 1
	}
	root, plan, res := execute(t, s, testPrefix, pkgs, 4)
	site := "lib/python3.11/site-packages/"
	script := func(module, imported, call, first string) string {
		return first + "\n# -*- coding: utf-8 -*-\nimport re\nimport sys\n\nfrom " + module + " import " + imported +
			"\n\nif __name__ == '__main__':\n\tsys.argv[0] = re.sub(r'(-script\\.pyw?|\\.exe)?$', '', sys.argv[0])\n\tsys.exit(" + call + "())\n"
	}
	py := "#!" + testPrefix + "/bin/python3.11"
	want := map[string]string{
		"bin/python3.11":         "\x7fELF" + testPrefix + strings.Repeat("\x00", 240-len(testPrefix)) + "\x00end",
		"bin/python":             "→ python3.11",
		"lib/python3.11/os.py":   "import sys\n",
		site + "pip/__init__.py": "version = 1\n",
		site + "pip/empty.py":    "", "lib/python3.11/empty.py": "",
		"bin/pip-script":        "#!" + testPrefix + "/bin/python -s\nprint()\n",
		"bin/pip":               script("pip._internal.cli.main", "main", "main", py),
		"bin/pip-x":             script("pip.x", "App", "App.run", py),
		"share/pip/doc.txt":     "read me\n",
		"lib/libx.so.1":         "\x7fELF shared library",
		"lib/libx-copy.so.1":    "\x7fELF shared library",
		"lib/libx.so":           "→ libx.so.1",
		"lib/text1":             "equal text",
		"lib/text2":             "equal text",
		"lib/outside":           "→ /etc/hostname",
		"lib/dangling":          "→ ../../nowhere",
		"bin/tool":              "\x7fELF\x00" + testPrefix + "/share:" + testPrefix + "/lib" + strings.Repeat("\x00", 2*(len(placeholder)-len(testPrefix))) + "\x00tail\x00",
		"etc/conf":              "root=" + testPrefix + "\nlib=" + testPrefix + "/lib\n",
		"lib/own":               "wants a copy",
		"bin/.lib-post-link.sh": "#!/bin/sh\n",
	}
	if d := cmp.Diff(want, tree(t, root)); d != "" {
		t.Error(d)
	}
	for _, d := range []string{"var/empty", "include"} {
		if st, err := os.Stat(filepath.Join(root, d)); err != nil || !st.IsDir() {
			t.Errorf("directory %s: %v", d, err)
		}
	}
	if d := cmp.Diff([]string{"lib-1.2-h_3: bin/.lib-post-link.sh"}, plan.SkippedScripts); d != "" {
		t.Error(d)
	}
	checkInodes(t, root, s, res)
	checkMarkers(t, root)
	if got, err := materialize.TreeDigest(root); err != nil || got != res.TreeDigest {
		t.Errorf("TreeDigest is %s, %v; Execute says %s", got, err, res.TreeDigest)
	}
	if res.TreeDigest != goldenTree {
		t.Errorf("the bytes of a prefix changed: tree digest %s, was %s; raise LinkerVersion if that is meant", res.TreeDigest, goldenTree)
	}
}

// goldenTree is the digest of the sample's tree under LinkerVersions 3 and 4 (without byte-code).
const goldenTree = "ad3321df993f9b0d28d338d9306ea20a3fa9fcd241daf905654e3528fcc07b5f"

// checkInodes: what may be shared with the pool is, what must not be is not;
// modes and times are fixed.
func checkInodes(t *testing.T, root string, s *cache.Store, res *materialize.Result) {
	t.Helper()
	inode := func(p string) uint64 {
		st, err := os.Lstat(filepath.Join(root, p))
		if err != nil {
			t.Fatal(err)
		}
		return st.Sys().(*syscall.Stat_t).Ino
	}
	if inode("lib/text1") != inode("lib/text2") {
		t.Error("equal text has two inodes")
	}
	if inode("lib/libx.so.1") == inode("lib/libx-copy.so.1") {
		t.Error("two libraries share an inode: the loader takes them for one")
	}
	pooled := make(map[uint64]bool)
	err := filepath.WalkDir(filepath.Join(s.Root(), "pool/files"), func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			st, err := d.Info()
			if err != nil {
				return err
			}
			pooled[st.Sys().(*syscall.Stat_t).Ino] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"lib/own", "etc/conf", "bin/tool", "bin/pip", "conda-meta/history", "lib/python3.11/empty.py"} {
		if pooled[inode(p)] {
			t.Errorf("%s shares an inode with the pool", p)
		}
	}
	// Empty files have an inode of the tree's own, all the same.
	linked, files, seen := 0, 0, make(map[uint64]bool)
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		if !d.IsDir() && !st.ModTime().Equal(cache.FileTime) {
			t.Errorf("%s is of %v", p, st.ModTime())
		}
		if d.Type().IsRegular() {
			files++
			ino := st.Sys().(*syscall.Stat_t).Ino
			if pooled[ino] || seen[ino] {
				linked++
			}
			seen[ino] = true
		}
		if m := st.Mode().Perm(); d.Type() != fs.ModeSymlink && m != 0o755 && m != 0o644 && m != 0o444 && m != 0o555 {
			t.Errorf("%s has mode %v", p, m)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if linked != res.Linked || files != res.Files || linked < 7 {
		t.Errorf("%d of %d files share inodes, Execute says %d of %d", linked, files, res.Linked, res.Files)
	}
}

// checkMarkers: records and notices.
func checkMarkers(t *testing.T, root string) {
	t.Helper()
	read := func(p string) []byte {
		data, err := os.ReadFile(filepath.Join(root, p))
		if err != nil {
			t.Fatal(err)
		}
		if st, err := os.Stat(filepath.Join(root, p)); err != nil || st.Mode().Perm() != 0o644 {
			t.Errorf("%s: mode %v, %v", p, st.Mode(), err)
		}
		return data
	}
	if data := read("conda-meta/history"); len(data) > 0 {
		t.Errorf("history: %q", data)
	}
	var frozen struct{ Message string }
	if err := json.Unmarshal(read("conda-meta/frozen"), &frozen); err != nil || !strings.Contains(frozen.Message, "hpcenv prepare") {
		t.Errorf("frozen: %+v, %v", frozen, err)
	}
	managed := string(read("lib/python3.11/EXTERNALLY-MANAGED"))
	if !strings.HasPrefix(managed, "[externally-managed]\nError=") || !strings.Contains(managed, "pixi add --no-install") || !strings.Contains(managed, "venv") {
		t.Errorf("EXTERNALLY-MANAGED: %s", managed)
	}
	type path struct {
		Path   string `json:"_path"`
		Type   string `json:"path_type"`
		SHA    string `json:"sha256"`
		SHAIn  string `json:"sha256_in_prefix"`
		Size   *int64 `json:"size_in_bytes"`
		Holder string `json:"prefix_placeholder"`
		Mode   string `json:"file_mode"`
		NoLink bool   `json:"no_link"`
	}
	var rec struct {
		Name, Version, Build, Fn, URL, Channel, SHA256 string
		Files                                          []string
		Link                                           struct{ Type int }
		Data                                           struct {
			Version int `json:"paths_version"`
			Paths   []path
		} `json:"paths_data"`
	}
	load := func(p string) {
		if err := json.Unmarshal(read(p), &rec); err != nil {
			t.Fatal(err)
		}
	}
	load("conda-meta/lib-1.2-h_3.json")
	if rec.Name != "lib" || rec.Version != "1.2" || rec.Build != "h_3" || rec.Link.Type != 1 || rec.Data.Version != 1 ||
		rec.URL != "https://conda.example/main/linux-64/"+rec.Fn || rec.Channel != "https://conda.example/main" {
		t.Errorf("record: %+v", rec)
	}
	if len(rec.Files) != 11 || len(rec.Data.Paths) != 12 {
		t.Errorf("record has %d files and %d paths", len(rec.Files), len(rec.Data.Paths))
	}
	for _, p := range rec.Data.Paths {
		data, err := os.ReadFile(filepath.Join(root, p.Path))
		switch p.Path {
		case "var/empty":
			if p.Type != "directory" || p.SHA+p.SHAIn != "" {
				t.Errorf("%+v", p)
			}
			continue
		case "lib/libx.so", "lib/outside", "lib/dangling":
			text, err := os.Readlink(filepath.Join(root, p.Path))
			if p.Type != "softlink" || p.SHA != sum(nil) || p.SHAIn != sum([]byte(text)) || err != nil {
				t.Errorf("%+v, %v", p, err)
			}
			continue
		case "bin/tool", "etc/conf":
			if p.SHAIn != sum(data) || p.SHA == "" || p.SHA == p.SHAIn || p.Holder != placeholder || (p.Mode == "binary") != (p.Path == "bin/tool") {
				t.Errorf("%+v", p)
			}
		default:
			if p.SHA != sum(data) || p.SHAIn != "" || p.NoLink != (p.Path == "lib/own") {
				t.Errorf("%+v", p)
			}
		}
		if err != nil || p.Size == nil || *p.Size != int64(len(data)) {
			t.Errorf("%s: size %v, %v", p.Path, p.Size, err)
		}
	}
	load("conda-meta/pip-24.0-py_0.json")
	points := 0
	for _, p := range rec.Data.Paths {
		if p.Type == "unix_python_entry_point" {
			points++
		}
		if strings.HasPrefix(p.Path, "site-packages/") {
			t.Errorf("%s is recorded where it is not", p.Path)
		}
	}
	if points != 2 {
		t.Errorf("%d entry points are recorded", points)
	}
	if everything := string(read("conda-meta/pip-24.0-py_0.json")); strings.Contains(everything, root) {
		t.Error("the record holds the staging path")
	}
}

// TestDeterministic: workers, umask, time zone and the order of packages do not
// matter.
func TestDeterministic(t *testing.T) {
	s := newStore(t)
	pkgs := build(t, s, sample()...)
	var many condatest.Package
	many.Name, many.Version, many.Build = "many", "1", "0"
	for i := range 300 {
		name := strings.Repeat("d/", i%7) + "f" + string(rune('a'+i%26)) + strings.Repeat("x", i/26)
		many.Files = append(many.Files, condatest.File{Path: "share/many" + string(rune('0'+i%7)) + "/" + name, Content: name[:i%2+1]})
	}
	pkgs = append(pkgs, build(t, s, many)...)
	_, _, first := execute(t, s, testPrefix, pkgs, 1)
	defer syscall.Umask(syscall.Umask(0o022))
	for i, umask := range []int{0, 0o077, 0o777, 0o002} {
		syscall.Umask(umask)
		rand.Shuffle(len(pkgs), func(i, j int) { pkgs[i], pkgs[j] = pkgs[j], pkgs[i] })
		root, _, res := execute(t, s, testPrefix, pkgs, []int{32, 2, 32, 7}[i])
		if *res != *first {
			t.Errorf("umask %o: %+v, first was %+v", umask, res, first)
		}
		if got, err := materialize.TreeDigest(root); err != nil || got != first.TreeDigest {
			t.Errorf("umask %o: tree digest %s, %v", umask, got, err)
		}
		for _, p := range []string{"conda-meta/history", "etc/conf"} {
			if st, err := os.Stat(filepath.Join(root, p)); err != nil || st.Mode().Perm() != 0o644 {
				t.Errorf("umask %o: %s has mode %v, %v", umask, p, st.Mode(), err)
			}
		}
	}
}

// TestExecuteFails: a pool that lost or changed content is named, and a cancelled
// context ends the work.
func TestExecuteFails(t *testing.T) {
	s := newStore(t)
	pkgs := build(t, s, sample()...)
	plan, err := materialize.NewPlan(testPrefix, testPlatform, pkgs, noScripts)
	if err != nil {
		t.Fatal(err)
	}
	run := func(ctx context.Context) error {
		staging, err := s.TempDir("test")
		if err != nil {
			t.Fatal(err)
		}
		_, err = plan.Execute(ctx, s, staging, 4, nil)
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	var conf cache.Entry
	for _, p := range pkgs {
		for _, e := range p.Manifest.Entries {
			if e.Path == "etc/conf" {
				conf = e
			}
		}
	}
	pool := s.PoolPath(conf.SHA256, conf.Exec)
	if err := os.Remove(pool); err != nil {
		t.Fatal(err)
	}
	if err := run(context.Background()); !errors.Is(err, cache.ErrNotFound) || !strings.Contains(err.Error(), "lib-1.2-h_3") || !strings.Contains(err.Error(), "etc/conf") {
		t.Errorf("lost content: %v", err)
	}
	if err := os.WriteFile(pool, []byte("something else"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(context.Background()); !errors.Is(err, cache.ErrIntegrity) || !strings.Contains(err.Error(), "etc/conf") {
		t.Errorf("changed content: %v", err)
	}
}

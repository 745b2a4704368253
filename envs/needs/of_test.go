package needs

import (
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/cache"
	hpcelf "github.com/hpcenv/hpcenv/envs/elf"
	"github.com/hpcenv/hpcenv/envs/requirement"
	"github.com/hpcenv/hpcenv/internal/condatest"
	"github.com/hpcenv/hpcenv/internal/elftest"
)

const prefix = "/opt/e/0123456789abcdef0123456789abcdef"

// world is a store and a prefix of some packages.
type world struct {
	t     *testing.T
	store *cache.Store
	root  string
	files []File
}

func newWorld(t *testing.T) *world {
	t.Helper()
	store, err := cache.Create(filepath.Join(t.TempDir(), "s"), cache.Format{Platforms: []string{"linux-64"}, PrefixRoot: "/opt/e", OwnerUID: os.Geteuid()})
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, store: store, root: t.TempDir()}
}

// take brings a package of files (contents by path; "-> x" is a link) into the store and
// the prefix. changed are contents that some files have in the prefix instead.
func (w *world) take(name string, files, changed map[string]string) *Package {
	w.t.Helper()
	p := condatest.Package{Name: name, Version: "1", Build: "0"}
	for at, content := range files {
		f := condatest.File{Path: at, Content: content}
		if to, is := strings.CutPrefix(content, "-> "); is {
			f = condatest.File{Path: at, Link: to}
		}
		p.Files = append(p.Files, f)
	}
	slices.SortFunc(p.Files, func(a, b condatest.File) int { return strings.Compare(a.Path, b.Path) })
	data := p.Conda(w.t)
	sum := sha256.Sum256(data)
	archive := filepath.Join(w.t.TempDir(), "a.conda")
	if err := os.WriteFile(archive, data, 0o644); err != nil {
		w.t.Fatal(err)
	}
	m, err := w.store.Ingest(context.Background(), archive, cache.Source{Name: name, SHA256: hex.EncodeToString(sum[:]), Format: cache.FormatConda},
		func(raw *cache.Raw) (out []cache.Entry, meta json.RawMessage, notes []string, err error) {
			for _, e := range raw.Entries {
				if !strings.HasPrefix(e.Path, "info/") {
					out = append(out, e)
				}
			}
			return out, json.RawMessage("{}"), nil, nil
		})
	if err != nil {
		w.t.Fatal(err)
	}
	of := NewPackage(name+" 1", m)
	for _, e := range m.Entries {
		at := filepath.Join(w.root, e.Path)
		if e.Type == cache.EntryDir {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			w.t.Fatal(err)
		}
		f := File{Path: e.Path, Package: of, Content: e.SHA256, Link: e.Target}
		if e.Type == cache.EntryLink {
			f.Content = ""
			err = os.Symlink(e.Target, at)
		} else {
			content := files[e.Path]
			if other, is := changed[e.Path]; is {
				f.Changed, content = true, other
			}
			err = os.WriteFile(at, []byte(content), 0o644)
		}
		if err != nil {
			w.t.Fatal(err)
		}
		w.files = append(w.files, f)
	}
	slices.SortFunc(w.files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return of
}

func (w *world) input() *Input {
	return &Input{Store: w.store, Root: w.root, Prefix: prefix, Subdir: "linux-64", Files: w.files}
}

func (w *world) of(in *Input) *Needs {
	w.t.Helper()
	n, err := Of(context.Background(), in)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

func bin(s elftest.Spec) string { return string(s.Make()) }

func versions(library string, names ...string) []elftest.Need {
	return []elftest.Need{{Library: library, Names: names}}
}

// big has pages of 64 KiB.
func big(s elftest.Spec) string {
	s.Align = 65536
	return bin(s)
}

// rich is a world in which everything occurs.
func rich(t *testing.T) *world {
	w := newWorld(t)
	w.take("python", map[string]string{
		"bin/python": "-> python3.12", "bin/script": "#!/bin/sh\n",
		"bin/python3.12":          big(elftest.Spec{Kind: elf.ET_EXEC, Interp: "/lib64/ld-linux-x86-64.so.2", RPath: "$ORIGIN/../lib", Needed: []string{"libz.so.1", "libc.so.6"}, Needs: versions("libc.so.6", "GLIBC_2.17")}),
		"lib/libz.so.1":           "-> libz.so.1.3",
		"lib/libz.so.1.3":         big(elftest.Spec{SOName: "libz.so.1", Needed: []string{"libc.so.6"}}),
		"lib/libz.so":             "-> libz.so.1",
		"lib/libunused.so.9":      big(elftest.Spec{SOName: "libunused.so.9", Needed: []string{"libnode.so.1"}}),
		"lib/pkgconfig/z.pc":      "text",
		"x/sysroot/lib/libc.so.6": bin(elftest.Spec{SOName: "libc.so.6", Defines: []string{"GLIBC_2.99"}, Needs: versions("libc.so.6", "GLIBC_2.98")}),
	}, nil)
	w.take("ucx", map[string]string{
		"lib/libucp.so.0":          big(elftest.Spec{SOName: "libucp.so.0", RunPath: "$ORIGIN", Needed: []string{"libuct.so.0"}}),
		"lib/libuct.so.0":          big(elftest.Spec{SOName: "libuct.so.0", Needed: []string{"libc.so.6"}, Needs: versions("libc.so.6", "GLIBC_2.28")}),
		"lib/ucx/libuct_ib.so.0.0": big(elftest.Spec{RunPath: "$ORIGIN/..:" + prefix + "/opt/late:$ORIGIN/none", Needed: []string{"libuct.so.0", "libibverbs.so.1", "liblate.so"}, Needs: versions("libibverbs.so.1", "IBVERBS_1.1", "IBVERBS_1.14")}),
		"lib/ucx/libuct_ib.so.0":   "-> libuct_ib.so.0.0",
		"opt/late/liblate.so":      big(elftest.Spec{SOName: "liblate.so", Needed: []string{"libonlylate.so.2"}}),
		"other/libucp.so.0":        big(elftest.Spec{SOName: "libucp.so.0", RunPath: "x"}),
	}, nil)
	w.take("mix", map[string]string{
		"lib/libnew.so":    big(elftest.Spec{SOName: "libnew.so", Needed: []string{"libc.so.6", "libstdc++.so.6"}, Needs: append(versions("libc.so.6", "GLIBC_2.34"), versions("libstdc++.so.6", "GLIBCXX_3.4.32", "CXXABI_1.3.9")...)}),
		"lib/libnarrow.so": bin(elftest.Spec{SOName: "libnarrow.so"}),
		"lib/libarm.so":    bin(elftest.Spec{Machine: elf.EM_AARCH64, SOName: "libarm.so"}),
		"lib/libcut.so":    big(elftest.Spec{SOName: "libcut.so"})[:100],
		"share/data.bin":   big(elftest.Spec{SOName: "unnamed"}),
	}, nil)
	return w
}

func TestOf(t *testing.T) {
	w := rich(t)
	n := w.of(w.input())
	same := func(what string, got, want any) {
		t.Helper()
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
	}
	same("requirements", n.Requirements, []requirement.Requirement{{Spec: "__glibc >=2.34", Source: requirement.Files, Packages: []string{"mix 1"}, File: "lib/libnew.so"}})
	same("page", n.Page, &Page{Size: 4096, File: "lib/libnarrow.so", Package: "mix 1"})
	same("libraries", n.Libraries, []Library{
		{Name: "libc.so.6", Version: "GLIBC_2.34", File: "bin/python3.12", Files: 4, Package: "python 1"},
		{Name: "libibverbs.so.1", Version: "IBVERBS_1.14", File: "lib/ucx/libuct_ib.so.0.0", Files: 1, Package: "ucx 1", Module: true},
		{Name: "libnode.so.1", File: "lib/libunused.so.9", Files: 1, Package: "python 1"},
		{Name: "libonlylate.so.2", File: "opt/late/liblate.so", Files: 1, Package: "ucx 1", Module: true},
		{Name: "libstdc++.so.6", Version: "GLIBCXX_3.4.32", File: "lib/libnew.so", Files: 1, Package: "mix 1"},
	})
	same("runtime", n.Runtime, []Runtime{{"CXXABI_1.3.9", "lib/libnew.so", "mix 1"}, {"GLIBCXX_3.4.32", "lib/libnew.so", "mix 1"}})
	same("copies", n.Copies, []hpcelf.Copies{{Library: "libucp", Files: []string{"lib/libucp.so.0", "other/libucp.so.0"}}})
	same("foreign", n.Foreign, []hpcelf.Foreign{{File: "lib/libarm.so", Machine: "aarch64"}})
	if len(n.Broken) != 1 || n.Broken[0].File != "lib/libcut.so" || strings.Contains(n.Broken[0].Problem, w.store.Root()) {
		t.Errorf("broken: %+v", n.Broken)
	}
	same("modules", n.Modules, []Module{{hpcelf.Module{Of: "UCX", Path: "lib/ucx/libuct_ib.so.0.0", Links: []string{"lib/ucx/libuct_ib.so.0"}}, "ucx 1"}})
	p := n.Prefix
	same("program", p.Program, "bin/python3.12")
	same("links", p.Links, map[string]string{"bin/python": "python3.12", "lib/libz.so.1": "libz.so.1.3", "lib/ucx/libuct_ib.so.0": "libuct_ib.so.0.0"})
	var objects []string
	for at := range p.Objects {
		objects = append(objects, at)
	}
	slices.Sort(objects)
	same("objects", objects, []string{"bin/python3.12", "lib/libuct.so.0", "lib/libz.so.1.3", "lib/ucx/libuct_ib.so.0.0", "opt/late/liblate.so"})
	same("a directory that is not there", p.Dirs["lib/ucx/none"], []string{})
	same("names", p.Dirs["lib"], []string{"libarm.so", "libcut.so", "libnarrow.so", "libnew.so", "libucp.so.0", "libuct.so.0", "libunused.so.9", "libz.so", "libz.so.1", "libz.so.1.3"})
}

// TestOfIsTheSame: what is known of the plan, of packages that an earlier release took
// in, or from the tree alone, gives the same but for the packages; and so does a second
// time, from the kept facts. One file is kept for each package that has ELF files.
func TestOfIsTheSame(t *testing.T) {
	w := rich(t)
	w.take("text", map[string]string{"share/text": "no library"}, nil)
	encode := func(in *Input) string {
		t.Helper()
		data, err := w.of(in).Encode()
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	want := encode(w.input())
	kept, err := filepath.Glob(filepath.Join(w.store.Root(), "pool", "elf", "*", "*"))
	if err != nil || len(kept) != 3 {
		t.Errorf("kept: %v, %v", kept, err)
	}
	if got := encode(w.input()); got != want {
		t.Errorf("the second time:\n%s", cmp.Diff(want, got))
	}
	some := w.input()
	some.Files = slices.DeleteFunc(slices.Clone(some.Files), func(f File) bool { return !f.Matters() })
	if len(some.Files) >= len(w.files) {
		t.Error("all files matter")
	}
	if got := encode(some); got != want {
		t.Errorf("files that matter:\n%s", cmp.Diff(want, got))
	}
	// A power cut, and somebody else's file.
	for i, damage := range []string{"", "x\t0\n"} {
		if err := os.Chmod(kept[i], 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(kept[i], []byte(damage), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := encode(w.input()); got != want {
		t.Errorf("after damage:\n%s", cmp.Diff(want, got))
	}
	old := w.input()
	packages := map[*Package]*Package{}
	old.Files = slices.Clone(old.Files)
	for i := range old.Files {
		p := old.Files[i].Package
		if packages[p] == nil {
			m := *p.Manifest
			m.ELF = nil
			packages[p] = NewPackage(p.Name, &m)
		}
		old.Files[i].Package = packages[p]
	}
	for _, k := range kept {
		if err := os.Remove(k); err != nil {
			t.Fatal(err)
		}
	}
	if got := encode(old); got != want {
		t.Errorf("packages of an earlier release:\n%s", cmp.Diff(want, got))
	}
	touched := w.input()
	touched.Touched = true
	if got := encode(touched); got != want {
		t.Errorf("a prefix in which code ran:\n%s", cmp.Diff(want, got))
	}
	alone := w.input()
	alone.Files = nil
	var n Needs
	_, all, _ := strings.Cut(encode(alone), "\n")
	if err := json.Unmarshal([]byte(all), &n); err != nil {
		t.Fatal(err)
	}
	if n.Requirements[0].Spec != "__glibc >=2.34" || n.Requirements[0].Packages != nil || len(n.Prefix.Objects) != 5 {
		t.Errorf("the tree alone: %+v", n.Requirements)
	}
	// Without the pool's files the prefix has them.
	if err := os.RemoveAll(filepath.Join(w.store.Root(), "pool", "files")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(w.store.Root(), "pool", "elf")); err != nil {
		t.Fatal(err)
	}
	if got := encode(w.input()); got != want {
		t.Errorf("without the pool:\n%s", cmp.Diff(want, got))
	}
}

// TestChangedFilesAreRead: what was replaced in a file counts, not what the package has.
func TestChangedFilesAreRead(t *testing.T) {
	w := newWorld(t)
	lib := func(runpath string) string {
		return bin(elftest.Spec{SOName: "libm.so", RunPath: runpath, Needed: []string{"libx.so"}})
	}
	w.take("m", map[string]string{"lib/ucx/libm.so": lib("/placeholder/opt"), "opt/libx.so": bin(elftest.Spec{SOName: "libx.so"})},
		map[string]string{"lib/ucx/libm.so": lib(prefix + "/opt")})
	n := w.of(w.input())
	if got := n.Prefix.Objects["lib/ucx/libm.so"]; got == nil || got.RunPath != prefix+"/opt" || n.Prefix.Objects["opt/libx.so"] == nil || n.Prefix.Program != "" {
		t.Errorf("%+v", n.Prefix)
	}
}

// TestFactsOfContents: facts are by content, not by path, and a package's are those of
// all its files, whichever the prefix has.
func TestFactsOfContents(t *testing.T) {
	w := newWorld(t)
	content := bin(elftest.Spec{SOName: "liba.so", Needs: versions("libc.so.6", "GLIBC_2.30")})
	p := w.take("twice", map[string]string{"lib/liba.so": content, "lib/b/liba.so": content, "lib/libc.so": bin(elftest.Spec{})}, nil)
	facts, err := factsOfOne(w.store, p.Manifest)
	if err != nil || len(facts) != 2 {
		t.Fatalf("%v, %v", facts, err)
	}
	encoded, ok := encodeFacts(p.Manifest.SHA256, facts)
	if !ok {
		t.Fatal("it cannot be kept")
	}
	data := string(encoded)
	if again := decodeFacts(data, p.Manifest.SHA256); !cmp.Equal(facts, again) {
		t.Errorf("%v", cmp.Diff(facts, again))
	}
	for i := range data { // every cut shows
		if decodeFacts(data[:i], p.Manifest.SHA256) != nil {
			t.Errorf("%d of %d bytes are taken", i, len(data))
		}
	}
}

// TestEveryFactIsKept: a field of the facts that a line does not have shows here; what a
// line cannot hold is not kept.
func TestEveryFactIsKept(t *testing.T) {
	var f hpcelf.Facts
	v := reflect.ValueOf(&f).Elem()
	for i := range v.NumField() {
		switch field := v.Field(i); field.Kind() {
		case reflect.String:
			field.SetString(fmt.Sprintf("a b|!%d", i))
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Int:
			field.SetInt(int64(i))
		case reflect.Uint8, reflect.Uint64:
			field.SetUint(uint64(i))
		case reflect.Slice:
			if field.Type() == reflect.TypeFor[[]string]() {
				field.Set(reflect.ValueOf([]string{fmt.Sprint("x", i), "y"}))
				continue
			}
			field.Set(reflect.ValueOf([]hpcelf.Need{{Library: "l"}, {Library: "m", Versions: []hpcelf.Version{{Name: "v"}, {Name: "w", Weak: true}}}}))
		default:
			t.Fatalf("a field of kind %v", field.Kind())
		}
	}
	for i := range v.NumField() { // each marks by itself
		one := f
		if field := reflect.ValueOf(&one).Elem().Field(i); field.Kind() == reflect.Bool {
			field.SetBool(false)
		}
		all := map[string]fact{"c": {Content: "c", Facts: &one}, "d": {Content: "d", Problem: "what is wrong"}}
		data, ok := encodeFacts("p", all)
		if !ok {
			t.Fatal("it is not kept")
		}
		if d := cmp.Diff(all, decodeFacts(string(data), "p")); d != "" {
			t.Error(d)
		}
	}
	for name, odd := range map[string]hpcelf.Facts{
		"blank": {Needed: []string{"lib x.so"}}, "tab": {SOName: "a\tb"}, "line": {RPath: "a\nb"}, "bar": {Needs: []hpcelf.Need{{Library: "a|b"}}},
		"weak": {Needs: []hpcelf.Need{{Library: "a", Versions: []hpcelf.Version{{Name: "!b"}}}}}, "none": {Defines: []string{""}},
	} {
		if _, ok := encodeFacts("p", map[string]fact{"c": {Content: "c", Facts: &odd}}); ok {
			t.Errorf("%s is kept", name)
		}
	}
	if _, ok := encodeFacts("p", map[string]fact{"c": {Content: "c", Facts: &hpcelf.Facts{SOName: "lib\xff.so"}}}); !ok {
		t.Error("names that are no UTF-8 are not kept")
	}
}

// TestPrefixHasWhatALoaderMeets: for random prefixes, a search through the real
// directories by each object's own path ends at files that Prefix has.
func TestPrefixHasWhatALoaderMeets(t *testing.T) {
	for seed := range 40 {
		w := newWorld(t)
		files := map[string]string{}
		dir := func(i int) string { return []string{"lib", "lib/ucx", "opt/a", "opt/a/b", "opt/link"}[i%5] }
		for i := range 12 {
			at := fmt.Sprintf("%s/lib%d.so", dir((seed+i*7)%4), i)
			var needed []string
			for j := 1; j < 4; j++ {
				needed = append(needed, fmt.Sprintf("lib%d.so", (i*3+j*seed+j)%14))
			}
			up := strings.Repeat("../", strings.Count(at, "/"))
			s := elftest.Spec{Needed: needed, Flags1: 0}
			path := "$ORIGIN/" + up + dir(i+seed) + ":${ORIGIN}/" + up + "nowhere:" + prefix + "/" + dir(i*seed)
			if i%2 == 0 {
				s.RunPath = path
			} else {
				s.RPath = path
			}
			files[at] = bin(s)
		}
		files["opt/link"] = "-> a/b"
		w.take("p", files, nil)
		n := w.of(w.input())
		var walk func(at, origin string, rpaths []string, seen map[string]bool)
		walk = func(at, origin string, rpaths []string, seen map[string]bool) {
			real, err := filepath.EvalSymlinks(filepath.Join(w.root, at))
			if err != nil {
				t.Fatal(err)
			}
			rel, err := filepath.Rel(w.root, real)
			if err != nil {
				t.Fatal(err)
			}
			if seen[origin+" "+rel] {
				return
			}
			seen[origin+" "+rel] = true
			facts := n.Prefix.Objects[rel]
			if facts == nil {
				t.Fatalf("seed %d: %s (%s) is met and not there", seed, rel, at)
			}
			dirs := append([]string{facts.RPath}, rpaths...)
			if facts.HasRunPath {
				dirs = []string{facts.RunPath}
			} else {
				rpaths = dirs
			}
			for _, name := range facts.Needed {
				for _, item := range strings.Split(strings.Join(dirs, ":"), ":") {
					d, own := strings.CutPrefix(strings.ReplaceAll(item, "${ORIGIN}", "$ORIGIN"), "$ORIGIN/")
					if own {
						d = origin + "/" + d
					} else {
						d = strings.TrimPrefix(item, prefix+"/")
					}
					if _, err := os.Stat(filepath.Join(w.root, d) + "/" + name); err == nil {
						walk(d+"/"+name, path.Clean(d), rpaths, seen)
						break
					}
				}
			}
		}
		for _, m := range n.Modules {
			walk(m.Path, path.Dir(m.Path), nil, map[string]bool{})
		}
		for d, names := range n.Prefix.Dirs {
			entries, err := os.ReadDir(filepath.Join(w.root, d))
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			var want []string
			for _, e := range entries {
				if !e.IsDir() && strings.Contains(e.Name(), ".so") {
					want = append(want, e.Name())
				}
			}
			if !slices.Equal(names, want) {
				t.Errorf("seed %d: %s has %v, not %v", seed, d, want, names)
			}
		}
	}
}

// TestErrors: a store that cannot be written is an error of its class.
func TestErrors(t *testing.T) {
	w := rich(t)
	if err := os.RemoveAll(filepath.Join(w.store.Root(), "tmp")); err != nil {
		t.Fatal(err)
	}
	if _, err := Of(context.Background(), w.input()); !errors.Is(err, cache.ErrStore) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Of(ctx, w.input()); err == nil {
		t.Error("a context that ended")
	}
}

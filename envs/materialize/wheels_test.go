package materialize_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/envs/wheel"
	"github.com/hpcenv/hpcenv/internal/condatest"
	"github.com/hpcenv/hpcenv/internal/wheeltest"
)

const siteDir = "lib/python3.11/site-packages/"

// wheelPackage takes a wheel into the store and locks it, as if from an index.
func wheelPackage(t testing.TB, s *cache.Store, w wheeltest.Wheel) materialize.Package {
	t.Helper()
	path, sum := w.Write(t, t.TempDir())
	m, err := s.Ingest(context.Background(), path, cache.Source{Name: w.FileName(), URL: "file://" + path, SHA256: sum, Format: cache.FormatWheel}, wheel.Interpret)
	if err != nil {
		t.Fatal(err)
	}
	url := "https://pypi.example/" + w.FileName()
	return materialize.Package{Manifest: m, Wheel: &lockfile.PyPIPackage{
		Kind: lockfile.PyPIWheel, Name: w.Name, Version: w.Version, FileName: w.FileName(), SHA256: sum, Location: url, URL: url,
	}}
}

func simpleWheel(name string, files ...wheeltest.File) wheeltest.Wheel {
	return wheeltest.Wheel{Name: name, Version: "1", Files: files}
}

// TestWheelsComeAfterCondaPackages: what both have is the wheel's and is reported
// with both owners; what is equal is nobody's conflict; records of conda packages
// hold what is theirs, and wheels have none in conda-meta.
func TestWheelsComeAfterCondaPackages(t *testing.T) {
	s := newStore(t)
	pkgs := build(t, s, python(), condatest.Package{Name: "conda-half", Version: "1", Build: "0", Noarch: "python", Depends: []string{"python"},
		EntryPoints: []string{"tool = half:main"}, Files: []condatest.File{
			{Path: "site-packages/half/__init__.py", Content: "conda\n"}, {Path: "site-packages/half/same.py", Content: "same\n"},
			{Path: "site-packages/half/conda.py", Content: "conda\n"},
		}})
	half := wheelPackage(t, s, wheeltest.Wheel{Name: "half", Version: "2", Files: []wheeltest.File{
		{Path: "half/__init__.py", Content: "wheel\n"}, {Path: "half/same.py", Content: "same\n"}, {Path: "half/wheel.py", Content: "wheel\n"},
	}, Info: map[string][]byte{"entry_points.txt": []byte("[console_scripts]\ntool = half:main\n")}})
	another := wheelPackage(t, s, simpleWheel("another", wheeltest.File{Path: "half/wheel.py", Content: "another\n"}))
	var digest string
	for _, order := range [][]materialize.Package{
		{pkgs[0], pkgs[1], half, another}, {another, half, pkgs[1], pkgs[0]}, {half, pkgs[0], another, pkgs[1]},
	} {
		root, plan, res := execute(t, s, testPrefix, order, 3)
		if digest != "" && digest != res.TreeDigest {
			t.Error("the order of packages matters")
		}
		digest = res.TreeDigest
		got := tree(t, root)
		for path, want := range map[string]string{"half/__init__.py": "wheel\n", "half/same.py": "same\n", "half/conda.py": "conda\n", "half/wheel.py": "another\n"} {
			if got[siteDir+path] != want {
				t.Errorf("%s is %q, want %q", path, got[siteDir+path], want)
			}
		}
		if !strings.Contains(got["bin/tool"], `if __name__ == "__main__"`) {
			t.Errorf("bin/tool is not the wheel's: %s", got["bin/tool"])
		}
		conflicts := []materialize.Conflict{
			{Path: "bin/tool", Winner: "half-2-py3-none-any.whl", Losers: []string{"conda-half-1-0"}},
			{Path: siteDir + "half/__init__.py", Winner: "half-2-py3-none-any.whl", Losers: []string{"conda-half-1-0"}},
			{Path: siteDir + "half/wheel.py", Winner: "another-1-py3-none-any.whl", Losers: []string{"half-2-py3-none-any.whl"}},
		}
		if d := cmp.Diff(conflicts, plan.Conflicts); d != "" {
			t.Error(d)
		}
		records, err := filepath.Glob(filepath.Join(root, "conda-meta", "*.json"))
		if err != nil || len(records) != 2 {
			t.Errorf("records %v, %v", records, err)
		}
		record, err := os.ReadFile(filepath.Join(root, "conda-meta", "conda-half-1-0.json"))
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]bool{siteDir + "half/__init__.py": false, "bin/tool": false, siteDir + "half/same.py": true, siteDir + "half/conda.py": true} {
			if strings.Contains(string(record), `"`+path+`"`) != want {
				t.Errorf("the record lists %s: %v", path, !want)
			}
		}
	}
}

// TestWheelsDoNotTouchConda: without overlap, all of a conda environment is the same
// with wheels in it.
func TestWheelsDoNotTouchConda(t *testing.T) {
	s := newStore(t)
	pkgs := build(t, s, python())
	plain, _, _ := execute(t, s, testPrefix, pkgs, 2)
	with, _, _ := execute(t, s, testPrefix, append(pkgs, wheelPackage(t, s, simpleWheel("w", wheeltest.File{Path: "w.py", Content: "w"}))), 2)
	for _, p := range []string{"conda-meta/python-3.11.4-h_0.json", "conda-meta/history", "conda-meta/frozen", "bin/python3.11"} {
		a, errA := os.ReadFile(filepath.Join(plain, p))
		b, errB := os.ReadFile(filepath.Join(with, p))
		if errA != nil || errB != nil || string(a) != string(b) {
			t.Errorf("%s differs (%v, %v)", p, errA, errB)
		}
	}
}

// TestDirectURL: direct_url.json is there for what was named by URL or path, and
// says where, without credentials.
func TestDirectURL(t *testing.T) {
	s := newStore(t)
	py := build(t, s, python())
	w := wheelPackage(t, s, simpleWheel("w"))
	for name, c := range map[string]struct {
		change func(*lockfile.PyPIPackage)
		want   string
	}{
		"index": {func(*lockfile.PyPIPackage) {}, ""},
		"URL":   {func(p *lockfile.PyPIPackage) { p.Direct = true }, "https://pypi.example/w-1-py3-none-any.whl"},
		"credentials": {func(p *lockfile.PyPIPackage) {
			p.Direct, p.URL = true, "https://me:secret@pypi.example/w.whl#sha256=00"
		}, "https://pypi.example/w.whl"},
		"path":     {func(p *lockfile.PyPIPackage) { p.Direct, p.Local, p.Location = true, true, "./dist/w 1.whl" }, "file:./dist/w%201.whl"},
		"absolute": {func(p *lockfile.PyPIPackage) { p.Direct, p.Local, p.Location = true, true, "/home/me/w.whl" }, "file:///home/me/w.whl"},
	} {
		t.Run(name, func(t *testing.T) {
			lock := *w.Wheel
			c.change(&lock)
			root, _, _ := execute(t, s, testPrefix, append(slices.Clone(py), materialize.Package{Wheel: &lock, Manifest: w.Manifest}), 1)
			data, err := os.ReadFile(filepath.Join(root, siteDir, "w-1.dist-info/direct_url.json"))
			if c.want == "" {
				if !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s, %v", data, err)
				}
				return
			}
			if want := `{"url":"` + c.want + `","archive_info":{}}`; err != nil || string(data) != want {
				t.Errorf("%s, %v; want %s", data, err, want)
			}
		})
	}
}

func TestWheelsThatCannotBeLinked(t *testing.T) {
	s := newStore(t)
	py := build(t, s, python())
	w, v := wheelPackage(t, s, simpleWheel("some_w")), wheelPackage(t, s, simpleWheel("v"))
	again, sdist := *w.Wheel, *v.Wheel
	again.Name, again.FileName = "Some.W", "Some.W-1-py3-none-any.whl"
	sdist.Kind = lockfile.PyPISdist
	tagged := func(name, tag string) materialize.Package {
		w := simpleWheel(name)
		w.Tag = tag
		return wheelPackage(t, s, w)
	}
	good := []materialize.Package{py[0], tagged("e", "cp38-abi3-manylinux_2_28_x86_64"), tagged("f", "py2.py3-none-any"), tagged("g", "cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64"), tagged("h", "py3-none-linux_x86_64")}
	if _, err := materialize.NewPlan(testPrefix, testPlatform, good, noScripts); err != nil {
		t.Errorf("wheels that fit: %v", err)
	}
	for name, c := range map[string]struct {
		pkgs []materialize.Package
		says []string
	}{
		"no python": {[]materialize.Package{w}, []string{"some_w-1-py3-none-any.whl", "no Python"}},
		"twice":     {[]materialize.Package{py[0], w, {Wheel: &again, Manifest: w.Manifest}}, []string{"some_w-1-py3-none-any.whl", "Some.W-1-py3-none-any.whl", "one package"}},
		"other Python and platform": {[]materialize.Package{py[0], tagged("a", "cp310-cp310-manylinux_2_17_x86_64"), tagged("b", "cp311-cp311-manylinux_2_17_aarch64"), tagged("c", "py3-none-win_amd64"), tagged("d", "cp311-cp311t-linux_x86_64")},
			[]string{"a-1-cp310-cp310-manylinux_2_17_x86_64.whl is not for Python 3.11 on linux-64", "b-1-cp311-cp311-manylinux_2_17_aarch64.whl is not for", "c-1-py3-none-win_amd64.whl is not for", "d-1-cp311-cp311t-linux_x86_64.whl is not for"}},
		"all faults at once": {[]materialize.Package{py[0], {Wheel: &sdist, Manifest: v.Manifest}, {Wheel: w.Wheel}},
			[]string{"v-1-py3-none-any.whl is no wheel but a sdist", "some_w-1-py3-none-any.whl is not in the store"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := materialize.NewPlan(testPrefix, testPlatform, c.pkgs, noScripts)
			if !errors.Is(err, materialize.ErrUnlinkable) {
				t.Fatalf("got %v", err)
			}
			for _, s := range c.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%v does not say %q", err, s)
				}
			}
		})
	}
}

// TestManifestOfAnotherKind: what the store knows of an archive as a wheel is never
// taken for a conda package, nor the other way round.
func TestManifestOfAnotherKind(t *testing.T) {
	s := newStore(t)
	pkgs := append(build(t, s, python(), condatest.Package{Name: "c", Version: "1", Build: "0"}), wheelPackage(t, s, simpleWheel("w")))
	pkgs[1].Manifest, pkgs[2].Manifest = pkgs[2].Manifest, pkgs[1].Manifest
	for _, p := range pkgs[1:] {
		if _, err := materialize.NewPlan(testPrefix, testPlatform, []materialize.Package{pkgs[0], p}, noScripts); !errors.Is(err, cache.ErrIntegrity) || !strings.Contains(err.Error(), "another kind") {
			t.Errorf("got %v", err)
		}
	}
}

// TestPublishedWheels: the way to a published tree, and what its description says.
func TestPublishedWheels(t *testing.T) {
	s := newStore(t)
	pkgs := append(build(t, s, python()), wheelPackage(t, s, simpleWheel("w", wheeltest.File{Path: "w.py", Content: "w = 1\n"}, wheeltest.File{Path: "w.py.txt"})))
	meta, made, err := materialize.Materialize(context.Background(), s, materialize.Request{ID: prefixID("a"), Platform: testPlatform, Packages: pkgs, Options: noScripts})
	if err != nil || !made {
		t.Fatal(made, err)
	}
	if got, err := materialize.TreeDigest(s.TreePath(testPlatform, meta.ID)); err != nil || got != meta.TreeDigest {
		t.Errorf("tree digest %s, the meta has %s, %v", got, meta.TreeDigest, err)
	}
	want := materialize.MetaPackage{Name: "w", Version: "1", Kind: "wheel", SHA256: pkgs[1].Wheel.SHA256, URL: pkgs[1].Wheel.URL, Size: pkgs[1].Manifest.Size}
	if d := cmp.Diff(want, meta.Packages[1]); d != "" {
		t.Error(d)
	}
	plan, err := materialize.NewPlan(s.Prefix(testPlatform, meta.ID), testPlatform, pkgs, noScripts)
	if err != nil {
		t.Fatal(err)
	}
	if cost, err := plan.Predict(s, ""); err != nil || cost.Inodes != meta.Cost.Inodes || cost.Bytes != meta.Cost.Bytes {
		t.Errorf("predicted %+v, cost %+v, %v", cost, meta.Cost, err)
	}
}

// TestWheelsGetByteCode: as noarch packages do; RECORD does not list it.
func TestWheelsGetByteCode(t *testing.T) {
	s := newStore(t)
	pkgs := append(build(t, s, python()), wheelPackage(t, s, simpleWheel("w", wheeltest.File{Path: "w/__init__.py", Content: "x = {1, 2}\n"},
		wheeltest.File{Path: "w/bad.py", Content: "print 'python 2'\n"}, wheeltest.File{Path: "w-1.data/purelib/pure.py", Content: "y = 1\n"})))
	root, meta := makeEnv(t, s, prefixID("b"), testPlatform, pkgs, 2)
	for _, p := range []string{"w/__pycache__/__init__.cpython-311.pyc", "__pycache__/pure.cpython-311.pyc"} {
		if st, err := os.Stat(filepath.Join(root, siteDir, p)); err != nil || st.Size() < 17 {
			t.Errorf("%s: %v, %v", p, st, err)
		}
	}
	if c := meta.ByteCode; c == nil || c.Failed != 1 || c.Files != 4 {
		t.Errorf("byte-code %+v", c)
	}
	if len(meta.Notes) != 1 || !strings.Contains(meta.Notes[0], "w-1-py3-none-any.whl") || !strings.Contains(meta.Notes[0], "w/bad.py") {
		t.Errorf("notes %q", meta.Notes)
	}
	record, err := os.ReadFile(filepath.Join(root, siteDir, "w-1.dist-info/RECORD"))
	if err != nil || strings.Contains(string(record), ".pyc") {
		t.Errorf("%s, %v", record, err)
	}
}

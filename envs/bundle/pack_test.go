package bundle

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// packOf is a bundle without what hpcenv adds: as pixi-pack makes them.
func packOf(t testing.TB) map[string]string {
	c := demo(t)
	files := members(t, c.write(t, Project{LockName: "pixi.lock", Lock: c.lock(t, "default@linux-64=python,libz,data")}, nil, nil))
	maps.DeleteFunc(files, func(name, _ string) bool { return strings.HasPrefix(name, "hpcenv/") })
	return files
}

func with(files map[string]string, name, content string) map[string]string {
	files = maps.Clone(files)
	files[name] = content
	return files
}

func without(files map[string]string, name string) map[string]string {
	files = maps.Clone(files)
	delete(files, name)
	return files
}

// TestDerived: the records of the derived lock are the channel's.
func TestDerived(t *testing.T) {
	const file = "channel/linux-64/odd-1!2.0+x-1.conda"
	record := `{"name": "odd", "version": "1!2.0+x", "build": "1", "build_number": 7, "subdir": "linux-64", "depends": ["libz >=1,<2", "python"],
		"constrains": ["a: b # c"], "extra_depends": {"x": ["data"]}, "features": "f", "track_features": ["u", "v w"], "license": "MIT \"quoted\"\n\u00e9",
		"license_family": "MIT", "md5": "00000000000000000000000000000000", "legacy_bz2_md5": "10000000000000000000000000000000", "legacy_bz2_size": 5,
		"timestamp": 1700000000000, "purls": ["pkg:pypi/odd"], "python_site_packages_path": "lib/python3.12t/site-packages", "size": 3}`
	files := with(packOf(t), file, "odd")
	var index map[string]map[string]json.RawMessage
	if err := json.Unmarshal([]byte(`{"packages.conda": {"odd-1!2.0+x-1.conda": `+record+`}}`), &index); err != nil {
		t.Fatal(err)
	}
	whole := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(files["channel/linux-64/repodata.json"]), &whole); err != nil {
		t.Fatal(err)
	}
	conda := map[string]json.RawMessage{}
	if err := json.Unmarshal(whole["packages.conda"], &conda); err != nil {
		t.Fatal(err)
	}
	maps.Copy(conda, index["packages.conda"])
	var err error
	if whole["packages.conda"], err = json.Marshal(conda); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	files["channel/linux-64/repodata.json"] = string(data)
	b, err := openBytes(tarOf(t, files))
	if err != nil {
		t.Fatal(err)
	}
	if !b.Derived || len(b.Contents) != 1 || b.Contents[0] != (Content{"default", "linux-64"}) {
		t.Errorf("%+v", b.Contents)
	}
	lock, err := lockfile.Parse(b.Project.Lock)
	if err != nil {
		t.Fatal(err)
	}
	p := lock.Environments[0].Platforms[0]
	if err := p.Check(); err != nil {
		t.Error(err)
	}
	if len(p.Conda) != 4 {
		t.Fatalf("%d packages", len(p.Conda))
	}
	var odd *lockfile.CondaPackage
	for _, c := range p.Conda {
		f, _, err := b.Archive(c.SHA256)
		if err != nil || f == nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		if c.Name == "odd" {
			odd = c
		}
	}
	want := &lockfile.CondaPackage{
		Location: "./" + file, URL: "./" + file, Local: true, Name: "odd", Version: "1!2.0+x", Build: "1", BuildNumber: 7, Subdir: "linux-64",
		FileName: "odd-1!2.0+x-1.conda", SHA256: sum([]byte("odd")), MD5: strings.Repeat("0", 32), Size: 3, Depends: []string{"libz >=1,<2", "python"},
		Constrains: []string{"a: b # c"}, ExtraDepends: map[string][]string{"x": {"data"}}, Features: "f", TrackFeatures: []string{"u", "v w"},
		License: "MIT \"quoted\"\n\u00e9", LicenseFamily: "MIT", LegacyBz2MD5: "1" + strings.Repeat("0", 31), LegacyBz2Size: 5, Timestamp: 1700000000000,
		Purls: []string{"pkg:pypi/odd"}, HasPurls: true, PythonSitePackagesPath: "lib/python3.12t/site-packages", Arch: "x86_64", OS: "linux", Line: odd.Line,
	}
	if d := cmp.Diff(want, odd); d != "" {
		t.Error(d)
	}
	again, err := Open(writeDir(t, files))
	if err != nil || again.Digest != b.Digest {
		t.Errorf("the same pack in a folder has the lock %s, not %s: %v", again.Digest, b.Digest, err)
	}
}

// TestRealPack reads what pixi-pack itself wrote.
func TestRealPack(t *testing.T) {
	b, err := Open("testdata/pixi-pack-0.7.10.tar")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if !b.Derived || b.PackVersion != "0.7.10" || len(b.Contents) != 1 || b.Contents[0] != (Content{"default", "linux-64"}) {
		t.Errorf("derived %v, made by %q, contents %v", b.Derived, b.PackVersion, b.Contents)
	}
	lock, err := lockfile.Parse(b.Project.Lock)
	if err != nil {
		t.Fatal(err)
	}
	p := lock.Environments[0].Platforms[0]
	if err := p.Check(); err != nil {
		t.Error(err)
	}
	var got []string
	for _, c := range p.Conda {
		got = append(got, fmt.Sprintf("%s %s %s %d %s %q %d %q %q", c.Location, c.Dist(), c.Subdir, c.BuildNumber, c.Noarch, c.Depends, c.Timestamp, c.TrackFeatures, c.License))
	}
	want := []string{
		`./channel/linux-64/python-3.12.1-h0_0.conda python-3.12.1-h0_0 linux-64 0  [] 0 [] ""`,
		`./channel/linux-64/tool-1.0-h1_0.conda tool-1.0-h1_0 linux-64 0  ["data >=1" "__glibc >=2.17"] 1700000000123 ["a" "b"] "MIT"`,
		`./channel/noarch/data-1.0-h1_0.tar.bz2 data-1.0-h1_0 noarch 0 generic [] 0 [] ""`,
		`./channel/noarch/noise-2.0-pyh_1.conda noise-2.0-pyh_1 noarch 1 python [] 0 [] ""`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if len(p.PyPI) != 1 || p.PyPI[0].Name != "foo-bar" || p.PyPI[0].Version != "1.0" || p.PyPI[0].Kind != lockfile.PyPIWheel || p.PyPI[0].FileName != "foo_bar-1.0-py3-none-any.whl" {
		t.Errorf("wheels: %+v", p.PyPI)
	}
	for _, a := range archivesOf(p) {
		f, size, err := b.Archive(a.source.SHA256)
		if err != nil || f == nil || a.err != nil {
			t.Fatal(err, a.err)
		}
		if n, err := io.Copy(io.Discard, f); err != nil || n != size {
			t.Errorf("%s: %d of %d bytes, %v", a.path, n, size, err)
		}
	}
	// The id of an environment rests on these bytes: they change with a version only.
	if want := "ecb365f70a526528fc71383a6ed1287b3fb2f205c120fd89f153d80a2c873fac"; b.Digest != want {
		t.Errorf("the lock is another than before, %s:\n%s", b.Digest, b.Project.Lock)
	}
}

func TestPackWheels(t *testing.T) {
	b, err := openBytes(tarOf(t, with(packOf(t), "pypi/Foo_Bar-2.0-py3-none-any.whl", "a wheel")))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"- pypi: \"./pypi/Foo_Bar-2.0-py3-none-any.whl\"\n", "  name: \"foo-bar\"\n", "  version: \"2.0\"\n", "  sha256: \"" + sum([]byte("a wheel"))} {
		if !strings.Contains(string(b.Project.Lock), line) {
			t.Errorf("no %q in %s", line, b.Project.Lock)
		}
	}
}

func TestRefused(t *testing.T) {
	pack := packOf(t)
	c := demo(t)
	own := members(t, c.write(t, Project{LockName: "pixi.lock", Lock: c.lock(t, "default@linux-64=python,libz,data")}, nil, nil))
	const python = "channel/linux-64/python-3.12.1-h1_0.conda"
	edit := func(files map[string]string, name, old, new string) map[string]string {
		if !strings.Contains(files[name], old) {
			t.Fatalf("%s has no %s", name, old)
		}
		return with(files, name, strings.Replace(files[name], old, new, 1))
	}
	for _, x := range []struct {
		name  string
		files map[string]string
		more  []*tar.Header
		says  string
	}{
		{"traversal", with(pack, "../evil", ""), nil, `"../evil" leads out`},
		{"traversal within", with(pack, "channel/../../evil", ""), nil, `leads out`},
		{"absolute", with(pack, "/etc/evil", ""), nil, `"/etc/evil" leads out`},
		{"backslash", with(pack, `channel\evil`, ""), nil, `leads out`},
		{"control", with(pack, "a\x1bb", ""), nil, `leads out`},
		{"symbolic link", pack, []*tar.Header{{Name: "channel/x", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}}, `"channel/x" is neither a file nor a directory`},
		{"hard link", pack, []*tar.Header{{Name: "x", Typeflag: tar.TypeLink, Linkname: packName}}, `"x" is neither`},
		{"device", pack, []*tar.Header{{Name: "x", Typeflag: tar.TypeChar}}, `"x" is neither`},
		{"fifo", pack, []*tar.Header{{Name: "x", Typeflag: tar.TypeFifo}}, `"x" is neither`},
		{"twice", with(pack, "./"+packName, "{}"), nil, `"pixi-pack.json" twice`},
		{"no pack", without(pack, packName), nil, "it has no pixi-pack.json; is it a bundle?"},
		{"empty tar", map[string]string{}, nil, "it has no pixi-pack.json"},
		{"newer", with(pack, packName, `{"version": "2", "platform": {"new": 1}}`), nil, `version "2", this hpcenv reads version "1"; next: use a newer hpcenv`},
		{"a number", with(pack, packName, `{"version": 1, "platform": "linux-64"}`), nil, packName},
		{"no JSON", with(pack, packName, `{`), nil, packName},
		{"Windows", with(pack, packName, `{"version": "1", "platform": "win-64"}`), nil, `for the platform "win-64"; hpcenv makes environments for Linux`},
		{"no platform", with(pack, packName, `{"version": "1"}`), nil, `for the platform ""`},
		{"another platform", with(pack, packName, `{"version": "1", "platform": "linux-aarch64"}`), nil, "it is for linux-aarch64, but has packages for linux-64"},
		{"no index", without(pack, "channel/linux-64/repodata.json"), nil, "it has no channel/linux-64/repodata.json"},
		{"bad index", with(pack, "channel/linux-64/repodata.json", "[]"), nil, "channel/linux-64/repodata.json"},
		{"null record", with(pack, "channel/linux-64/repodata.json", `{"packages": {"x-1-0.conda": null}}`), nil, `"x-1-0.conda" is no record`},
		{"index leads out", with(pack, "channel/linux-64/repodata.json", `{"packages": {"../x-1-0.conda": {}}}`), nil, `"../x-1-0.conda" is no record`},
		{"other subdir", edit(pack, "channel/linux-64/repodata.json", "\"subdir\": \"linux-64\",\n      \"version\"", `"subdir": "noarch", "version"`), nil, "says that it is for noarch"},
		{"no archive", without(pack, python), nil, "it has no " + python},
		{"nothing", map[string]string{packName: pack[packName]}, nil, "there is no package in it"},
		{"bad wheel", with(pack, "pypi/foo.txt", ""), nil, "pypi/foo.txt has not the name of a wheel"},
		{"wheel in a folder", with(pack, "pypi/x/foo-1-py3-none-any.whl", ""), nil, "has not the name of a wheel"},
		{"own: newer", edit(own, ownName, `"version": 1`, `"version": 2`), nil, "hpcenv/bundle.json says version 2, this hpcenv reads version 1; next: use a newer hpcenv"},
		{"own: no JSON", with(own, ownName, "x"), nil, ownName},
		{"own: another lock", with(own, "hpcenv/project/pixi.lock", own["hpcenv/project/pixi.lock"]+"\n"), nil, "hpcenv/project/pixi.lock has sha256"},
		{"own: no lock", without(own, "hpcenv/project/pixi.lock"), nil, "it has no hpcenv/project/pixi.lock"},
		{"own: lock elsewhere", edit(own, ownName, "hpcenv/project/pixi.lock", "environment.yml"), nil, `names the lock "environment.yml"`},
		{"own: no archive", without(own, python), nil, "it has no " + python + ", which hpcenv/bundle.json names"},
		{"own: not listed", edit(own, ownName, sum([]byte(own[python])), strings.Repeat("0", 64)), nil, `environment "default" for linux-64 needs python-3.12.1-h1_0`},
		{"own: no contents", edit(own, ownName, "[\n    {\n      \"environment\": \"default\",\n      \"platform\": \"linux-64\"\n    }\n  ]", "[]"), nil, "of no environment"},
		{"own: other platform", edit(own, ownName, `"platform": "linux-64"`, `"platform": "linux-aarch64"`), nil, "has no packages for linux-aarch64"},
		{"own: other environment", edit(own, ownName, `"environment": "default"`, `"environment": "gpu"`), nil, `no environment "gpu"`},
	} {
		t.Run(x.name, func(t *testing.T) {
			_, err := openBytes(tarOf(t, x.files, x.more...))
			if !errors.Is(err, ErrBundle) && !errors.Is(err, lockfile.ErrLock) {
				t.Fatalf("error %v", err)
			}
			if !strings.Contains(err.Error(), x.says) {
				t.Errorf("%v\ndoes not say %q", err, x.says)
			}
		})
	}
}

// TestCutOff: wherever a bundle is cut, that is noticed before anything is made.
func TestCutOff(t *testing.T) {
	data := tarOf(t, packOf(t))
	for n := 0; n <= len(data)-1024; n += 64 {
		if _, err := openBytes(data[:n]); !errors.Is(err, ErrBundle) {
			t.Fatalf("cut after %d of %d bytes: %v", n, len(data), err)
		}
	}
	// Of the two blocks of zeros at the end one is enough.
	if _, err := openBytes(data[:len(data)-512]); err != nil {
		t.Error(err)
	}
}

func TestOtherFiles(t *testing.T) {
	for text, says := range map[string]string{
		"#!/bin/sh\n": "self-extracting", "\x1f\x8b\x08": "gzip", "\x28\xb5\x2f\xfd": "zstd", "\xfd7zXZ\x00": "xz", "BZh9": "bzip2", "": "empty", "version: 6\n": "cut off",
		strings.Repeat("version: 6\n", 100): "no tar file",
	} {
		if _, err := openBytes([]byte(text)); !errors.Is(err, ErrBundle) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestDamaged: bytes that are not those of the index or the lock come with an error.
func TestDamaged(t *testing.T) {
	pack := packOf(t)
	const name = "channel/noarch/data-1.0-h1_0.conda"
	digest := sum([]byte(pack[name]))
	for what, content := range map[string]string{"other": "x" + pack[name][1:], "short": pack[name][1:], "long": pack[name] + "x", "empty": ""} {
		b, err := openBytes(tarOf(t, with(pack, name, content)))
		if err != nil {
			t.Fatal(err)
		}
		f, _, err := b.Archive(digest)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, f); !errors.Is(err, cache.ErrIntegrity) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// FuzzOpen: whatever is opened, nothing panics, and a lock that follows is a lock.
func FuzzOpen(f *testing.F) {
	f.Add(tarOf(f, packOf(f)))
	c := demo(f)
	f.Add(c.write(f, Project{LockName: "pixi.lock", Lock: c.lock(f, "default@linux-64=libz")}, nil, nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := openBytes(data)
		if err != nil {
			return
		}
		if _, err := lockfile.Parse(b.Project.Lock); err != nil {
			t.Fatal(err)
		}
		for digest := range b.archives {
			r, _, err := b.Archive(digest)
			if err != nil {
				t.Fatal(err)
			}
			if have, err := io.ReadAll(r); err == nil && sum(have) != digest {
				t.Fatalf("%s is %s", digest, sum(have))
			}
		}
	})
}

// FuzzIndex: whatever a channel's index says, the lock that follows says the same
// or nothing.
func FuzzIndex(f *testing.F) {
	f.Add([]byte(`{"packages.conda": {"a-1-0.conda": {"name": "a", "version": "1", "build": "0", "noarch": true, "track_features": "x y", "license": "a\n- b: \"c"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := fromTree(memory{packName: []byte(`{"version": "1", "platform": "linux-64"}`), "channel/linux-64/repodata.json": data, "channel/linux-64/a-1-0.conda": nil})
		if err != nil {
			return
		}
		lock, err := lockfile.Parse(b.Project.Lock)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(lock.Environments); n != 1 {
			t.Fatalf("%d environments", n)
		}
		var index struct {
			Packages map[string]*record `json:"packages"`
			Conda    map[string]*record `json:"packages.conda"`
		}
		if err := json.Unmarshal(data, &index); err != nil {
			t.Fatal(err)
		}
		r := index.Conda["a-1-0.conda"]
		if p := index.Packages["a-1-0.conda"]; p != nil {
			r = p
		}
		c := lock.Environments[0].Platforms[0].Conda
		if len(c) != 1 || r.Name != "" && c[0].Name != r.Name || c[0].License != r.License || len(c[0].Depends) != len(r.Depends) {
			t.Fatalf("%+v\nbecame %+v", r, c)
		}
	})
}

// memory is a tree in memory.
type memory map[string][]byte

func (m memory) names() []string {
	out := []string{}
	for n := range m {
		out = append(out, n)
	}
	return out
}

func (m memory) open(name string) (io.ReadCloser, int64, error) {
	data, ok := m[name]
	if !ok {
		return nil, 0, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(data)), int64(len(data)), nil
}

func (m memory) Close() error { return nil }

package bundle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/lockfile"
)

func demo(t testing.TB) *channel {
	return newChannel(t,
		pkg("python", "linux-64", "libz >=1"), pkg("python", "linux-aarch64", "libz >=1"), pkg("libz", "linux-64"), pkg("libz", "linux-aarch64"),
		pkg("data", noarch), pkg("gpu", "linux-64"))
}

func TestRoundTrip(t *testing.T) {
	c := demo(t)
	lock := c.lock(t, "default@linux-64=python,libz,data", "default@linux-aarch64=python,libz,data", "gpu@linux-64=gpu,data")
	p := Project{LockName: "pixi.lock", Lock: lock, Files: map[string][]byte{"pixi.toml": []byte("[workspace]\n"), "scripts/on.sh": []byte("export A=1\n")}}
	data := c.write(t, p, []string{"default", "gpu"}, nil)
	if !bytes.Equal(data, c.write(t, p, []string{"default", "gpu"}, nil)) {
		t.Error("the same lock gave other bytes")
	}
	for name, open := range map[string]func() (*Bundle, error){
		"tar":    func() (*Bundle, error) { return openBytes(data) },
		"folder": func() (*Bundle, error) { return Open(writeDir(t, members(t, data))) },
		"file": func() (*Bundle, error) {
			at := filepath.Join(t.TempDir(), "b.tar")
			if err := os.WriteFile(at, data, 0o644); err != nil {
				t.Fatal(err)
			}
			return Open(at)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := open()
			if err != nil {
				t.Fatal(err)
			}
			if b.Derived || !bytes.Equal(b.Project.Lock, lock) || b.Project.LockName != "pixi.lock" || b.Digest != sum(lock) {
				t.Errorf("another lock came back: %q", b.Project.Lock)
			}
			if d := cmp.Diff(p.Files, b.Project.Files); d != "" {
				t.Error(d)
			}
			want := []Content{{"default", "linux-64"}, {"default", "linux-aarch64"}, {"gpu", "linux-64"}}
			if d := cmp.Diff(want, b.Contents); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff([]string{"linux-64", "linux-aarch64"}, b.Platforms()); d != "" {
				t.Error(d)
			}
			for digest, want := range c.archives {
				f, size, err := b.Archive(digest)
				if err != nil || f == nil {
					t.Fatalf("%s: %v, %v", digest, f, err)
				}
				have, err := io.ReadAll(f)
				if err != nil || !bytes.Equal(have, want) || size != int64(len(want)) {
					t.Errorf("%s: %d of %d bytes, %v", digest, len(have), len(want), err)
				}
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			}
			if f, _, err := b.Archive(strings.Repeat("0", 64)); f != nil || err != nil {
				t.Errorf("an archive that is not there: %v, %v", f, err)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestFirst: pixi-unpack installs whatever lies in channel/, so only the first
// environment and platform may.
func TestFirst(t *testing.T) {
	c := demo(t)
	lock := c.lock(t, "default@linux-64=python,libz,data", "default@linux-aarch64=python,libz,data", "gpu@linux-64=gpu,data")
	got := members(t, c.write(t, Project{LockName: "pixi.lock", Lock: lock}, []string{"gpu", "default"}, nil))
	var channel []string
	others := 0
	for name := range got {
		if strings.HasPrefix(name, channelDir) && !strings.HasSuffix(name, "/") {
			channel = append(channel, name)
		}
		if strings.HasPrefix(name, archivesDir+"/") && !strings.HasSuffix(name, "/") {
			others++
		}
	}
	slices.Sort(channel)
	want := []string{"channel/linux-64/gpu-1.0-h1_0.conda", "channel/linux-64/repodata.json", "channel/noarch/data-1.0-h1_0.conda", "channel/noarch/repodata.json"}
	if d := cmp.Diff(want, channel); d != "" {
		t.Error(d)
	}
	if others != 4 {
		t.Errorf("%d further archives, want 4", others)
	}
	if got[packName] != "{\n  \"version\": \"1\",\n  \"platform\": \"linux-64\"\n}\n" {
		t.Errorf("%s: %s", packName, got[packName])
	}
	if want := "channels:\n  - ./channel\n  - nodefaults\ndependencies:\n  - gpu=1.0=h1_0\n  - data=1.0=h1_0\n"; got[environmentName] != want {
		t.Errorf("%s: %s", environmentName, got[environmentName])
	}
	var index map[string]any
	if err := json.Unmarshal([]byte(got["channel/noarch/repodata.json"]), &index); err != nil {
		t.Fatal(err)
	}
	record := index["packages.conda"].(map[string]any)["data-1.0-h1_0.conda"].(map[string]any)
	size := len(got["channel/noarch/data-1.0-h1_0.conda"])
	for key, want := range map[string]any{"name": "data", "version": "1.0", "build": "h1_0", "build_number": 0.0, "subdir": noarch, "noarch": "generic", "size": float64(size),
		"sha256": sum([]byte(got["channel/noarch/data-1.0-h1_0.conda"])), "url": nil, "fn": nil, "channel": nil} {
		if record[key] != want {
			t.Errorf("%s is %v, want %v", key, record[key], want)
		}
	}
}

// TestCompiler: byte-code for aarch64 is compiled by the lock's Python for x86-64,
// which then is in the bundle, too.
func TestCompiler(t *testing.T) {
	c := demo(t)
	lock := c.lock(t, "default@linux-64=python,libz,data", "default@linux-aarch64=python,libz,data")
	got := members(t, c.write(t, Project{LockName: "pixi.lock", Lock: lock}, nil, []string{"linux-aarch64"}))
	for _, p := range []string{"python", "libz"} {
		digest := sum(pkg(p, "linux-64", map[string][]string{"python": {"libz >=1"}}[p]...).Conda(t))
		if _, ok := got[archivesDir+"/"+digest+".conda"]; !ok {
			t.Errorf("%s for linux-64 is not there: %v", p, slices.Sorted(maps.Keys(got)))
		}
	}
	if strings.Contains(got[ownName], `"linux-64"`) {
		t.Error("an environment for linux-64 was not asked for")
	}
}

func TestChoose(t *testing.T) {
	c := demo(t)
	lock := c.lock(t, "default@linux-64=python,libz", "default@linux-aarch64=python,libz", "gpu@linux-64=gpu", "mac@osx-arm64=data")
	for _, x := range []struct {
		name                string
		environments        []string
		all                 bool
		platforms           []string
		contents, skipped   int
		unknown, noPlatform bool
	}{
		{name: "nothing said", contents: 2},
		{name: "all", all: true, contents: 3},
		{name: "a platform", platforms: []string{"linux-aarch64"}, contents: 1},
		{name: "one has it, one not", environments: []string{"default", "gpu", "gpu"}, platforms: []string{"linux-aarch64"}, contents: 1, skipped: 1},
		{name: "none has it", environments: []string{"gpu"}, platforms: []string{"linux-aarch64"}, noPlatform: true},
		{name: "not for Linux", environments: []string{"mac"}, noPlatform: true},
		{name: "unknown", environments: []string{"nosuch"}, unknown: true},
	} {
		t.Run(x.name, func(t *testing.T) {
			p, err := NewPlan(Project{Lock: lock}, nil, x.environments, x.all, x.platforms)
			var unknown *lockfile.UnknownEnvironmentError
			var missing *lockfile.MissingPlatformError
			if errors.As(err, &unknown) != x.unknown || errors.As(err, &missing) != x.noPlatform {
				t.Fatal(err)
			}
			if err == nil && (len(p.Contents) != x.contents || len(p.Skipped) != x.skipped) {
				t.Errorf("contents %v, skipped %v", p.Contents, p.Skipped)
			}
		})
	}
}

// TestWheels: they lie where pixi-unpack and pip look for them.
func TestWheels(t *testing.T) {
	c := demo(t)
	data := []byte("a wheel")
	c.archives[sum(data)] = data
	lock, err := lockfile.Parse(c.lock(t, "default@linux-64=python,libz"))
	if err != nil {
		t.Fatal(err)
	}
	w := &lockfile.PyPIPackage{Kind: lockfile.PyPIWheel, Name: "foo-bar", Version: "2.0", FileName: "foo_bar-2.0-py3-none-any.whl", SHA256: sum(data), URL: "https://pypi.example/foo_bar-2.0-py3-none-any.whl"}
	platform := lock.Environments[0].Platforms[0]
	platform.PyPI = []*lockfile.PyPIPackage{w}
	fill := func() (*Plan, error) {
		p := &Plan{Contents: []Content{{"default", "linux-64"}}, project: Project{LockName: "pixi.lock"}}
		return p, p.fill([]target{{lock.Environments[0], platform}})
	}
	p, err := fill()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := p.Write(context.Background(), &out, c.open); err != nil {
		t.Fatal(err)
	}
	got := members(t, out.Bytes())
	if got["pypi/foo_bar-2.0-py3-none-any.whl"] != "a wheel" {
		t.Errorf("the wheel is not there: %v", slices.Sorted(maps.Keys(got)))
	}
	if want := "  - pip:\n    - --no-index\n    - --find-links ./pypi\n    - foo-bar==2.0\n"; !strings.HasSuffix(got[environmentName], want) {
		t.Error(got[environmentName])
	}
	for name, spoil := range map[string]func(w *lockfile.PyPIPackage){
		"no hash":   func(w *lockfile.PyPIPackage) { w.SHA256 = "" },
		"sdist":     func(w *lockfile.PyPIPackage) { w.Kind, w.FileName = lockfile.PyPISdist, "foo-2.0.tar.gz" },
		"traversal": func(w *lockfile.PyPIPackage) { w.FileName = "../foo-2.0-py3-none-any.whl" },
	} {
		bad := *w
		spoil(&bad)
		platform.PyPI = []*lockfile.PyPIPackage{&bad}
		if _, err := fill(); !errors.Is(err, lockfile.ErrLock) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWrongArchive: bytes that the lock does not promise are not written.
func TestWrongArchive(t *testing.T) {
	c := demo(t)
	p, err := NewPlan(Project{Lock: c.lock(t, "default@linux-64=libz")}, nil, nil, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	digest := p.Sources()[0].SHA256
	whole := c.archives[digest]
	for name, data := range map[string][]byte{"other": append([]byte("x"), whole[1:]...), "short": whole[1:], "long": append(bytes.Clone(whole), 'x'), "empty": {}} {
		c.archives[digest] = data
		if err := p.Write(context.Background(), io.Discard, c.open); !errors.Is(err, cache.ErrIntegrity) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWheelRoundTrip: a lock's wheels go into a bundle and come out of it.
func TestWheelRoundTrip(t *testing.T) {
	c := demo(t)
	data := []byte("a wheel")
	c.archives[sum(data)] = data
	const url = "https://pypi.example/foo_bar-2.0-py3-none-any.whl"
	lock := bytes.Replace(c.lock(t, "default@linux-64=python,libz"), []byte("packages:\n- "), []byte("      - pypi: "+url+"\npackages:\n- "), 1)
	lock = append(lock, "- pypi: "+url+"\n  name: foo-bar\n  version: '2.0'\n  sha256: "+sum(data)+"\n"...)
	b, err := openBytes(c.write(t, Project{LockName: "pixi.lock", Lock: lock}, nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	f, size, err := b.Archive(sum(data))
	if err != nil || f == nil || size != int64(len(data)) {
		t.Fatalf("%v, %d bytes, %v", f, size, err)
	}
	if have, err := io.ReadAll(f); err != nil || !bytes.Equal(have, data) {
		t.Errorf("%q, %v", have, err)
	}
}

// TestCredential: what the lock says is passed on with the bundle.
func TestCredential(t *testing.T) {
	lock := demo(t).lock(t, "default@linux-64=libz")
	for _, secret := range []string{"https://me:secret@conda.example/", "https://conda.example/t/tk-secret/"} {
		_, err := NewPlan(Project{Lock: bytes.ReplaceAll(lock, []byte("https://conda.example/"), []byte(secret))}, nil, nil, false, nil)
		if !errors.Is(err, lockfile.ErrLock) || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "line 5") {
			t.Errorf("%s: %v", secret, err)
		}
	}
}

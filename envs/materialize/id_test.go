package materialize_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/materialize"
)

func idFormat() cache.Format {
	return cache.Format{Version: 1, PrefixRoot: "/opt/hpcenv/e", Platforms: []string{"linux-64", "linux-aarch64"}}
}

func idPackages() map[string]*lockfile.Platform {
	zlib := &lockfile.CondaPackage{
		Location: "https://conda.example/main/linux-64/zlib-1.3-h_0.conda", Name: "zlib", Version: "1.3", Build: "h_0",
		Subdir: "linux-64", FileName: "zlib-1.3-h_0.conda", Channel: "https://conda.example/main", SHA256: "aa", MD5: "bb",
		Size: 7, Depends: []string{"libc >=2.17,<3"}, License: "Zlib", Timestamp: 1700000000000, Arch: "x86_64", OS: "linux",
	}
	six := &lockfile.CondaPackage{
		Location: "https://conda.example/main/noarch/six-1-py_0.tar.bz2", Name: "six", Version: "1", Build: "py_0",
		Subdir: "noarch", Noarch: "python", FileName: "six-1-py_0.tar.bz2", SHA256: "cc", HasPurls: true,
	}
	return map[string]*lockfile.Platform{
		"linux-64":      {Name: "linux-64", Subdir: "linux-64", Conda: []*lockfile.CondaPackage{zlib, six}},
		"linux-aarch64": {Name: "linux-aarch64", Subdir: "linux-aarch64", Conda: []*lockfile.CondaPackage{six}},
	}
}

// TestIDGolden: ids of existing environments never change. If this fails, every
// prefix of every store would be made anew: change the code, or raise
// LinkerVersion because a prefix's bytes change.
func TestIDGolden(t *testing.T) {
	if got, want := materialize.ID(idFormat(), "/opt/hpcenv/e", idPackages(), noScripts), goldenID; got != want {
		t.Errorf("id is %s, was %s", got, want)
	}
	own := idFormat()
	own.PrefixRoot = ""
	if got, want := materialize.ID(own, "/home/u/store", idPackages(), noScripts), goldenOwnID; got != want {
		t.Errorf("id in a user's own store is %s, was %s", got, want)
	}
}

// TestWheelIDGolden: as TestIDGolden, with wheels.
func TestWheelIDGolden(t *testing.T) {
	if got := materialize.ID(idFormat(), "/opt/hpcenv/e", idWheels(), noScripts); got != goldenWheelID {
		t.Errorf("id is %s, was %s", got, goldenWheelID)
	}
}

func idWheels() map[string]*lockfile.Platform {
	p := idPackages()
	p["linux-64"].PyPI = []*lockfile.PyPIPackage{
		{Kind: lockfile.PyPIWheel, Name: "W_x", Version: "1", FileName: "W_x-1-py3-none-any.whl", SHA256: "dd", Location: "https://pypi.example/W_x-1-py3-none-any.whl", URL: "https://pypi.example/W_x-1-py3-none-any.whl"},
		{Kind: lockfile.PyPIWheel, Name: "v", Version: "2", FileName: "v-2-py3-none-any.whl", SHA256: "ee", Location: "./v-2-py3-none-any.whl", URL: "./v-2-py3-none-any.whl", Local: true, Direct: true},
	}
	return p
}

// TestWheelIDCovers: of a wheel, its bytes and what is written of where it came from
// are in the id; that it came from another mirror is not.
func TestWheelIDCovers(t *testing.T) {
	f := idFormat()
	id := func(change func(p *lockfile.Platform)) string {
		p := idWheels()
		change(p["linux-64"])
		return materialize.ID(f, "/opt/hpcenv/e", p, noScripts)
	}
	same := id(func(*lockfile.Platform) {})
	for name, change := range map[string]func(p *lockfile.Platform){
		"order": func(p *lockfile.Platform) { slices.Reverse(p.PyPI) },
		"mirror": func(p *lockfile.Platform) {
			p.PyPI[0].Location, p.PyPI[0].URL = "https://mirror.example/w", "https://mirror.example/w"
		},
		"line":    func(p *lockfile.Platform) { p.PyPI[0].Line = 7 },
		"project": func(p *lockfile.Platform) { p.PyPI[1].URL = "file:///home/me/project/v-2-py3-none-any.whl" },
	} {
		if id(change) != same {
			t.Errorf("%s changes the id", name)
		}
	}
	seen := map[string]string{same: "nothing"}
	for name, change := range map[string]func(p *lockfile.Platform){
		"none":   func(p *lockfile.Platform) { p.PyPI = nil },
		"one":    func(p *lockfile.Platform) { p.PyPI = p.PyPI[:1] },
		"bytes":  func(p *lockfile.Platform) { p.PyPI[0].SHA256 = "ff" },
		"direct": func(p *lockfile.Platform) { p.PyPI[0].Direct = true },
		"place":  func(p *lockfile.Platform) { p.PyPI[1].Location = "./other/v-2-py3-none-any.whl" },
	} {
		got := id(change)
		if other, dup := seen[got]; dup {
			t.Errorf("%s and %s give one id", name, other)
		}
		seen[got] = name
	}
	if none := id(func(p *lockfile.Platform) { p.PyPI = nil }); none != goldenID {
		t.Errorf("without wheels the id is %s, not that of a lock without wheels", none)
	}
}

const (
	goldenWheelID = "78ae89ebeb3c5f3b432c3f6458e5c07b"
	goldenID      = "9f268a28a39ad50b177f49050833e2dc"
	goldenOwnID   = "e2039ebf68115cab63c6e8fa0b14395b"
)

func TestIDIgnores(t *testing.T) {
	want := materialize.ID(idFormat(), "/opt/hpcenv/e", idPackages(), noScripts)
	for name, change := range map[string]func(*cache.Format, map[string]*lockfile.Platform){
		"order of packages":   func(_ *cache.Format, p map[string]*lockfile.Platform) { slices.Reverse(p["linux-64"].Conda) },
		"order of platforms":  func(f *cache.Format, _ map[string]*lockfile.Platform) { slices.Reverse(f.Platforms) },
		"clusters and owner":  func(f *cache.Format, _ map[string]*lockfile.Platform) { f.Clusters, f.OwnerUID = []string{"c"}, 5 },
		"platform not served": func(_ *cache.Format, p map[string]*lockfile.Platform) { p["linux-ppc64le"] = p["linux-64"] },
		"credentials": func(_ *cache.Format, p map[string]*lockfile.Platform) {
			p["linux-64"].Conda[0].Location = "https://u:pw@conda.example/t/tk-1/main/linux-64/zlib-1.3-h_0.conda"
		},
		"name of the platform": func(_ *cache.Format, p map[string]*lockfile.Platform) { p["linux-64"].Name = "p1" },
	} {
		f, p := idFormat(), idPackages()
		change(&f, p)
		if got := materialize.ID(f, "/opt/hpcenv/e", p, noScripts); got != want {
			t.Errorf("%s changes the id", name)
		}
	}
}

// TestIDCovers: whatever a record says is in the id, field by field.
func TestIDCovers(t *testing.T) {
	f := idFormat()
	seen := map[string]string{materialize.ID(f, "/opt/hpcenv/e", idPackages(), noScripts): "nothing"}
	note := func(what, id string) {
		if other, dup := seen[id]; dup {
			t.Errorf("%s and %s give one id", what, other)
		}
		seen[id] = what
	}
	skip := map[string]bool{"URL": true, "Local": true, "Line": true} // follow from where the lock lies, not what it says
	kind := reflect.TypeOf(lockfile.CondaPackage{})
	for i := range kind.NumField() {
		field := kind.Field(i)
		if skip[field.Name] {
			continue
		}
		p := idPackages()
		c := p["linux-64"].Conda[0]
		v := reflect.ValueOf(c).Elem().Field(i)
		switch v.Interface().(type) {
		case string:
			v.SetString(v.String() + "-changed")
		case int64:
			v.SetInt(v.Int() + 1)
		case bool:
			v.SetBool(!v.Bool())
		case []string:
			v.Set(reflect.ValueOf([]string{"changed"}))
			c.HasPurls = field.Name == "Purls"
		case map[string][]string:
			v.Set(reflect.ValueOf(map[string][]string{"x": {"y"}}))
		default:
			v.SetBytes([]byte(`{"weak":["changed"]}`))
		}
		note("field "+field.Name, materialize.ID(f, "/opt/hpcenv/e", p, noScripts))
	}
	note("another root", materialize.ID(f, "/opt/other", idPackages(), noScripts))
	own := f
	own.PrefixRoot = ""
	note("own store at that path", materialize.ID(own, "/opt/hpcenv/e", idPackages(), noScripts))
	note("scripts", materialize.ID(f, "/opt/hpcenv/e", idPackages(), materialize.Options{}))
	note("byte-code", materialize.ID(f, "/opt/hpcenv/e", idPackages(), materialize.Options{NoScripts: true, ByteCode: true}))
	one := idPackages()
	delete(one, "linux-aarch64")
	note("one platform", materialize.ID(f, "/opt/hpcenv/e", one, noScripts))
	moved := idPackages()
	moved["linux-64"], moved["linux-aarch64"] = moved["linux-aarch64"], moved["linux-64"]
	note("platforms exchanged", materialize.ID(f, "/opt/hpcenv/e", moved, noScripts))
}

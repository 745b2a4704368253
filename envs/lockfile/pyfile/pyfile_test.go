package pyfile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/lockfile/pyfile"
	"github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/envs/python/tag"
)

const digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func TestNameOf(t *testing.T) {
	for location, want := range map[string]string{
		"https://files.example/a/t-1%2Bcpu-py3-none-any.whl#sha256=12": "t-1+cpu-py3-none-any.whl",
		"https://u:secret@files.example/a.zip?x=1":                     "a.zip",
		"file:///srv/a.whl": "a.whl", "../dist/a+b.whl": "a+b.whl", "a.whl": "a.whl",
		"https://files.example": "", "https://files.example/a%2Fb.whl/..": "", "..": "", "": "", "https://u:secret@%zz/a.whl": "", "a\\b.whl": "",
	} {
		got, err := pyfile.NameOf(location)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", location, got, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("it tells a password: %v", err)
		}
	}
}

func TestHashes(t *testing.T) {
	f := &pyfile.File{Name: "a.whl", Location: "https://files.example/a.whl"}
	for _, bad := range [][2]string{{"sha256", "12"}, {"sha256", strings.Repeat("x", 64)}, {"md5", digest}} {
		if err := f.SetHash(bad[0], bad[1]); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
	// What nothing here can verify is no hash.
	if err := f.SetHash("sha512", "12"); err != nil || f.Verified() == nil {
		t.Errorf("%v, %v", err, f.Verified())
	}
	if err := f.SetHash("SHA256", strings.ToUpper(digest)); err != nil || f.SHA256 != digest || f.Verified() != nil {
		t.Errorf("%v, %+v", err, f)
	}
	if err := (&pyfile.File{Location: "../a.whl"}).Verified(); err != nil {
		t.Errorf("a file of the user's own needs no hash: %v", err)
	}
}

func TestWheelIsOfItsPackage(t *testing.T) {
	for _, c := range []struct {
		file, project, version string
		ok                     bool
	}{
		{"Foo_Bar-1.0.0-py3-none-any.whl", "foo-bar", "1.0", true},
		{"foo-1.0+cpu-py3-none-any.whl", "foo", "1.0", true},
		{"foo-1.0-py3-none-any.whl", "foo", "1.0+cpu", true},
		{"foo-1.0+gpu-py3-none-any.whl", "foo", "1.0+cpu", false},
		{"foo-1.1-py3-none-any.whl", "foo", "1.0", false},
		{"foo-1.0-py3-none-any.whl", "bar", "1.0", false},
		{"foo-1.0-py3-none-any.whl", "foo", "", true},
		{"foo.whl", "foo", "", false},
	} {
		f := &pyfile.File{Name: c.file}
		if err := f.SetWheel(c.project, c.version); (err == nil) != c.ok || (f.Wheel != nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestInto(t *testing.T) {
	f := &pyfile.File{Location: "https://files.example/a-1.zip#subdirectory=x", Name: "a-1.zip", SHA256: digest, Size: 3}
	p := &lockfile.PyPIPackage{}
	if f.Into(p); p.Kind != lockfile.PyPISdist || p.Local || p.URL != "https://files.example/a-1.zip" || p.Location != f.Location || p.FileName != "a-1.zip" || p.SHA256 != digest || p.Size != 3 {
		t.Errorf("%+v", p)
	}
	if got := pyfile.IndexURL("https://u:secret@pypi.example/simple/"); got != "https://pypi.example/simple" {
		t.Error(got)
	}
}

// Of many wheels a message lists some and says how many more there are.
func TestNoneIsBounded(t *testing.T) {
	target, err := python.NewTarget("linux-64", "3.12.4", false, tag.Glibc{Major: 2, Minor: 28})
	if err != nil {
		t.Fatal(err)
	}
	var wheels []*pyfile.File
	for i := range 100 {
		f := &pyfile.File{Name: fmt.Sprintf("a-1-%d-cp39-cp39-win_amd64.whl", i)}
		if err := f.SetWheel("a", "1"); err != nil {
			t.Fatal(err)
		}
		wheels = append(wheels, f)
	}
	if pyfile.Best(target.Tags(), wheels) != nil {
		t.Error("one fits")
	}
	text := pyfile.None(target, wheels)
	if !strings.Contains(text, "and 60 more") || !strings.Contains(text, "a-1-0-cp39-cp39-win_amd64.whl is for win_amd64") || strings.Contains(text, "a-1-99-") {
		t.Error(text)
	}
}

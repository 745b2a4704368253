package channel_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/hpcenv/hpcenv/contrib/demo/channel"
	"github.com/hpcenv/hpcenv/contrib/demo/condapkg"
	"github.com/hpcenv/hpcenv/envs/lockfile"
)

func pkg(name, subdir string, depends ...string) *condapkg.Package {
	p := &condapkg.Package{Name: name, Version: "1.0", Build: "h0_3", BuildNumber: 3, Subdir: subdir, Depends: depends, Timestamp: 1686355200000,
		Files: []condapkg.File{{Path: "share/" + name, Data: []byte(name)}}}
	if subdir == "noarch" {
		p.Noarch = "generic"
	}
	return p
}

func make3(t *testing.T) (*channel.Channel, string) {
	t.Helper()
	if _, err := exec.LookPath("bzip2"); err != nil {
		t.Skip("bzip2 IS NOT INSTALLED")
	}
	dir := filepath.Join(t.TempDir(), "channel")
	odd := pkg("odd", "noarch") // nothing of it can be derived from its name
	odd.Build, odd.BuildNumber = "py_x", 9
	_, err := channel.Write(t.Context(), dir, "3.11", []*condapkg.Package{
		pkg("python", "linux-64", "__glibc >=2.34,<3.0.a0", "only"), pkg("python", "linux-aarch64"),
		pkg("only", "linux-64"), odd, pkg("gex", "noarch", "odd"),
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := channel.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c, dir
}

// TestLocks reads what was written with hpcenv's own reader, for both versions
// and all ways to name the channel.
func TestLocks(t *testing.T) {
	c, dir := make3(t)
	p := channel.Demo(c, []string{"python"}, "gex")
	for _, version := range []int{6, 7} {
		for _, base := range []channel.Base{"http://conda.example/demo", channel.Base(channel.FileURL(dir)), "../channel"} {
			text, err := p.Lock(c, version, "http://conda.example/demo", base)
			if err != nil {
				t.Fatal(err)
			}
			lock, err := lockfile.Parse(text)
			if err != nil {
				t.Errorf("version %d, base %s: %v\n%s", version, base, err, text)
				continue
			}
			got := map[string]string{}
			for _, e := range lock.Environments {
				for _, pl := range e.Platforms {
					var names []string
					for _, r := range pl.Conda {
						names = append(names, r.Name)
						checkRecord(t, c, r)
					}
					got[e.Name+" "+pl.Subdir] = strings.Join(names, " ")
				}
			}
			for k, want := range map[string]string{
				"cpu linux-64": "only python", "cpu linux-aarch64": "python", "default linux-64": "odd only python",
				"default linux-aarch64": "odd python", "gex linux-aarch64": "gex odd python",
			} {
				if got[k] != want {
					t.Errorf("version %d, base %s: %s has %q, want %q", version, base, k, got[k], want)
				}
			}
		}
	}
	if _, err := p.Lock(c, 5, "x", "x"); err == nil {
		t.Error("a lock of version 5 was written")
	}
}

func checkRecord(t *testing.T, c *channel.Channel, r *lockfile.CondaPackage) {
	t.Helper()
	for _, e := range c.Packages {
		if e.File != r.FileName || e.Subdir != r.Subdir {
			continue
		}
		if r.Version != e.Version || r.Build != e.Build || r.BuildNumber != int64(e.BuildNumber) || r.Noarch != e.Noarch || r.SHA256 != e.SHA256 ||
			r.MD5 != e.MD5 || r.Size != e.Size || strings.Join(r.Depends, ";") != strings.Join(e.Depends, ";") {
			t.Errorf("the lock says %+v, the channel %+v", r, e)
		}
		return
	}
	t.Errorf("the lock names %s/%s, which the channel does not have", r.Subdir, r.FileName)
}

func TestManifest(t *testing.T) {
	c, _ := make3(t)
	p := channel.Demo(c, []string{"python"}, "gex")
	var m struct {
		Workspace    map[string]any
		Dependencies map[string]string
		Feature      map[string]struct{ Dependencies map[string]string }
		Environments map[string]any
	}
	if err := toml.Unmarshal(p.Manifest(c, "http://conda.example/demo"), &m); err != nil {
		t.Fatal(err)
	}
	if len(m.Dependencies) != 2 || len(m.Feature["cpu"].Dependencies) != 1 || m.Feature["gex"].Dependencies["gex"] != "==1.0" || len(m.Environments) != 2 {
		t.Errorf("manifest: %+v", m)
	}
}

func TestInterpreters(t *testing.T) {
	p := pkg("python", "linux-64")
	p.Files = []condapkg.File{{Path: "bin/python3.11", Data: []byte("program"), Executable: true}}
	dir := filepath.Join(t.TempDir(), "channel")
	if _, err := channel.Write(t.Context(), dir, "3.11", []*condapkg.Package{p, pkg("numpy", "linux-64")}); err != nil {
		t.Fatal(err)
	}
	c, err := channel.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	// sha256 of "program"
	want := channel.Interpreter{Path: "bin/python3.11", Version: "1.0", NumPy: "1.0",
		SHA256: "1310ca2c8932dbd118668bd97442558a3e1f546b5e15c69699dfbd6024f548d8"}
	if c.Interpreters["linux-64"] != want {
		t.Errorf("interpreter %+v, want %+v", c.Interpreters["linux-64"], want)
	}
}

func TestSelectNamesWhatIsMissing(t *testing.T) {
	c, _ := make3(t)
	if _, err := c.Select("linux-aarch64", []string{"only"}); err == nil || !strings.Contains(err.Error(), "only") {
		t.Errorf("a package that the platform lacks: %v", err)
	}
}

func TestWriteLeavesNothingBehindOnFailure(t *testing.T) {
	dir := t.TempDir()
	bad := pkg("bad", "linux-64")
	bad.Files[0].Path = "/x"
	if _, err := channel.Write(t.Context(), filepath.Join(dir, "channel"), "3.11", []*condapkg.Package{bad}); err == nil {
		t.Error("a bad package was written")
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestCheck(t *testing.T) {
	platforms := []string{"linux-64"}
	if err := channel.Check([]*condapkg.Package{pkg("a", "linux-64"), pkg("b", "noarch")}, platforms); err != nil {
		t.Errorf("sound packages: %v", err)
	}
	twin := pkg("b", "noarch")
	twin.Files[0].Path = "share/a"
	if err := channel.Check([]*condapkg.Package{pkg("a", "linux-64"), twin}, platforms); err == nil {
		t.Error("two owners of one path were accepted")
	}
	// The test's own host has a program that needs more than the C library.
	for _, name := range []string{"/usr/bin/gpg", "/usr/bin/bash", "/usr/bin/git"} {
		data, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		p := pkg("a", "linux-64")
		p.Files[0] = condapkg.File{Path: "bin/x", Data: data}
		if err := channel.Check([]*condapkg.Package{p}, platforms); err == nil || !strings.Contains(err.Error(), "no package has") {
			t.Errorf("%s without its libraries: %v", name, err)
		}
		return
	}
	t.Skip("NO PROGRAM THAT NEEDS OTHER LIBRARIES ON THIS HOST")
}

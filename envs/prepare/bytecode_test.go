package prepare

import (
	"bufio"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/bytecode"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/internal/condatest"
	"github.com/hpcenv/hpcenv/internal/testdata"
)

// demoRequest asks for the demo project, for both architectures.
func demoRequest(t *testing.T) *Request {
	t.Helper()
	channel := testdata.DemoChannel(t)
	project := t.TempDir()
	if out, err := exec.Command("../../contrib/demo/channel.sh", "project", project).CombinedOutput(); err != nil {
		t.Fatalf("project of %s: %v: %s", channel, err, out)
	}
	lock, err := os.ReadFile(filepath.Join(project, "pixi.lock"))
	if err != nil {
		t.Fatal(err)
	}
	return &Request{Lock: lock, Dir: project, Platforms: []string{"linux-64", "linux-aarch64"}}
}

// ownStore is a user's own store and what prepares in it; without a sandbox the
// test is skipped.
func ownStore(t *testing.T, platforms ...string) *Deps {
	t.Helper()
	// Its path becomes part of the prefix, whose length is limited, wherever TMPDIR is.
	dir, err := os.MkdirTemp("/tmp", "h")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	store, err := cache.Create(filepath.Join(dir, "s"), cache.Format{Platforms: platforms, OwnerUID: os.Geteuid()})
	if err != nil {
		t.Fatal(err)
	}
	d := &Deps{Store: store, Fetcher: cache.NewFetcher(cache.FetchOptions{AllowFile: true}), OpenLocal: true, Sandbox: bytecode.NewSandbox()}
	if err := d.Sandbox.Available(); err != nil {
		t.Skipf("NO SANDBOX ON THIS HOST: this test was not run: %v", err)
	}
	return d
}

// A real Python finds all of its modules compiled, none of them stale, whichever
// it imports; and the other architecture's environment has the same byte-code.
func TestPythonFindsItsByteCode(t *testing.T) {
	deps := ownStore(t, "linux-64", "linux-aarch64")
	store := deps.Store
	res, err := Run(context.Background(), deps, demoRequest(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	x86, arm := res.Environments[0], res.Environments[1]
	if c := x86.Meta.ByteCode; c == nil || c.Files < 1000 || c.Processes == 0 || c.Failed != 0 {
		t.Fatalf("linux-64: %+v, notes %q", c, res.Notes)
	}
	root := store.TreePath("linux-64", x86.ID)
	var missing []string
	err = filepath.WalkDir(filepath.Join(root, "lib", "python3.11"), func(p string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(p, ".py") {
			if _, serr := os.Stat(filepath.Join(filepath.Dir(p), "__pycache__", strings.TrimSuffix(filepath.Base(p), ".py")+".cpython-311.pyc")); serr != nil {
				missing = append(missing, p)
			}
		}
		return err
	})
	if err != nil || len(missing) > 0 {
		t.Errorf("%v; without byte-code: %q", err, missing)
	}
	importsCompiled(t, root)

	if c := arm.Meta.ByteCode; c == nil || c.Files < 1000 || c.Skipped != "" {
		t.Fatalf("linux-aarch64: %+v", c)
	}
	same := 0
	other := store.TreePath("linux-aarch64", arm.ID)
	err = filepath.WalkDir(other, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(p, ".pyc") {
			return err
		}
		rel, err := filepath.Rel(other, p)
		if err != nil {
			return err
		}
		source := strings.Replace(strings.TrimSuffix(rel, ".cpython-311.pyc")+".py", "__pycache__/", "", 1)
		if !sameFile(filepath.Join(root, source), filepath.Join(other, source)) {
			return nil // other sources
		}
		if !sameFile(filepath.Join(root, rel), p) {
			t.Errorf("%s: one source, two byte-codes", rel)
		}
		same++
		return nil
	})
	if err != nil || same < 1000 {
		t.Errorf("%d sources are the same, %v", same, err)
	}
}

// importsCompiled imports much with the Python of a tree: all of it from byte-code, and
// nothing is stale.
func importsCompiled(t *testing.T, root string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(root, "bin", "python3"), "-v", "-c",
		"import numpy, numpy.linalg, yaml, requests, setuptools, pygments.lexers, jinja2, docutils.core, jsonschema, asyncio, unittest, xml.dom.minidom, sysconfig; sysconfig.get_config_vars()")
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir()}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("python: %v\n%s", err, out)
	}
	matches := 0
	for s := bufio.NewScanner(strings.NewReader(string(out))); s.Scan(); {
		line := s.Text()
		if strings.HasPrefix(line, "# code object from '") && strings.Contains(line, ".pyc'") {
			matches++
			continue
		}
		for _, bad := range []string{"stale", "# code object from ", "# wrote ", "could not create", "bad magic"} {
			if strings.Contains(line, bad) {
				t.Error(line)
			}
		}
	}
	if matches < 300 {
		t.Errorf("only %d modules came from byte-code", matches)
	}
}

func sameFile(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && x.Sys().(*syscall.Stat_t).Ino == y.Sys().(*syscall.Stat_t).Ino
}

// Only the foreign architecture is asked for: the lock's other Python is fetched
// to compile for it.
func TestForeignPlatformAlone(t *testing.T) {
	req := demoRequest(t)
	req.Platforms = []string{"linux-aarch64"}
	deps := ownStore(t, "linux-aarch64")
	res, err := Run(context.Background(), deps, req, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c := res.Environments[0].Meta.ByteCode; c == nil || c.Skipped != "" || c.Files < 1000 {
		t.Errorf("got %+v", c)
	}
}

// Without a sandbox, or where it is not wanted, environments come without
// byte-code, have ids of their own, and the user is told why.
func TestWithoutSandbox(t *testing.T) {
	w := newWorld(t)
	p := condatest.Package{Name: "python", Version: "3.11.0", Build: "0", Files: []condatest.File{{Path: "lib/python3.11/os.py", Content: "x = 1\n"}}}
	entry := w.addPackage(p)
	req := &Request{Lock: lock(map[string][]string{"linux-64": {entry}}), Platforms: []string{"linux-64"}}
	t.Setenv("PATH", t.TempDir())
	w.deps.Sandbox = bytecode.NewSandbox()
	for range 2 { // made, and found
		res, err := Run(context.Background(), w.deps, req, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Notes) != 1 || !strings.Contains(res.Notes[0], "without byte-code") || !strings.Contains(res.Notes[0], "bwrap") {
			t.Errorf("notes %q", res.Notes)
		}
	}
	w.deps.NoByteCode = true
	res, err := Run(context.Background(), w.deps, req, nil)
	if err != nil || len(res.Notes) != 0 || res.Environments[0].New {
		t.Errorf("switched off: %+v, %v", res, err)
	}
}

// A python that does not run leaves its environment without byte-code, and the
// note says what it said.
func TestPythonThatDoesNotRun(t *testing.T) {
	w := newWorld(t)
	p := condatest.Package{Name: "python", Version: "3.11.0", Build: "0", Files: []condatest.File{
		{Path: "lib/python3.11/os.py", Content: "x = 1\n"},
		{Path: "bin/python3.11", Exec: true, Content: "#!/usr/bin/bash\necho 'wrong machine' >&2\nexit 9\n"}}}
	req := &Request{Lock: lock(map[string][]string{"linux-64": {w.addPackage(p)}}), Platforms: []string{"linux-64"}}
	w.deps.Sandbox = bytecode.NewSandbox()
	if err := w.deps.Sandbox.Available(); err != nil {
		t.Skipf("NO SANDBOX ON THIS HOST: this test was not run: %v", err)
	}
	res, err := Run(context.Background(), w.deps, req, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Notes) != 1 || !strings.Contains(res.Notes[0], "wrong machine") {
		t.Errorf("notes %q", res.Notes)
	}
}

func TestChooseCompiler(t *testing.T) {
	platform := func(subdir, version string) *lockfile.Platform {
		p := &lockfile.Platform{Name: subdir, Subdir: subdir}
		if version != "" {
			p.Conda = []*lockfile.CondaPackage{{Name: "python", Version: version, Subdir: subdir}}
		}
		return p
	}
	for name, c := range map[string]struct {
		x86, arm     string // version of python; - = no such platform
		target, host string
		want, why    string
	}{
		"own":               {"3.11.2", "-", "linux-64", "linux-64", "linux-64", ""},
		"foreign":           {"3.11.2", "3.11.2", "linux-aarch64", "linux-64", "linux-64", ""},
		"another version":   {"3.11.2", "3.11.3", "linux-aarch64", "linux-64", "", "3.11.2, not 3.11.3"},
		"no x86 platform":   {"-", "3.11.2", "linux-aarch64", "linux-64", "", "no packages for linux-64"},
		"no x86 python":     {"", "3.11.2", "linux-aarch64", "linux-64", "", "no python for linux-64"},
		"on the target":     {"-", "3.11.2", "linux-aarch64", "linux-aarch64", "linux-aarch64", ""},
		"x86 on aarch64":    {"3.11.2", "3.11.2", "linux-64", "linux-aarch64", "", "cannot run"},
		"nothing to do":     {"3.11.2", "", "linux-aarch64", "linux-64", "", ""},
		"other on a target": {"3.11.2", "3.11.3", "linux-aarch64", "linux-aarch64", "linux-aarch64", ""},
	} {
		env := &lockfile.Environment{Name: "e"}
		var target *lockfile.Platform
		for subdir, v := range map[string]string{"linux-64": c.x86, "linux-aarch64": c.arm} {
			if v == "-" {
				continue
			}
			p := platform(subdir, v)
			env.Platforms = append(env.Platforms, p)
			if subdir == c.target {
				target = p
			}
		}
		got, why := chooseCompiler(env, target, c.host)
		subdir := ""
		if got != nil {
			subdir = got.Subdir
		}
		if subdir != c.want || (c.why == "") != (why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%s: %q, %q", name, subdir, why)
		}
	}
}

// What python needs is found through its dependencies, whatever circles they
// make; what has no architecture does not run.
func TestCompilerPackages(t *testing.T) {
	p := &lockfile.Platform{Subdir: "linux-64", Conda: []*lockfile.CondaPackage{
		{Name: "zlib", Subdir: "linux-64"}, {Name: "other", Subdir: "linux-64"},
		{Name: "python", Subdir: "linux-64", Depends: []string{"openssl >=3,<4", "zlib", "pip", "gone"}},
		{Name: "openssl", Subdir: "linux-64", Depends: []string{"libgcc>=12", "python"}}, {Name: "libgcc", Subdir: "linux-64"},
		{Name: "pip", Subdir: "noarch", Noarch: "python"},
	}}
	var names []string
	for _, c := range compilerPackages(p) {
		names = append(names, c.conda.Name)
	}
	if got := strings.Join(names, " "); got != "python libgcc openssl zlib" {
		t.Errorf("got %s", got)
	}
}

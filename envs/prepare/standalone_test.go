package prepare

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/envs/pyenv"
	"github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/internal/standalonetest"
	"github.com/hpcenv/hpcenv/internal/wheeltest"
)

// saveFile writes a file and returns its URL and sha256.
func saveFile(t *testing.T, name string, data []byte) (url, sum string) {
	t.Helper()
	at := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(at, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return "file://" + at, fmt.Sprintf("%x", sha256.Sum256(data))
}

// offerArchive offers a Python that is an archive in a file.
func offerArchive(t *testing.T, o *pyenv.Offer, version, subdir, name string, data []byte) {
	t.Helper()
	url, sum := saveFile(t, name, data)
	o.Interpreters = append(o.Interpreters, python.Interpreter{Version: version, Platform: subdir, Kind: python.Standalone, URL: url, SHA256: sum})
}

// toolLock has a wheel with a command, and an extra with another pip.
func toolLock(t *testing.T) []byte {
	t.Helper()
	tool := wheeltest.Wheel{Name: "tool", Version: "1", Files: []wheeltest.File{{Path: "tool/__init__.py", Content: "import sys\n\n\ndef main():\n    print('tool', sys.prefix)\n"}},
		Info: map[string][]byte{"entry_points.txt": []byte("[console_scripts]\ntool = tool:main\n")}}
	pip := wheeltest.Wheel{Name: "pip", Version: "2.0", Files: []wheeltest.File{{Path: "pip/__init__.py", Content: "__version__ = '2.0'\n"}, {Path: "pip/new/two.py", Content: "two = 2\n"}}}
	entry := func(w wheeltest.Wheel) string {
		url, sum := saveFile(t, w.FileName(), w.Bytes(t))
		return fmt.Sprintf("\n[[package]]\nname = %q\nversion = %q\nsource = { registry = \"https://pypi.example/simple\" }\nwheels = [{ url = %q, hash = \"sha256:%s\" }]\n", w.Name, w.Version, url, sum)
	}
	return []byte("version = 1\nrequires-python = \">=3.8\"\n\n[[package]]\nname = \"app\"\nversion = \"1\"\nsource = { virtual = \".\" }\ndependencies = [{ name = \"tool\" }]\n\n" +
		"[package.optional-dependencies]\npip = [{ name = \"pip\" }]\n" + entry(tool) + entry(pip))
}

// in runs a program of a prefix and returns what it prints.
func in(t *testing.T, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir()}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
	return strings.TrimSpace(string(out))
}

// A real Python that comes as one archive, for both architectures: it knows where it
// lies, finds what wheels bring, all of it compiled; it is what verifying says; and
// nothing of it is fetched again.
func TestStandalonePython(t *testing.T) {
	deps := ownStore(t, "linux-64", "linux-aarch64")
	x86, arm := standalonetest.Demo(t, "linux-64"), standalonetest.Demo(t, "linux-aarch64")
	deps.Python = &pyenv.Offer{}
	offerArchive(t, deps.Python, x86.Version, "linux-64", "cpython-x86_64-install_only.tar.zst", standalonetest.TarZst(t, x86.Files))
	offerArchive(t, deps.Python, arm.Version, "linux-aarch64", "cpython-aarch64-install_only.tar.gz", standalonetest.TarGz(t, arm.Files))
	req := &Request{Lock: toolLock(t), Platforms: []string{"linux-64", "linux-aarch64"}}
	res, err := Run(context.Background(), deps, req, nil)
	if err != nil || len(res.Notes) > 0 || res.PackagesNew != 3 {
		t.Fatalf("%+v, %v", res, err)
	}
	for _, e := range res.Environments {
		if c := e.Meta.ByteCode; c == nil || c.Files < 500 || c.Failed > 0 || c.Skipped != "" {
			t.Errorf("%s: %+v", e.Platform, c)
		}
		if v, err := Verify(context.Background(), deps.Store, e.Meta); err != nil || !v.Same() || v.PlanDigest != e.Meta.TreeDigest || v.NoPlan != "" {
			t.Errorf("%s: %+v, %v", e.Platform, v, err)
		}
		if len(e.Meta.Conflicts) > 0 || e.Meta.Packages[0].Kind != "interpreter" || e.Meta.Packages[0].Version != x86.Version {
			t.Errorf("%s: %+v, %+v", e.Platform, e.Meta.Conflicts, e.Meta.Packages)
		}
	}
	root := deps.Store.TreePath("linux-64", res.Environments[0].ID)
	bin := filepath.Join(root, "bin")
	said := in(t, filepath.Join(bin, "python"), "-c", `import sys, sysconfig, tool, pip
v = sysconfig.get_config_var
print(sys.prefix, v("LIBDIR"), v("PYTHON_BUILD_STANDALONE"), pip.__version__, sysconfig.get_path("include"), sys.executable)`)
	if want := fmt.Sprintf("%s %s/lib 1 1.0 %s/include/python3.11 %s/python", root, root, root, bin); said != want {
		t.Errorf("python says %q, want %q", said, want)
	}
	if said := in(t, filepath.Join(bin, "tool")); said != "tool "+root {
		t.Errorf("tool says %q", said)
	}
	if said := in(t, filepath.Join(bin, "pip")); said != "pip 1.0" {
		t.Errorf("pip says %q", said)
	}
	venv := filepath.Join(t.TempDir(), "v")
	in(t, filepath.Join(bin, "python"), "-m", "venv", "--without-pip", "--system-site-packages", venv)
	if said := in(t, filepath.Join(venv, "bin", "python"), "-c", "import sys, tool; print(sys.base_prefix); tool.main()"); said != root+"\ntool "+venv {
		t.Errorf("the virtual environment says %q", said)
	}
	managed, err := os.ReadFile(filepath.Join(root, "lib/python3.11/EXTERNALLY-MANAGED"))
	if err != nil || !strings.Contains(string(managed), "uv add --no-sync PACKAGE") {
		t.Errorf("%s, %v", managed, err)
	}
	if records, err := filepath.Glob(filepath.Join(root, "conda-meta/*.json")); err != nil || len(records) > 0 {
		t.Errorf("%v, %v", records, err)
	}
	verbose := in(t, filepath.Join(bin, "python"), "-v", "-c", "import asyncio, sysconfig, tool; sysconfig.get_config_vars()")
	if strings.Count(verbose, "# code object from '") < 50 || strings.Contains(verbose, "# code object from /") || strings.Contains(verbose, "# wrote ") {
		t.Error("not all modules came from byte-code")
	}

	// The next one has all of it already.
	req.Offline, req.Environments = true, []string{"default"}
	again, err := Run(context.Background(), deps, req, nil)
	if err != nil || again.PackagesNew != 0 || again.Environments[0].ID != res.Environments[0].ID || again.Environments[0].New {
		t.Errorf("%+v, %v", again, err)
	}
}

// What the archive itself brings of a distribution gives way to a wheel of it: none
// of it is left, and nothing is a conflict. What a dry run says is what it takes.
func TestStandalonePipGivesWay(t *testing.T) {
	w := newWorld(t)
	w.deps.OpenLocal, w.deps.Fetcher = true, cache.NewFetcher(cache.FetchOptions{AllowFile: true})
	w.deps.Python = &pyenv.Offer{}
	offerArchive(t, w.deps.Python, "3.12.4", "linux-64", "c.tar.gz", standalonetest.TarGz(t, standalonetest.Small("3.12.4", "0")))
	req := &Request{Lock: toolLock(t), Platforms: []string{"linux-64"}, Environments: []string{"default"}}
	plain, err := Run(context.Background(), w.deps, req, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Environments = []string{"extra=pip"}
	if _, err := Run(context.Background(), w.deps, req, nil); err != nil {
		t.Fatal(err)
	}
	req.Environments, req.Lock = []string{"extra=pip"}, append(req.Lock, "\n# another lock, so that it is made again\n"...)
	offerArchive(t, w.deps.Python, "3.12.5", "linux-64", "c.tar.gz", standalonetest.TarGz(t, standalonetest.Small("3.12.5", "0")))
	if _, err := Run(context.Background(), w.deps, &Request{Lock: req.Lock, Platforms: req.Platforms}, nil); err != nil { // brings the interpreter
		t.Fatal(err)
	}
	req.DryRun = true
	dry, err := Run(context.Background(), w.deps, req, nil)
	if err != nil || dry.DryRun.Environments[0].Estimated {
		t.Fatalf("%+v, %v", dry, err)
	}
	req.DryRun = false
	res, err := Run(context.Background(), w.deps, req, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := res.Environments[0].Meta
	if d := dry.DryRun.Environments[0]; d.Inodes != m.Cost.Inodes || d.Bytes != m.Cost.Bytes || len(m.Conflicts) > 0 {
		t.Errorf("a dry run said %+v, it took %+v; conflicts %v", d, m.Cost, m.Conflicts)
	}
	site := func(e Environment, path string) string {
		return filepath.Join(w.deps.Store.TreePath("linux-64", e.ID), "lib/python3.12/site-packages", path)
	}
	for path, want := range map[string][2]bool{ // in the plain one, in that with a wheel of pip
		"pip/__init__.py": {true, true}, "pip/_vendor/one.py": {true, false}, "pip/_vendor": {true, false}, "pip/new/two.py": {false, true},
		"pip-1.0.dist-info": {true, false}, "pip-2.0.dist-info/RECORD": {false, true}, "../../../bin/pip": {true, false}, "README.txt": {true, true}, "../lib-dynload": {true, true},
	} {
		for i, e := range []Environment{plain.Environments[0], res.Environments[0]} {
			if _, err := os.Lstat(site(e, path)); (err == nil) != want[i] {
				t.Errorf("environment %d, %s: %v", i, path, err)
			}
		}
	}
	script, err := os.ReadFile(site(plain.Environments[0], "../../../bin/old-script"))
	if err != nil || !strings.HasPrefix(string(script), "#!"+plain.Environments[0].Meta.Prefix+"/bin/python3.12\n") {
		t.Errorf("%q, %v", script, err)
	}
}

// An archive that is not what the list says is refused with what is wrong.
func TestStandaloneRefused(t *testing.T) {
	for name, c := range map[string]struct {
		version string
		files   []standalonetest.File
		broken  bool
		says    string
		class   error
	}{
		"another version": {"3.12.5", standalonetest.Small("3.12.4", "0"), false, "it is Python 3.12.4, not 3.12.5", materialize.ErrUnlinkable},
		"another kind":    {"3.12.4", []standalonetest.File{{Path: "bin/perl", Content: "x"}}, false, "no Python of python-build-standalone", cache.ErrIntegrity},
		"other bytes":     {"3.12.4", standalonetest.Small("3.12.4", "0"), true, "sha256", cache.ErrIntegrity},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.deps.OpenLocal, w.deps.Fetcher = true, cache.NewFetcher(cache.FetchOptions{AllowFile: true, Retries: -1})
			w.deps.Python = &pyenv.Offer{}
			offerArchive(t, w.deps.Python, c.version, "linux-64", "c.tar.gz", standalonetest.TarGz(t, c.files))
			if c.broken {
				w.deps.Python.Interpreters[0].SHA256 = strings.Repeat("ab", 32)
			}
			_, err := Run(context.Background(), w.deps, &Request{Lock: toolLock(t), Platforms: []string{"linux-64"}}, nil)
			if !errors.Is(err, c.class) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "c.tar.gz") {
				t.Errorf("%v", err)
			}
		})
	}
}

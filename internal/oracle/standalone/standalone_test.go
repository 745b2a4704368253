//go:build oracle

package standalone

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/prepare"
	"github.com/hpcenv/hpcenv/envs/pyenv"
	"github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/envs/python/tag"
	"github.com/hpcenv/hpcenv/internal/oracle"
	"github.com/hpcenv/hpcenv/internal/peer"
	"github.com/hpcenv/hpcenv/internal/standalonetest"
)

// allowed are the differences of the two trees, and why.
var allowed = map[*regexp.Regexp]string{
	regexp.MustCompile(`^conda-meta(/(history|frozen))?$`):                                  "marks a prefix as an environment that is not changed",
	regexp.MustCompile(`^lib/python[0-9.]+/site-packages/hpcenv-overlay\.pth$`):             "shows a job's editable projects",
	regexp.MustCompile(`^lib/python[0-9.]+/EXTERNALLY-MANAGED$`):                            "each says how to change what it made",
	regexp.MustCompile(`^lib/python[0-9.]+/site-packages/[^/]+\.dist-info/INSTALLER$`):      "the two differ by who installs",
	regexp.MustCompile(`^lib/python[0-9.]+/site-packages/[^/]+\.dist-info/RECORD$`):         "has the digests of INSTALLER and of scripts, whose first lines name their prefix; compared by row in the wheels' comparison",
	regexp.MustCompile(`^lib/python[0-9.]+/site-packages/[^/]+\.dist-info/uv_cache\.json$`): "uv's note on its own cache",
	regexp.MustCompile(`^lib/python[0-9.]+/_sysconfigdata_[^/]+\.py$`):                      "uv writes it anew; what it says is compared",
	regexp.MustCompile(`^BUILD$`):                                                           "uv notes which build it installed",
	regexp.MustCompile(`^lib/pkgconfig/[^/]+\.pc$`):                                         "uv drops the last line feed; the rest is compared",
}

// run runs a program and returns what it prints.
func run(t *testing.T, home, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = []string{"HOME=" + home, "TMPDIR=" + home, "PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "UV_CACHE_DIR=" + filepath.Join(home, "uv"), "NO_COLOR=1", "PYTHONDONTWRITEBYTECODE=1"}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s%s", program, args, err, out, stderr.String())
	}
	return string(out)
}

func TestStandalone(t *testing.T) {
	interpreter := peer.Python(t)
	uv := filepath.Join(filepath.Dir(interpreter), "uv")
	py := standalonetest.Real(t)
	if py.Subdir != oracle.Subdir {
		t.Skipf("SKIPPED: the wheels are for %s, this host is %s", oracle.Subdir, py.Subdir)
	}
	base, err := os.MkdirTemp("/tmp", "h") // prefixes are short, whatever TMPDIR is
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	data := standalonetest.TarGz(t, py.Files)
	archive := filepath.Join(base, "cpython-install_only.tar.gz")
	if err := os.WriteFile(archive, data, 0o644); err != nil {
		t.Fatal(err)
	}
	wheels := wheels(t, py)

	theirs := installUV(t, uv, base, archive, standalonetest.SHA256(data), py)
	args := []string{"pip", "install", "--no-config", "--offline", "--no-deps", "--no-index", "--break-system-packages", "--link-mode", "copy", "--python", filepath.Join(theirs, "bin", "python"+minor(py))}
	var lock strings.Builder
	lock.WriteString("version = 1\nrequires-python = \">=3.8\"\n\n[[package]]\nname = \"app\"\nversion = \"1\"\nsource = { virtual = \".\" }\ndependencies = [\n")
	for _, w := range wheels {
		fmt.Fprintf(&lock, "    { name = %q },\n", w.NormalizedName())
	}
	lock.WriteString("]\n")
	for path, w := range wheels {
		args = append(args, "--find-links", filepath.Dir(path), fmt.Sprintf("%s==%s", w.NormalizedName(), w.Version))
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&lock, "\n[[package]]\nname = %q\nversion = %q\nsource = { registry = \"https://pypi.example/simple\" }\nwheels = [{ url = %q, hash = \"sha256:%s\" }]\n",
			w.NormalizedName(), w.Version, "file://"+path, standalonetest.SHA256(content))
	}
	run(t, base, uv, args...)

	store, err := cache.Create(filepath.Join(base, "s"), cache.Format{Platforms: []string{oracle.Subdir}, OwnerUID: os.Geteuid()})
	if err != nil {
		t.Fatal(err)
	}
	deps := &prepare.Deps{Store: store, Fetcher: cache.NewFetcher(cache.FetchOptions{AllowFile: true}), OpenLocal: true, Python: &pyenv.Offer{Interpreters: []python.Interpreter{
		{Version: py.Version, Platform: py.Subdir, Kind: python.Standalone, URL: "file://" + archive, SHA256: standalonetest.SHA256(data)},
	}}}
	res, err := prepare.Run(context.Background(), deps, &prepare.Request{Lock: []byte(lock.String()), Platforms: []string{oracle.Subdir}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ours := store.TreePath(oracle.Subdir, res.Environments[0].ID)
	compareTrees(t, theirs, ours)
	compareVariables(t, base, theirs, ours, minor(py))
	t.Logf("CPython %s with %d wheels", py.Version, len(wheels))
}

func minor(py *standalonetest.Python) string {
	return strings.Join(strings.SplitN(py.Version, ".", 3)[:2], ".")
}

// wheels are the real ones that fit, by path; one of each name.
func wheels(t *testing.T, py *standalonetest.Python) map[string]*tag.WheelName {
	t.Helper()
	cmd := exec.Command("../../../contrib/setup/oracle-wheels.sh", "path")
	out, err := cmd.Output()
	if err != nil {
		if os.Getenv("HPCENV_ORACLE") == "require" {
			t.Fatalf("ORACLE ABSENT: the real wheels were not fetched: %v", err)
		}
		t.Skipf("ORACLE ABSENT: the real wheels were not fetched: %v", err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "x86_64", "*.whl"))
	if err != nil {
		t.Fatal(err)
	}
	target, err := python.NewTarget(py.Subdir, py.Version, false, tag.Glibc{Major: 2, Minor: 28})
	if err != nil {
		t.Fatal(err)
	}
	found, names := map[string]*tag.WheelName{}, map[string]bool{}
	for _, f := range files {
		w, err := tag.ParseWheelName(filepath.Base(f))
		if err != nil {
			t.Fatal(err)
		}
		if target.WhyNot(w) == "" && !names[w.NormalizedName()] {
			names[w.NormalizedName()] = true
			found[f] = w
		}
	}
	if len(found) < 5 {
		t.Fatalf("only %d wheels of %d fit %s", len(found), len(files), py.Version)
	}
	return found
}

// installUV lets uv install the archive, and returns its prefix.
func installUV(t *testing.T, uv, base, archive, sum string, py *standalonetest.Python) string {
	t.Helper()
	var v [3]int
	if _, err := fmt.Sscanf(py.Version, "%d.%d.%d", &v[0], &v[1], &v[2]); err != nil {
		t.Fatal(err)
	}
	key := "cpython-" + py.Version + "-linux-x86_64-gnu"
	list, err := json.Marshal(map[string]any{key: map[string]any{
		"name": "cpython", "arch": map[string]any{"family": "x86_64", "variant": nil}, "os": "linux", "libc": "gnu",
		"major": v[0], "minor": v[1], "patch": v[2], "prerelease": "", "url": "file://" + archive, "sha256": sum, "variant": nil, "build": "20240101",
	}})
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(base, "downloads.json")
	if err := os.WriteFile(at, list, 0o644); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "u")
	run(t, base, uv, "python", "install", py.Version, "--no-config", "--python-downloads-json-url", at, "--install-dir", dir, "--no-bin")
	return filepath.Join(dir, key)
}

// compareTrees compares every path below the two prefixes; a prefix that a text names
// counts as the same.
func compareTrees(t *testing.T, theirs, ours string) {
	t.Helper()
	read := func(root string) map[string]string {
		out := map[string]string{}
		err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if err != nil || p == root {
				return err
			}
			st, err := d.Info()
			if err != nil {
				return err
			}
			rel, text := strings.TrimPrefix(p, root+"/"), ""
			switch {
			case d.IsDir():
				text = "directory"
			case d.Type()&fs.ModeSymlink != 0:
				text, err = os.Readlink(p)
				text = "link to " + text
			default:
				var content []byte
				content, err = os.ReadFile(p)
				text = fmt.Sprintf("file %v %s", st.Mode()&0o111 != 0, strings.ReplaceAll(string(content), root, "PREFIX"))
			}
			out[rel] = text
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	a, b := read(theirs), read(ours)
	paths, used, compared := map[string]bool{}, map[*regexp.Regexp]bool{}, 0
	for p := range a {
		paths[p] = true
	}
	for p := range b {
		paths[p] = true
	}
	short := func(s string) string { return fmt.Sprintf("%.300q", s) }
next:
	for _, p := range slices.Sorted(maps.Keys(paths)) {
		compared++
		if a[p] == b[p] {
			continue
		}
		if strings.HasSuffix(p, ".pc") && a[p] != strings.TrimSuffix(b[p], "\n") {
			t.Errorf("%s: uv has %q, hpcenv %q", p, a[p], b[p])
		}
		for re := range allowed {
			if re.MatchString(p) {
				used[re] = true
				continue next
			}
		}
		t.Errorf("%s: uv has %s, hpcenv %s", p, short(a[p]), short(b[p]))
	}
	for re, why := range allowed {
		if !used[re] {
			t.Errorf("nothing needs the allowed difference %s (%s)", re, why)
		}
	}
	t.Logf("%d paths compared", compared)
}

// compareVariables compares what the two Pythons say of themselves.
func compareVariables(t *testing.T, home, theirs, ours, minor string) {
	t.Helper()
	const ask = `import json, sys, sysconfig
print(json.dumps({"vars": {k: str(v) for k, v in sysconfig.get_config_vars().items()}, "paths": sysconfig.get_paths(), "prefix": sys.prefix, "platform": sysconfig.get_platform()}))`
	said := func(root string) map[string]any {
		text := strings.ReplaceAll(run(t, home, filepath.Join(root, "bin", "python"+minor), "-I", "-c", ask), root, "PREFIX")
		var out map[string]any
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	a, b := said(theirs), said(ours)
	for _, part := range []string{"prefix", "platform"} {
		if a[part] != b[part] {
			t.Errorf("%s: uv's says %v, hpcenv's %v", part, a[part], b[part])
		}
	}
	for _, part := range []string{"vars", "paths"} {
		x, y := a[part].(map[string]any), b[part].(map[string]any)
		if len(x) != len(y) || len(x) == 0 {
			t.Errorf("%s: %d and %d", part, len(x), len(y))
		}
		for key := range x {
			// uv writes one blank for several.
			if one, two := strings.Join(strings.Fields(fmt.Sprint(x[key])), " "), strings.Join(strings.Fields(fmt.Sprint(y[key])), " "); one != two {
				t.Errorf("%s: %s: uv's says %q, hpcenv's %q", part, key, one, two)
			}
		}
	}
}

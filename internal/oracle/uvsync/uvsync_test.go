//go:build oracle

package uvsync

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/prepare"
	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/envs/pyenv"
	"github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/internal/condatest"
	"github.com/hpcenv/hpcenv/internal/oracle"
	"github.com/hpcenv/hpcenv/internal/peer"
	"github.com/hpcenv/hpcenv/internal/wheeltest"
)

const pyproject = `[project]
name = "app"
version = "1"
requires-python = ">=3.8"
dependencies = ["fast>=1", "old; python_version < '3'"]
[project.optional-dependencies]
gpu = ["gpu[more]"]
[dependency-groups]
dev = ["devtool"]
docs = ["pure"]
[tool.uv]
package = false
default-groups = %s
[[tool.uv.index]]
url = "%s/simple"
default = true
`

// index is a package index with the wheels that the project needs, and more.
func index(t *testing.T) (*httptest.Server, map[string][]byte) {
	files := map[string][]byte{}
	links := map[string]string{}
	add := func(name, version, tag string, needs ...string) {
		metadata := fmt.Sprintf("Metadata-Version: 2.1\nName: %s\nVersion: %s\n", name, version)
		for _, n := range needs {
			metadata += n + "\n"
		}
		w := wheeltest.Wheel{Name: name, Version: version, Tag: tag, Files: []wheeltest.File{
			{Path: name + "/__init__.py", Content: "what = '" + name + version + tag + "'\n"}, {Path: name + "/run", Content: "#!/bin/sh\n", Mode: 0o100755},
		}, Info: map[string][]byte{"METADATA": []byte(metadata), "entry_points.txt": []byte("[console_scripts]\n" + name + " = " + name + ":main\n")}}
		data := w.Bytes(t)
		sum := sha256.Sum256(data)
		files["/files/"+w.FileName()] = data
		links[name] += fmt.Sprintf("<a href=\"/files/%s#sha256=%s\">%s</a>\n", w.FileName(), hex.EncodeToString(sum[:]), w.FileName())
	}
	add("fast", "1.0", "py3-none-manylinux_2_17_x86_64", "Requires-Dist: pure")
	add("fast", "1.0", "py3-none-manylinux_2_28_x86_64", "Requires-Dist: pure")
	add("fast", "1.0", "py3-none-manylinux_2_28_aarch64", "Requires-Dist: pure")
	add("pure", "2.0", "")
	add("gpu", "3.0", "", "Provides-Extra: more", "Requires-Dist: extra; extra == 'more'", "Requires-Dist: windows; sys_platform == 'win32'")
	add("extra", "1.0", "py3-none-any")
	add("windows", "1.0", "")
	add("devtool", "1.0", "")
	add("old", "1.0", "")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, ok := strings.CutPrefix(strings.TrimSuffix(r.URL.Path, "/"), "/simple/"); ok && links[name] != "" {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<!DOCTYPE html><html><body>"+links[name]+"</body></html>")
			return
		}
		data, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(data)))
	}))
	t.Cleanup(srv.Close)
	return srv, files
}

// allowed are the differences of the two site-packages, and why.
var allowed = map[*regexp.Regexp]string{
	regexp.MustCompile(`^_virtualenv\.(py|pth)$`):        "uv's virtual environment, not a package",
	regexp.MustCompile(`^hpcenv-overlay\.pth$`):          "shows a job's editable projects",
	regexp.MustCompile(`^[^/]+\.dist-info/INSTALLER$`):   "the two differ by who installs",
	regexp.MustCompile(`^[^/]+\.dist-info/RECORD$`):      "has the digests of INSTALLER and of scripts, whose first lines name their prefix; compared by row in the wheels' comparison",
	regexp.MustCompile(`^[^/]+\.dist-info/REQUESTED$`):   "uv notes what it was asked for",
	regexp.MustCompile(`^(.*/)?__pycache__(/.*\.pyc)?$`): "byte-code",
}

func TestSync(t *testing.T) {
	interpreter := peer.Python(t)
	srv, files := index(t)
	var version, minor string
	var info struct{ Full, Minor string }
	peer.Ask(t, "import sys, json; print(json.dumps({'Full': '%d.%d.%d' % sys.version_info[:3], 'Minor': '%d.%d' % sys.version_info[:2]}))", nil, &info)
	version, minor = info.Full, info.Minor
	base := t.TempDir()
	conda := condatest.Package{Name: "python", Version: version, Build: "0", Subdir: oracle.Subdir, Files: []condatest.File{
		{Path: "bin/python" + minor, Content: "#!/bin/sh\n", Exec: true},
	}}
	archive := conda.Conda(t)
	sum := sha256.Sum256(archive)
	files["/"+oracle.Subdir+"/"+conda.Dist()+".conda"] = archive
	store, err := cache.Create(filepath.Join(base, "store"), cache.Format{PrefixRoot: "/opt/hpcenv/e", Platforms: []string{oracle.Subdir}, OwnerUID: os.Geteuid()})
	if err != nil {
		t.Fatal(err)
	}
	deps := &prepare.Deps{
		Store: store, Fetcher: cache.NewFetcher(cache.FetchOptions{AllowHost: cache.AllowAny}), NoByteCode: true,
		Python: &pyenv.Offer{Interpreters: []python.Interpreter{{Version: version, Platform: oracle.Subdir, Kind: python.Conda,
			URL: srv.URL + "/" + oracle.Subdir + "/" + conda.Dist() + ".conda", SHA256: hex.EncodeToString(sum[:])}}},
	}
	compared := 0
	for groups, dir := range map[string]string{`["dev"]`: "a", `["docs"]`: "b", `[]`: "c", `"all"`: "d"} {
		dir = filepath.Join(base, dir)
		uv := func(args ...string) {
			t.Helper()
			cmd := exec.Command(filepath.Join(filepath.Dir(interpreter), "uv"), append(args, "--project", dir, "--python", interpreter)...)
			cmd.Env = []string{"HOME=" + base, "PATH=" + os.Getenv("PATH"), "UV_CACHE_DIR=" + filepath.Join(base, "cache"), "UV_LINK_MODE=copy", "LC_ALL=C.UTF-8", "UV_PROJECT_ENVIRONMENT=" + filepath.Join(dir, "venv"), "NO_PROXY=*", "XDG_CONFIG_DIRS=" + base}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("uv %v: %v\n%s", args, err, out)
			}
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "pyproject.toml"), fmt.Appendf(nil, pyproject, groups, srv.URL), 0o644); err != nil {
			t.Fatal(err)
		}
		uv("lock")
		lock, err := os.ReadFile(filepath.Join(dir, "uv.lock"))
		if err != nil {
			t.Fatal(err)
		}
		for word, flags := range map[string][]string{
			"default": nil, "extra=gpu": {"--extra", "gpu"}, "no-dev": {"--no-dev"}, "group=docs,extra=gpu": {"--group", "docs", "--extra", "gpu"},
			"only-groups,group=docs": {"--only-group", "docs"}, "all-extras,all-groups": {"--all-extras", "--all-groups"}, "no-default-groups": {"--no-default-groups"},
		} {
			uv(append([]string{"sync", "--frozen"}, flags...)...)
			theirs := site(t, filepath.Join(dir, "venv", "lib", "python"+minor, "site-packages"))
			names, err := project.OpenPython(filepath.Join(dir, "uv.lock"), lock).Names([]string{word}, false)
			if err != nil {
				t.Fatal(err)
			}
			res, err := prepare.Run(context.Background(), deps, &prepare.Request{Lock: lock, Environments: names, Platforms: []string{oracle.Subdir}}, nil)
			if err != nil {
				t.Fatalf("default groups %s, %s: %v", groups, word, err)
			}
			ours := site(t, filepath.Join(store.TreePath(oracle.Subdir, res.Environments[0].ID), "lib", "python"+minor, "site-packages"))
			for path, node := range theirs {
				if mine, there := ours[path]; !there || mine != node {
					t.Errorf("default groups %s, %s (%s): %s: uv has %q, hpcenv has %q", groups, word, names[0], path, node, mine)
				}
			}
			for path := range ours {
				if _, there := theirs[path]; !there {
					t.Errorf("default groups %s, %s (%s): %s: hpcenv has it, uv does not", groups, word, names[0], path)
				}
			}
			compared += len(theirs)
		}
	}
	t.Logf("28 environments, %d paths compared", compared)
	if compared < 28*4 {
		t.Error("there was too little to compare")
	}
}

// site is what lies below a site-packages, but for what may differ: kind, executable
// bit and content by path.
func site(t *testing.T, dir string) map[string]string {
	t.Helper()
	tree := map[string]oracle.Node{}
	if _, err := os.Stat(dir); err == nil {
		if tree, err = oracle.Tree(dir); err != nil {
			t.Fatal(err)
		}
	}
	out := map[string]string{}
paths:
	for path, n := range tree {
		for re := range allowed {
			if re.MatchString(path) {
				continue paths
			}
		}
		out[path] = fmt.Sprint(n.Type, n.Exec, n.SHA256, n.Link)
	}
	return out
}

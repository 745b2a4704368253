//go:build cluster

package clustertest

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/internal/wheeltest"
)

// cmdPythonProject: python-project DIR: an editable project with a uv.lock in DIR, whose two
// wheels a server here has, and a daemon that offers the Python of the demo's
// channel for each platform of the cluster, until the story ends.
func (c *cluster) cmdPythonProject(t *testing.T) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: python-project DIR")
		}
		wheels := map[string][]byte{}
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			data, ok := wheels[strings.TrimPrefix(r.URL.Path, "/")]
			if !ok {
				http.NotFound(w, r)
				return
			}
			if _, err := w.Write(data); err != nil {
				t.Log(err) // a client that left
			}
		}))
		ts.Defer(srv.Close)
		var entries strings.Builder
		for _, name := range []string{"hello", "more"} {
			w := wheeltest.Wheel{Name: name, Version: "1", Files: []wheeltest.File{
				{Path: name + ".py", Content: "import platform\n\n\ndef main():\n    print('" + name + " on', platform.machine())\n"},
			}, Info: map[string][]byte{"entry_points.txt": []byte("[console_scripts]\n" + name + " = " + name + ":main\n")}}
			data := w.Bytes(t)
			wheels[w.FileName()] = data
			fmt.Fprintf(&entries, "\n[[package]]\nname = %q\nversion = \"1\"\nsource = { registry = \"https://pypi.example/simple\" }\nwheels = [{ url = \"%s/%s\", hash = \"sha256:%x\" }]\n",
				name, srv.URL, w.FileName(), sha256.Sum256(data))
		}
		dir := ts.MkAbs(args[0])
		ts.Check(os.MkdirAll(dir, 0o755))
		ts.Check(os.WriteFile(filepath.Join(dir, "uv.lock"), []byte(`version = 1
requires-python = ">=3.9"

[[package]]
name = "app"
version = "1"
source = { editable = "." }
dependencies = [{ name = "hello" }]

[package.optional-dependencies]
more = [{ name = "more" }]

[package.metadata]
requires-dist = [{ name = "hello" }, { name = "more", marker = "extra == 'more'" }]
`+entries.String()), 0o644))
		ts.Check(os.WriteFile(filepath.Join(dir, "pyproject.toml"), []byte(`[project]
name = "app"
version = "1"
dependencies = ["hello"]
[project.optional-dependencies]
more = ["more"]
[project.scripts]
app-cmd = "app:main"
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
`), 0o644))
		ts.Check(os.WriteFile(filepath.Join(dir, "app.py"), []byte("import hello\n\n\ndef main():\n    hello.main()\n    print('app from', __file__)\n"), 0o644))
		ts.Check(chownTree(dir, user1))
		data, err := os.ReadFile(filepath.Join(c.projects, "pixi.lock"))
		ts.Check(err)
		offer, err := interpreters(data)
		ts.Check(err)
		more := filepath.Join(c.state, "etc/hpcenvd.more.yaml")
		before, err := os.ReadFile(more)
		ts.Check(err)
		restart := func(conf []byte) {
			ts.Check(c.devcluster("daemon", "stop").Run())
			ts.Check(os.WriteFile(more, conf, 0o644))
			ts.Check(c.devcluster("daemon", "start").Run())
		}
		restart(append(before, offer...))
		ts.Defer(func() { restart(before) })
	}
}

// interpreters is what hpcenvd is told of the Python of a lock's default environment.
func interpreters(data []byte) (string, error) {
	lock, err := lockfile.Parse(data)
	if err != nil {
		return "", err
	}
	env, err := lock.Environment("default")
	if err != nil {
		return "", err
	}
	out := "interpreters:\n"
	for _, p := range env.Platforms {
		by := map[string]*lockfile.CondaPackage{}
		for _, pkg := range p.Conda {
			by[pkg.Name] = pkg
		}
		py := by["python"]
		out += fmt.Sprintf("- version: %s\n  platform: %s\n  kind: conda\n  url: %s\n  sha256: %q\n  with:\n", py.Version, p.Subdir, py.URL, py.SHA256)
		seen := map[string]bool{"python": true}
		for todo := py.Depends; len(todo) > 0; todo = todo[1:] {
			name, _, _ := strings.Cut(todo[0], " ")
			if pkg := by[name]; pkg != nil && !seen[name] {
				seen[name] = true
				todo = append(todo, pkg.Depends...)
				out += fmt.Sprintf("  - {url: %q, sha256: %q}\n", pkg.URL, pkg.SHA256)
			}
		}
		if len(seen) == 1 {
			out = strings.TrimSuffix(out, "  with:\n")
		}
	}
	return out, nil
}

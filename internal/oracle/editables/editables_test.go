//go:build oracle

package editables

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/envs/activation"
	"github.com/hpcenv/hpcenv/envs/editable"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/internal/oracle/wheels"
	"github.com/hpcenv/hpcenv/internal/peer"
)

//go:embed probe.py
var probe string

// facts is what probe.py says.
type facts struct {
	Metadata    map[string][]string `json:"metadata"`
	Description string              `json:"description"`
	Version     string              `json:"version"`
	EntryPoints [][]string          `json:"entry_points"`
	Loaded      []string            `json:"loaded"`
	DirectURL   any                 `json:"direct_url"`
	TopLevel    []string            `json:"top_level"`
	Files       []string            `json:"files"`
	Path        []string            `json:"path"`
	Modules     map[string]any      `json:"modules"`
	// Commands are what each console script prints.
	Commands map[string]string `json:"commands"`
}

// world is a prefix whose Python sees the build backends.
type world struct {
	base, python string
	prefix       *wheels.Prefix
	site         string
	// own is sys.path of the prefix alone.
	own []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{python: peer.Python(t)}
	base, err := os.MkdirTemp("", "e")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	if w.base, err = filepath.EvalSymlinks(base); err != nil {
		t.Fatal(err)
	}
	if w.prefix, err = wheels.MakePrefix(w.python, filepath.Join(w.base, "prefix")); err != nil {
		t.Skipf("ORACLE ABSENT: no prefix can be made of %s: %v", w.python, err)
	}
	w.site = filepath.Join(w.prefix.Path, "lib", "python"+w.prefix.Short, "site-packages")
	backends := filepath.Join(filepath.Dir(filepath.Dir(w.python)), "lib", "python"+w.prefix.Short, "site-packages")
	write(t, filepath.Join(w.site, "backends.pth"), backends+"\n")
	write(t, filepath.Join(w.site, materialize.OverlayHook), materialize.OverlayLine)
	if err := os.Symlink("python"+w.prefix.Short, filepath.Join(w.prefix.Path, "bin", "python")); err != nil {
		t.Fatal(err)
	}
	return w
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (w *world) run(t *testing.T, dir string, env []string, program string, args ...string) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = append([]string{"HOME=" + w.base, "PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "UV_CACHE_DIR=" + filepath.Join(w.base, "uv"), "PYTHONDONTWRITEBYTECODE=1", "NO_COLOR=1",
		"GIT_CONFIG_GLOBAL=/dev/null"}, env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s%s", program, strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String()
}

// ask runs the probe and every command of bin.
func (w *world) ask(t *testing.T, c Case, bin string, env ...string) *facts {
	t.Helper()
	python := w.prefix.Path + "/bin/python"
	var f facts
	out := w.run(t, "/", env, python, append([]string{"-P", "-c", probe, c.Dist}, c.Modules...)...)
	if err := json.Unmarshal([]byte(out), &f); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f.Commands = map[string]string{}
	for _, ep := range f.EntryPoints {
		if ep[0] == "console_scripts" || ep[0] == "gui_scripts" {
			f.Commands[ep[1]] = w.run(t, "/", env, filepath.Join(bin, ep[1]))
		}
	}
	f.Path = slices.DeleteFunc(f.Path, func(p string) bool { return slices.Contains(w.own, p) || strings.Contains(p, "/overlays/") })
	return &f
}

func TestEditables(t *testing.T) {
	w := newWorld(t)
	var own struct{ Path []string }
	if err := json.Unmarshal([]byte(w.run(t, "/", nil, w.prefix.Path+"/bin/python", "-P", "-c", "import json,sys; print(json.dumps({'path': sys.path}))")), &own); err != nil {
		t.Fatal(err)
	}
	w.own = own.Path
	before := entries(t, w)
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) { w.compare(t, c, before) })
	}
}

func entries(t *testing.T, w *world) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, dir := range []string{w.site, filepath.Join(w.prefix.Path, "bin")} {
		list, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			out[filepath.Join(dir, e.Name())] = true
		}
	}
	return out
}

var unfit = regexp.MustCompile(`[^A-Za-z0-9]+`)

func (w *world) compare(t *testing.T, c Case, before map[string]bool) {
	dir := filepath.Join(w.base, "projects", unfit.ReplaceAllString(c.Name, "-"), "a b")
	for f, text := range c.Files {
		write(t, filepath.Join(dir, f), text)
	}
	if c.Git {
		w.run(t, dir, nil, "sh", "-ec", `git init -q . && git config user.email a@x.example && git config user.name A && git add -A && git commit -qm one && git tag v1.4 &&
			echo >> more.txt && git add -A && git commit -qm two`)
	}
	// hpcenv first: the reference may write into the tree.
	p, err := editable.Read(editable.Tree{Name: c.Dist, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	o, err := editable.New([]*editable.Project{p}, map[string]string{"": w.prefix.Path})
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := o.Write(filepath.Join(w.base, "overlays"), filepath.Base(w.prefix.Path))
	if err != nil {
		t.Fatal(err)
	}
	ours := w.ask(t, c, filepath.Join(overlay, "bin"), activation.OverlayName+"="+overlay)

	w.run(t, dir, nil, filepath.Join(filepath.Dir(w.python), "uv"), "pip", "install", "-q", "--no-config", "--offline", "--no-deps", "--no-build-isolation",
		"--python", w.prefix.Path+"/bin/python", "-e", dir)
	defer func() {
		for path := range entries(t, w) {
			if !before[path] {
				if err := os.RemoveAll(path); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	theirs := w.ask(t, c, filepath.Join(w.prefix.Path, "bin"))
	allow(c.Name, theirs, ours)
	if d := cmp.Diff(theirs, ours); d != "" {
		t.Errorf("uv (-) and hpcenv (+) differ:\n%s", d)
	}
}

package activation

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/internal/peer"
)

// allowedDifferences are variables in which this package deliberately differs
// from rattler.
var allowedDifferences = map[string]string{
	"PATH":             "compared apart: rattler's script repeats the inherited PATH, and lets a package's env_vars.d overwrite it",
	"PYTHONNOUSERSITE": "set by hpcenv: a job must not see the user's site-packages",
	"UNS":              "conda's ***unset*** removes the variable; rattler gives it that text",
	MarkerName:         "hpcenv's marker",
	UndoName:           "hpcenv's undo record",
}

// allowedPrefix are families of such variables.
var allowedPrefix = map[string]string{
	"CONDA_ENV_SHLVL_": "rattler keeps what it overwrites there; hpcenv keeps it in the undo record",
}

const askActivator = `
import json, sys
from pathlib import Path
from rattler.shell import activate, ActivationVariables, PathModificationBehavior, Shell
out = []
for prefix, path in json.load(sys.stdin):
    v = ActivationVariables(None, path.split(":"), PathModificationBehavior.Prepend)
    out.append(activate(Path(prefix), v, Shell.bash, "linux-64").script)
json.dump(out, sys.stdout)
`

// world is a prefix with what its packages and its project add.
type world struct {
	files map[string]string
	base  []string
	m     *Manifest
	name  string
}

// pixi's own variables, as its documentation has them (PIXI_EXE is left out:
// there is no pixi where a job runs).
func pixiVariables(m *Manifest, env string) [][2]string {
	shown := env
	out := [][2]string{{"PIXI_IN_SHELL", "1"}, {"PIXI_ENVIRONMENT_NAME", env}}
	if m != nil {
		version := m.Version
		if version == "" {
			version = "NO_VERSION_SPECIFIED"
		}
		shown = m.Name
		if env != "default" {
			shown = m.Name + ":" + env
		}
		out = append(out, [2]string{"PIXI_PROJECT_ROOT", m.Root}, [2]string{"PIXI_PROJECT_NAME", m.Name}, [2]string{"PIXI_PROJECT_VERSION", version},
			[2]string{"PIXI_PROJECT_MANIFEST", filepath.Join(m.Root, m.File)}, [2]string{"PIXI_ENVIRONMENT_PLATFORMS", strings.Join(m.Platforms, ",")})
	}
	return append(out, [2]string{"CONDA_DEFAULT_ENV", shown}, [2]string{"PIXI_PROMPT", "(" + shown + ") "})
}

// like pixi does, the project's part is added to rattler's activator: pixi's
// variables behind those of the packages, the project's scripts behind theirs,
// [activation.env] last.
func (w *world) asPixi(t *testing.T, prefix string) {
	t.Helper()
	vars := map[string]string{}
	for _, v := range pixiVariables(w.m, w.name) {
		vars[v[0]] = v[1]
	}
	text, err := json.Marshal(vars)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"etc/conda/env_vars.d/~pixi.json": string(text)}
	if w.m != nil {
		for i, s := range w.m.Scripts[""] {
			files[fmt.Sprintf("etc/conda/activate.d/~%d.sh", i)] = s.Content
		}
		var last strings.Builder
		names := make([]string, 0, len(w.m.Env[""]))
		for n := range w.m.Env[""] {
			names = append(names, n)
		}
		slices.Sort(names)
		for _, n := range names {
			fmt.Fprintf(&last, "export %s=\"%s\"\n", n, strings.ReplaceAll(w.m.Env[""][n], `"`, `\"`))
		}
		files["etc/conda/activate.d/~~env.sh"] = last.String()
	}
	write(t, prefix, files)
}

// compare activates all worlds with both and compares every variable.
func compare(t *testing.T, worlds []world) {
	t.Helper()
	type mine struct {
		prefix string
		env    []string
	}
	var ours []mine
	var asks [][2]string
	for _, w := range worlds {
		prefix := t.TempDir()
		write(t, prefix, w.files)
		st, err := FromTree(prefix, prefix)
		if err != nil {
			t.Fatal(err)
		}
		res, err := Activate(context.Background(), Input{Env: w.base, ID: "aa", Platform: "linux-64", Prefix: prefix, Static: st, Manifest: w.m, EnvName: w.name})
		if err != nil {
			t.Fatalf("%v\n%v", err, w.files)
		}
		ours = append(ours, mine{prefix, res.Env})
		w.asPixi(t, prefix)
		asks = append(asks, [2]string{prefix, "/usr/bin:/bin"})
	}
	var scripts []string
	peer.Ask(t, askActivator, asks, &scripts)
	compared := 0
	for i, w := range worlds {
		cmd := exec.Command("/bin/bash", "--noprofile", "--norc", "-c", `eval "$1" >/dev/null; exec /usr/bin/env -0`, "bash", scripts[i])
		cmd.Env = w.base
		dump, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, scripts[i])
		}
		want := parseEnviron(strings.Split(strings.TrimSuffix(string(dump), "\x00"), "\x00"))
		n := difference(t, parseEnviron(ours[i].env), want)
		compared += n
		if t.Failed() {
			t.Fatalf("world %d:\n%v\n%v\n%+v\nscript:\n%s", i, w.files, w.base, w.m, scripts[i])
		}
		path, _ := want.get("PATH")
		if first, _, _ := strings.Cut(path, ":"); first != filepath.Join(ours[i].prefix, "bin") {
			t.Errorf("rattler's PATH begins with %s", first)
		}
		wantVar(t, ours[i].env, "PATH", ours[i].prefix+"/bin:/usr/bin:/bin")
	}
	t.Logf("%d variables of %d activations compared", compared, len(worlds))
}

// difference compares variable by variable and counts them.
func difference(t *testing.T, got, want *environ) (compared int) {
	t.Helper()
	names := append(slices.Clone(got.names), want.names...)
	slices.Sort(names)
next:
	for _, n := range slices.Compact(names) {
		if allowedDifferences[n] != "" || volatile(n) {
			continue
		}
		for p := range allowedPrefix {
			if strings.HasPrefix(n, p) {
				continue next
			}
		}
		compared++
		g, gok := got.get(n)
		w, wok := want.get(n)
		if g != w || gok != wok {
			t.Errorf("%s = %q (set: %v), rattler has %q (set: %v)", n, g, gok, w, wok)
		}
	}
	return compared
}

// One prefix with everything that is known to be hard.
func TestSameAsRattler(t *testing.T) {
	compare(t, []world{{
		name: "gex",
		base: []string{"PATH=/usr/bin:/bin", "HOME=/h", "LD_LIBRARY_PATH=/mine", "PLAIN=before"},
		files: map[string]string{
			"etc/conda/env_vars.d/10.json": `{"PLAIN":"v","REF":"$CONDA_PREFIX/share","BRACED":"${PLAIN}x","DOLLAR":"cost: 5$","QUOTES":"a 'b' \"c\" $PLAIN","TICKS":"` + "`id`" + `",` +
				`"ESC":"\\$PLAIN","BACK":"a\\b","BACKREF":"a\\b$PLAIN","SUB":"$(echo sub) x","DEFAULT":"${NOPE:-d}","NUM":3,"UNSETREF":"[$NOT_THERE]","lower":"l","SPACE":" a  b "}`,
			"etc/conda/env_vars.d/20.json":    `{"PLAIN":"second"}`,
			"conda-meta/state":                `{"env_vars":{"FROM_STATE":"s","up":"per","UNS":"***unset***"}}`,
			"etc/conda/activate.d/a.sh":       "export A=\"$PLAIN:$CONDA_PREFIX:$PIXI_PROJECT_NAME\"\nexport LD_LIBRARY_PATH=\"$CONDA_PREFIX/lib:$LD_LIBRARY_PATH\"\necho noise\n",
			"etc/conda/activate.d/b.sh":       "export B=$A.b; [ -n \"$NOT_THERE\" ] && export C=1\n",
			"etc/conda/activate.d/a.fish":     "exit 1\n",
			"etc/conda/activate.d/c.sh.bak":   "export NEVER=1\n",
			"etc/conda/deactivate.d/a.sh":     "unset A\n",
			"etc/conda/activate.d/z dir/x.sh": "export NEVER=1\n",
		},
		m: &Manifest{Name: "proj", Version: "1.2", Root: "/work dir/proj", File: "pixi.toml", Platforms: []string{"linux-64", "gpu"},
			Scripts: map[string][]Script{"": {{Path: "s.sh", Content: "export S=$A+$PIXI_ENVIRONMENT_NAME; unset HOME\n"}, {Path: "t.sh", Content: "S=$S!; unset lower\n"}}},
			Env:     map[string]map[string]string{"": {"LAST": "$S:$B", "PLAIN": "project's", "QUOTED": `say "x"`}}},
	}, {
		name:  "default",
		base:  []string{"PATH=/usr/bin:/bin"},
		files: map[string]string{"conda-meta/history": ""},
		m:     &Manifest{Name: "proj", Root: "/p", File: "pyproject.toml", Platforms: []string{"linux-64"}},
	}, {
		name:  "default",
		base:  []string{"PATH=/usr/bin:/bin", "PIXI_IN_SHELL=0"},
		files: map[string]string{"conda-meta/history": ""},
		m:     nil,
	}})
}

// Many generated prefixes and projects.
func TestGeneratedSameAsRattler(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	some := func(list ...string) string { return list[r.IntN(len(list))] }
	name := func() string { return some("V0", "V1", "V2", "V3", "V4", "FOO_PATH", "CFLAGS", "MixedCase", "_U") }
	value := func() string {
		return some("", "x", "a b", " lead", "$V0", "${V1}/y", "$CONDA_PREFIX/lib", "$NOPE", "it's", `q"q`, "5$", "a\\b", "*", "~", "#c", "x;y", "$V0$V1", "é", "!x", "a=b") + some("", "", "tail", ":z")
	}
	vars := func(n int) string {
		m := map[string]string{}
		for range n {
			m[name()] = value()
		}
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	// Variables that packages declare do not refer to pixi's: hpcenv sets these
	// first, since they are equal on all nodes.
	script := func() string {
		var b strings.Builder
		for range 1 + r.IntN(3) {
			switch r.IntN(6) {
			case 5:
				fmt.Fprintf(&b, "export %s=\"$PIXI_PROJECT_NAME/$PIXI_ENVIRONMENT_NAME\"\n", name())
			case 0:
				fmt.Fprintf(&b, "export %s=\"$%s:$%s\"\n", name(), name(), name())
			case 1:
				fmt.Fprintf(&b, "unset %s\n", name())
			case 2:
				fmt.Fprintf(&b, "%s=new # not exported unless it was\n", name())
			case 3:
				fmt.Fprintf(&b, "if [ -z \"${%s:-}\" ]; then export %s=was-empty; fi\n", name(), name())
			case 4:
				fmt.Fprintf(&b, "echo noise; false; export LD_LIBRARY_PATH=\"$CONDA_PREFIX/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\"\n")
			}
		}
		return b.String()
	}
	var worlds []world
	for range 80 {
		w := world{files: map[string]string{"conda-meta/history": ""}, base: []string{"PATH=/usr/bin:/bin", "HOME=/h"}, name: some("default", "gex")}
		for _, n := range []string{"V0", "V3", "LD_LIBRARY_PATH", "CFLAGS", "OWN"} {
			if r.IntN(3) == 0 {
				w.base = append(w.base, n+"="+some("base", "", "b 1"))
			}
		}
		for i := range r.IntN(3) {
			w.files[fmt.Sprintf("etc/conda/env_vars.d/%d.json", i)] = vars(1 + r.IntN(4))
		}
		if r.IntN(2) == 0 {
			w.files["conda-meta/state"] = `{"env_vars":` + vars(1+r.IntN(3)) + `}`
		}
		for i := range r.IntN(4) {
			w.files[fmt.Sprintf("etc/conda/activate.d/%d.sh", i)] = script()
		}
		if r.IntN(3) > 0 {
			w.m = &Manifest{Name: "proj", Version: some("", "2"), Root: "/p", File: "pixi.toml", Platforms: []string{"linux-64", "linux-aarch64"}}
			for i := range r.IntN(3) {
				if w.m.Scripts == nil {
					w.m.Scripts = map[string][]Script{}
				}
				w.m.Scripts[""] = append(w.m.Scripts[""], Script{Path: fmt.Sprintf("%d.sh", i), Content: script()})
			}
			if r.IntN(2) == 0 {
				w.m.Env = map[string]map[string]string{"": {some("E0", "E1", "V2"): value(), "E2": "fixed"}}
			}
		}
		worlds = append(worlds, w)
	}
	compare(t, worlds)
}

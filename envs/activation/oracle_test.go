package activation

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
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

const oracleProgram = `
import sys
from pathlib import Path
from rattler.shell import activate, ActivationVariables, PathModificationBehavior, Shell
v = ActivationVariables(None, sys.argv[2].split(":"), PathModificationBehavior.Prepend)
sys.stdout.write(activate(Path(sys.argv[1]), v, Shell.bash, "linux-64").script)
`

// rattler, through py-rattler, activates the same generated prefix; every
// variable must be the same, with allowedDifferences the only exceptions.
func TestSameAsRattler(t *testing.T) {
	python := os.Getenv("HPCENV_PYRATTLER")
	if python == "" {
		t.Skipf("ORACLE ABSENT: set HPCENV_PYRATTLER to a python that has py-rattler to compare with it")
	}
	prefix := t.TempDir()
	write(t, prefix, map[string]string{
		"etc/conda/env_vars.d/10.json": `{"PLAIN":"v","REF":"$CONDA_PREFIX/share","BRACED":"${PLAIN}x","DOLLAR":"cost: 5$","QUOTES":"a 'b' \"c\" $PLAIN","TICKS":"` + "`id`" + `",` +
			`"ESC":"\\$PLAIN","BACK":"a\\b","BACKREF":"a\\b$PLAIN","SUB":"$(echo sub) x","DEFAULT":"${NOPE:-d}","NUM":3,"UNSETREF":"[$NOT_THERE]","lower":"l","SPACE":" a  b "}`,
		"etc/conda/env_vars.d/20.json":    `{"PLAIN":"second"}`,
		"conda-meta/state":                `{"env_vars":{"FROM_STATE":"s","up":"per","UNS":"***unset***"}}`,
		"etc/conda/activate.d/a.sh":       "export A=\"$PLAIN:$CONDA_PREFIX\"\nexport LD_LIBRARY_PATH=\"$CONDA_PREFIX/lib:$LD_LIBRARY_PATH\"\necho noise\n",
		"etc/conda/activate.d/b.sh":       "export B=$A.b; [ -n \"$NOT_THERE\" ] && export C=1\n",
		"etc/conda/activate.d/a.fish":     "exit 1\n",
		"etc/conda/activate.d/c.sh.bak":   "export NEVER=1\n",
		"etc/conda/deactivate.d/a.sh":     "unset A\n",
		"etc/conda/activate.d/z dir/x.sh": "export NEVER=1\n",
	})
	base := []string{"PATH=/usr/bin:/bin", "HOME=/h", "LD_LIBRARY_PATH=/mine"}
	out, err := exec.Command(python, "-c", oracleProgram, prefix, "/usr/bin:/bin").Output()
	if err != nil {
		t.Fatalf("py-rattler: %v", err)
	}
	cmd := exec.Command("/bin/bash", "--noprofile", "--norc", "-c", `eval "$1" >/dev/null; exec /usr/bin/env -0`, "bash", string(out))
	cmd.Env = base
	dump, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	want := parseEnviron(strings.Split(strings.TrimSuffix(string(dump), "\x00"), "\x00"))
	st, err := FromTree(prefix, prefix)
	if err != nil {
		t.Fatal(err)
	}
	res, err := Activate(context.Background(), Input{Env: base, ID: "aa", Platform: "linux-64", Prefix: prefix, Static: st, EnvName: "default"})
	if err != nil {
		t.Fatal(err)
	}
	got := parseEnviron(res.Env)
	names := map[string]bool{}
	for _, n := range append(append([]string(nil), got.names...), want.names...) {
		names[n] = true
	}
	var all []string
	for n := range names {
		all = append(all, n)
	}
	sort.Strings(all)
	for _, n := range all {
		// pixi's own variables are not rattler's.
		if allowedDifferences[n] != "" || strings.HasPrefix(n, "PIXI_") || n == "CONDA_DEFAULT_ENV" || volatile(n) {
			continue
		}
		g, gok := got.get(n)
		w, wok := want.get(n)
		if g != w || gok != wok {
			t.Errorf("%s = %q (set: %v), rattler has %q (set: %v)", n, g, gok, w, wok)
		}
	}
	path, _ := want.get("PATH")
	if first, _, _ := strings.Cut(path, ":"); first != filepath.Join(prefix, "bin") {
		t.Errorf("rattler's PATH begins with %s", first)
	}
	wantVar(t, res.Env, "PATH", prefix+"/bin:/usr/bin:/bin")
	wantUnset(t, res.Env, "NEVER")
}

package activation

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFromTree(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{
		"etc/conda/env_vars.d/b.json":       `{"B":"2","A":"over"}`,
		"etc/conda/env_vars.d/a.json":       `{"A":"1","N":3,"NULL":null,"PATH":"/bad","bad name":"x","REF":"$CONDA_PREFIX/r"}`,
		"etc/conda/env_vars.d/x.txt":        `not read`,
		"conda-meta/state":                  `{"version":1,"env_vars":{"low":"v","GONE":"***unset***"}}`,
		"etc/conda/activate.d/20_b.sh":      "",
		"etc/conda/activate.d/10_a.sh":      "",
		"etc/conda/activate.d/10_a.fish":    "",
		"etc/conda/deactivate.d/10_a.sh":    "",
		"etc/conda/activate.d/sub.sh/x.txt": "",
	})
	got, err := FromTree(root, "/p/e")
	if err != nil {
		t.Fatal(err)
	}
	want := []Op{
		{Kind: OpPrepend, Name: "PATH", Value: "/p/e/bin", Sep: ":"},
		{Kind: OpSet, Name: "CONDA_SHLVL", Value: "1"},
		{Kind: OpSet, Name: "CONDA_PREFIX", Value: "/p/e"},
		{Kind: OpSet, Name: "A", Value: "over"},
		{Kind: OpSet, Name: "REF", Value: "$CONDA_PREFIX/r", Expand: true},
		{Kind: OpSet, Name: "B", Value: "2"},
		{Kind: OpSet, Name: "LOW", Value: "v"},
		{Kind: OpUnset, Name: "GONE"},
	}
	if d := cmp.Diff(want, got.Patch.Ops); d != "" {
		t.Errorf("patch (-want +got):\n%s", d)
	}
	if want := []string{"etc/conda/activate.d/10_a.sh", "etc/conda/activate.d/20_b.sh"}; !reflect.DeepEqual(got.Scripts, want) {
		t.Errorf("scripts %v, want %v", got.Scripts, want)
	}
	if want := []string{"etc/conda/deactivate.d/10_a.sh"}; !reflect.DeepEqual(got.Deactivate, want) {
		t.Errorf("deactivate %v, want %v", got.Deactivate, want)
	}
	if len(got.Notes) != 4 {
		t.Errorf("notes %q, want four (N, NULL, PATH, bad name)", got.Notes)
	}
}

func TestFromTreeOfNothing(t *testing.T) {
	got, err := FromTree(t.TempDir(), "/p/e")
	if err != nil || len(got.Patch.Ops) != 3 || got.Scripts != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestFromTreeNeverLeavesTheTree(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.json")
	if err := os.WriteFile(secret, []byte(`{"SECRET":"x"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	write(t, root, map[string]string{"etc/conda/env_vars.d/z.txt": ""})
	if err := os.Symlink(secret, filepath.Join(root, "etc/conda/env_vars.d/a.json")); err != nil {
		t.Fatal(err)
	}
	if got, err := FromTree(root, "/p/e"); err == nil {
		t.Errorf("a link out of the tree was followed: %+v", got)
	}
}

func TestFromTreeNamesABrokenFile(t *testing.T) {
	for name, text := range map[string]string{
		"etc/conda/env_vars.d/bad.json": "[]",
		"conda-meta/state":              "{",
	} {
		root := t.TempDir()
		write(t, root, map[string]string{name: text})
		_, err := FromTree(root, "/p/e")
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v does not name it", name, err)
		}
	}
}

func TestComposeIdentity(t *testing.T) {
	m := &Manifest{Name: "proj", Root: "/home/u/proj", File: "pixi.toml", Platforms: []string{"linux-64", "linux-aarch64"}}
	apply := func(envName string, m *Manifest) []string {
		p := Compose("/p/e", Static{}, m, envName, "linux-64")
		env, err := Apply(nil, p.Common)
		if err != nil {
			t.Fatal(err)
		}
		return env
	}
	env := apply("default", m)
	for n, want := range map[string]string{
		"PIXI_PROJECT_ROOT": "/home/u/proj", "PIXI_PROJECT_NAME": "proj", "PIXI_PROJECT_MANIFEST": "/home/u/proj/pixi.toml",
		"PIXI_PROJECT_VERSION": "NO_VERSION_SPECIFIED", "PIXI_IN_SHELL": "1", "CONDA_DEFAULT_ENV": "proj",
		"PIXI_ENVIRONMENT_NAME": "default", "PIXI_ENVIRONMENT_PLATFORMS": "linux-64,linux-aarch64", "PIXI_PROMPT": "(proj) ",
		"PYTHONNOUSERSITE": "1",
	} {
		wantVar(t, env, n, want)
	}
	wantUnset(t, env, "PIXI_EXE")
	m.Version = "1.2"
	env = apply("gex", m)
	wantVar(t, env, "CONDA_DEFAULT_ENV", "proj:gex")
	wantVar(t, env, "PIXI_PROMPT", "(proj:gex) ")
	wantVar(t, env, "PIXI_PROJECT_VERSION", "1.2")
	env = apply("gex", nil)
	wantVar(t, env, "PIXI_PROMPT", "(gex) ")
	wantUnset(t, env, "PIXI_PROJECT_ROOT")
}

func TestExpand(t *testing.T) {
	vars := map[string]string{"A": "1", "AB": "2"}
	get := func(n string) (string, bool) { v, ok := vars[n]; return v, ok }
	for in, want := range map[string]string{
		"": "", "x": "x", "$A": "1", "$AB": "2", "${A}B": "1B", "$A/$AB:$NONE": "1/2:", `\$A`: "$A", `\\$A`: `\1`, "$": "$", "a$ b": "a$ b", "`no dollar`": "`no dollar`", `\x$A`: `\x1`,
	} {
		if got, ok := expand(in, get); !ok || got != want {
			t.Errorf("expand(%q) = %q, %v; want %q", in, got, ok, want)
		}
	}
	for _, in := range []string{"$(id)", "`id`$A", "${A:-1}", "$?", "${", "${}", "$1"} {
		if got, ok := expand(in, get); ok || got != in {
			t.Errorf("expand(%q) = %q, %v; want it left to a shell", in, got, ok)
		}
	}
}

func TestManifestEnvOrder(t *testing.T) {
	m := &Manifest{File: "pixi.toml", Env: map[string]map[string]string{
		"":              {"A": "$B/x", "B": "$Z", "Z": "z", "SELF": "$SELF:s", "L1": "$L2", "L2": "$L1", "bad-name": "x"},
		"linux-aarch64": {"Z": "arm"},
	}}
	for platform, want := range map[string]string{"linux-64": "z/x", "linux-aarch64": "arm/x"} {
		p := Compose("/p/e", Static{}, m, "default", platform)
		env, err := Apply([]string{"SELF=0"}, p.Last)
		if err != nil {
			t.Fatal(err)
		}
		wantVar(t, env, "A", want)
		wantVar(t, env, "SELF", "0:s")
		wantUnset(t, env, "bad-name")
		if len(p.Notes) != 1 {
			t.Errorf("notes %q, want one about bad-name", p.Notes)
		}
	}
}

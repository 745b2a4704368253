package activation

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func clean(t *testing.T, env []string) ([]string, []string) {
	t.Helper()
	p, notes := Clean(env)
	out, err := Apply(env, p)
	if err != nil {
		t.Fatal(err)
	}
	return out, notes
}

func TestCleanStackedConda(t *testing.T) {
	base := filepath.Join(t.TempDir(), "miniforge3")
	env := filepath.Join(base, "envs/x")
	write(t, env, map[string]string{
		"etc/conda/env_vars.d/a.json": `{"DECLARED":"1","CHANGED":"1","BACKED":"env"}`,
		"conda-meta/state":            `{"env_vars":{"STATE":"s"}}`,
	})
	got, notes := clean(t, []string{
		"PATH=" + env + "/bin:/home/u/tools:" + base + "/bin:" + base + "/condabin:/usr/bin", "CONDA_PREFIX=" + env, "CONDA_PREFIX_1=" + base,
		"CONDA_SHLVL=2", "CONDA_DEFAULT_ENV=x", "CONDA_PROMPT_MODIFIER=(x) ", "CONDA_STACKED_2=true", "CONDA_EXE=" + base + "/bin/conda",
		"DECLARED=1", "CHANGED=by the user", "STATE=s", "BACKED=env", "__CONDA_SHLVL_1_BACKED=mine", "LD_LIBRARY_PATH=" + env + "/lib:/site/lib",
		"BASH_FUNC_conda%%=() {  :; }", "CONDA_PKGS_DIRS=/scratch",
	})
	want := []string{"BACKED=mine", "BASH_FUNC_conda%%=() {  :; }", "CHANGED=by the user", "CONDA_EXE=" + base + "/bin/conda", "CONDA_PKGS_DIRS=/scratch",
		"LD_LIBRARY_PATH=/site/lib", "PATH=/home/u/tools:" + base + "/condabin:/usr/bin"}
	if got := sorted(got); !reflect.DeepEqual(got, want) {
		t.Errorf("cleaned\n%q, want\n%q", got, want)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], env) {
		t.Errorf("notes %q, want one that names %s", notes, env)
	}
}

func TestCleanPixi(t *testing.T) {
	got, notes := clean(t, []string{"PATH=/w/.pixi/envs/default/bin:/usr/bin", "CONDA_PREFIX=/w/.pixi/envs/default", "CONDA_DEFAULT_ENV=w", "CONDA_SHLVL=1",
		"PIXI_PROJECT_ROOT=/w", "PIXI_PROJECT_NAME=w", "PIXI_PROJECT_MANIFEST=/w/pixi.toml", "PIXI_PROJECT_VERSION=1", "PIXI_IN_SHELL=1", "PIXI_EXE=/h/.pixi/bin/pixi",
		"PIXI_ENVIRONMENT_NAME=default", "PIXI_ENVIRONMENT_PLATFORMS=linux-64", "PIXI_PROMPT=(w) ", "PIXI_HOME=/h/.pixi", "PIXI_CACHE_DIR=/c", "CONDA_ENV_SHLVL_1_FOO=", "CONDA_OVERRIDE_CUDA=12"})
	want := []string{"CONDA_OVERRIDE_CUDA=12", "PATH=/usr/bin", "PIXI_CACHE_DIR=/c", "PIXI_HOME=/h/.pixi"}
	if got := sorted(got); !reflect.DeepEqual(got, want) {
		t.Errorf("cleaned\n%q, want\n%q", got, want)
	}
	if len(notes) != 1 {
		t.Errorf("notes %q", notes)
	}
}

func TestCleanNothing(t *testing.T) {
	env := []string{"PATH=/usr/bin:/bin", "CONDA_EXE=/c/bin/conda", "PIXI_HOME=/p"}
	p, notes := Clean(env)
	if len(p.Ops) != 0 || len(notes) != 0 {
		t.Errorf("%+v, %q", p.Ops, notes)
	}
}

func TestCleanNeverTakesTheSystem(t *testing.T) {
	for _, prefix := range []string{"/", "/usr", "/usr/local", "/usr/"} {
		got, _ := clean(t, []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LD_LIBRARY_PATH=/usr/lib/x", "CONDA_PREFIX=" + prefix})
		wantVar(t, got, "PATH", "/usr/local/bin:/usr/bin:/bin")
		wantVar(t, got, "LD_LIBRARY_PATH", "/usr/lib/x")
		wantUnset(t, got, "CONDA_PREFIX")
	}
}

func TestCleanOfABrokenForeignEnvironment(t *testing.T) {
	prefix := t.TempDir()
	write(t, prefix, map[string]string{"conda-meta/state": "{"})
	if err := os.Mkdir(filepath.Join(prefix, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	got, _ := clean(t, []string{"PATH=" + prefix + "/bin:/usr/bin", "CONDA_PREFIX=" + prefix})
	wantVar(t, got, "PATH", "/usr/bin")
}

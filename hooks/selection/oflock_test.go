package selection_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/envs/requirement"
	"github.com/hpcenv/hpcenv/hooks/selection"
	"github.com/hpcenv/hpcenv/internal/testdata"
)

var update = flag.Bool("update", false, "write testdata/oflock.txt anew")

// realLocks reads every pixi.lock and conda-lock.yml of the shared data with the
// manifest beside it.
func realLocks(t testing.TB, each func(name string, data []byte, lock *lockfile.Lock, p *project.Project)) {
	root := filepath.Join(testdata.Shared(t), "data", "locks")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == "uv.lock" || !strings.HasSuffix(path, ".lock") && !strings.HasSuffix(path, ".yml") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		lock, err := lockfile.Parse(data)
		if err != nil {
			return nil // what must be refused
		}
		p, err := project.Load(filepath.Dir(path))
		if err != nil {
			return nil // other locks' tests are about those
		}
		name, err := filepath.Rel(root, path)
		each(filepath.ToSlash(name), data, lock, p)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// shown are the locks whose descriptions testdata/oflock.txt has whole.
var shown = []string{
	"NVIDIA__numba-cuda/pixi.lock", "ESMValGroup__ESMValCore/pixi.lock", "conda__ceps/pixi.lock", "prefix-dev__pixi/examples/multi-machine/pixi.lock",
	"prefix-dev__pixi/examples/pixi-build/conditional-dependencies/pixi.lock", "prefix-dev__pixi/examples/llama-index-inference/pixi.lock",
	"prefix-dev__pixi/tests/data/satisfiability/conditional-dependency-cuda/pixi.lock", "prefix-dev__pixi/tests/data/non-satisfiability/wheels-with-wrong-tags/pixi.lock",
}

// describe is a description as text, a line for each thing.
func describe(name string, all []selection.Environment) string {
	var b strings.Builder
	for _, e := range all {
		fmt.Fprintf(&b, "%s %s explicit %v rank %d\n", name, e.Name, e.Explicit, e.Rank)
		for _, c := range e.Platforms {
			s := c.Stack
			fmt.Fprintf(&b, "  %s (%s) family %q of %q over %v mpi %q gpu %v %q uses %v\n", c.Platform, c.Subdir, s.Family, s.Package, s.Networks, s.MPI, s.GPU, s.GPUPackage, s.UsesGPU)
			for _, r := range s.Remarks {
				fmt.Fprintf(&b, "    remark: %s\n", r)
			}
			for _, r := range c.Requirements {
				fmt.Fprintf(&b, "    %s %s by %s\n", r.Source, r.Spec, r.By())
			}
			if c.Problem != "" {
				fmt.Fprintf(&b, "    problem: %.120s\n", c.Problem)
			}
		}
	}
	return b.String()
}

// Every environment of every real lock is described for every platform of it, in
// little JSON that says all of it.
func TestRealLocks(t *testing.T) {
	var golden strings.Builder
	locks, environments, candidates, largest := 0, 0, 0, 0
	realLocks(t, func(name string, _ []byte, lock *lockfile.Lock, p *project.Project) {
		all, err := selection.OfLock(lock, p)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		locks++
		if len(all) != len(lock.Environments) {
			t.Errorf("%s: %d environments of %d", name, len(all), len(lock.Environments))
		}
		for i, e := range all {
			environments++
			if e.Name != lock.Environments[i].Name || len(e.Platforms) != len(lock.Environments[i].Platforms) {
				t.Errorf("%s: %s has %d platforms", name, e.Name, len(e.Platforms))
			}
			for _, c := range e.Platforms {
				candidates++
				if !slices.ContainsFunc(lock.Environments[i].Platforms, func(p *lockfile.Platform) bool { return p.Name == c.Platform && p.Subdir == c.Subdir }) {
					t.Errorf("%s: %s has a platform %s of its own", name, e.Name, c.Platform)
				}
				for _, r := range c.Requirements {
					if err := requirement.Readable(r); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
			}
		}
		data, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		var again []selection.Environment
		if err := json.Unmarshal(data, &again); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(all, again); d != "" {
			t.Errorf("%s: not the same from JSON: %s", name, d)
		}
		if largest = max(largest, len(data)); len(data) > 200_000 {
			t.Errorf("%s: %d bytes", name, len(data))
		}
		if slices.Contains(shown, name) {
			golden.WriteString(describe(name, all))
		}
	})
	t.Logf("%d locks, %d environments, %d environments on platforms; the largest description has %d bytes", locks, environments, candidates, largest)
	if locks < 100 || candidates < 250 {
		t.Error("the shared locks hold too little")
	}
	file := filepath.Join("testdata", "oflock.txt")
	if *update {
		if err := os.WriteFile(file, []byte(golden.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(golden.String(), "\n")); d != "" {
		t.Error(d)
	}
}

// load reads a manifest that is written here.
func load(t testing.TB, text string) *project.Project {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "pixi.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := project.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const deployed = `
[workspace]
channels = ["conda-forge"]
platforms = ["linux-aarch64", { name = "gpu", platform = "linux-64", cuda = "12.4" }, "linux-64"]
[feature.gpu.system-requirements]
cuda = "12.2"
[feature.lint.dependencies]
ruff = "*"
[environments]
default = ["gpu"]
cpu = []
gex = ["gpu"]
lint = { features = ["lint"], no-default-feature = true }
again = { features = ["lint", "default"], no-default-feature = true }
[tool.hpcenv]
environments = ["gex", "default"]
`

// deployedLock is a lock of that manifest, in the shape of the project that
// requirements of this program come from: UCX, GASNet-EX, and without a GPU.
func deployedLock(names ...string) *lockfile.Lock {
	ucx := &lockfile.CondaPackage{Name: "ucx", Version: "1.18.0", Build: "h0", SHA256: strings.Repeat("a", 64), Subdir: "linux-64"}
	gex := &lockfile.CondaPackage{Name: "realm-gex-wrapper", Version: "1.0", Build: "0", SHA256: strings.Repeat("b", 64), Noarch: "generic", Subdir: "noarch"}
	legate := &lockfile.CondaPackage{Name: "legate", Version: "25.3", Build: "cuda12_py312_gpu_0", SHA256: strings.Repeat("c", 64), Subdir: "linux-64", Depends: []string{"__cuda"}}
	lock := &lockfile.Lock{Format: lockfile.FormatPixi, Version: 7}
	for _, name := range names {
		packages := map[string][]*lockfile.CondaPackage{"default": {ucx, legate}, "gex": {ucx, gex, legate}}[name]
		env := &lockfile.Environment{Name: name}
		for _, platform := range []string{"gpu", "linux-64", "linux-aarch64", "other"} {
			subdir := "linux-64"
			if platform == "linux-aarch64" {
				subdir = platform
			}
			p := &lockfile.Platform{Name: platform, Subdir: subdir}
			if asks := map[string]string{"gpu": "__cuda=12.4", "other": "__cuda=99"}[platform]; asks != "" {
				p.VirtualPackages = []string{asks}
			} else if name == "default" || name == "gex" {
				p.VirtualPackages = []string{"__cuda=12.2"}
			}
			if subdir == "linux-64" {
				p.Conda = packages
			}
			env.Platforms = append(env.Platforms, p)
		}
		lock.Environments = append(lock.Environments, env)
	}
	return lock
}

func TestOfLock(t *testing.T) {
	all, err := selection.OfLock(deployedLock("again", "cpu", "default", "gex", "lint"), load(t, deployed))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range all {
		line := fmt.Sprintf("%s %v %d:", e.Name, e.Explicit, e.Rank)
		for _, c := range e.Platforms {
			line += fmt.Sprintf(" %s %s %v", c.Platform, c.Stack.Family, c.Stack.GPU)
			for _, r := range c.Requirements {
				if r.Source == requirement.Manifest {
					line += " " + r.Spec
				}
			}
			line += ";"
			if c.Problem != "" {
				t.Errorf("%s: %s", e.Name, c.Problem)
			}
		}
		got = append(got, line)
	}
	want := []string{
		// The order is the manifest's, and what it does not name comes last.
		"again false 0: linux-aarch64  false; gpu  true __cuda >=12.4; linux-64  false; other  true;",
		"cpu false 0: linux-aarch64  false; gpu  true __cuda >=12.4; linux-64  false; other  true;",
		"default false 2: linux-aarch64  true __cuda >=12.2; gpu UCX true __cuda >=12.4; linux-64 UCX true __cuda >=12.2; other UCX true __cuda >=12.2;",
		"gex false 1: linux-aarch64  true __cuda >=12.2; gpu GASNet-EX true __cuda >=12.4; linux-64 GASNet-EX true __cuda >=12.2; other GASNet-EX true __cuda >=12.2;",
		"lint true 0: linux-aarch64  false; gpu  true __cuda >=12.4; linux-64  false; other  true;",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestOfLockWithoutManifest(t *testing.T) {
	lock := deployedLock("gex", "cpu")
	all, err := selection.OfLock(lock, nil)
	if err != nil {
		t.Fatal(err)
	}
	if all[0].Name != "cpu" || all[1].Name != "gex" {
		t.Errorf("not by name: %v", all)
	}
	for _, e := range all {
		if e.Explicit || e.Rank != 0 || len(e.Platforms) != 4 {
			t.Errorf("%+v", e)
		}
		if e.Platforms[0].Platform != "linux-64" || e.Platforms[1].Platform != "linux-aarch64" {
			t.Errorf("plain platforms are not first: %+v", e.Platforms)
		}
	}
	// What a wish made of a uv.lock has nothing to do with a manifest of pixi.
	wish := deployedLock("extra=gpu,python=3.12")
	wish.Format = lockfile.FormatUV
	if all, err = selection.OfLock(wish, load(t, deployed)); err != nil || len(all) != 1 || all[0].Name != "extra=gpu,python=3.12" || all[0].Explicit {
		t.Errorf("%+v, %v", all, err)
	}
	// One that the manifest does not have is taken only if it is named.
	if all, err = selection.OfLock(deployedLock("default", "gone"), load(t, deployed)); err != nil || len(all) != 2 || all[0].Explicit || !all[1].Explicit {
		t.Errorf("%+v, %v", all, err)
	}
}

// What keeps an environment from being made, or from being judged, is said.
func TestOfLockProblems(t *testing.T) {
	lock := deployedLock("default", "cpu")
	lock.Environments[0].Platforms[0].Conda = []*lockfile.CondaPackage{{Name: "bare", Version: "1", Build: "0", Subdir: "linux-64"}}
	lock.Environments[1].Platforms[0].Conda = []*lockfile.CondaPackage{{Name: "odd", Version: "3", Build: "0", Subdir: "linux-64", SHA256: strings.Repeat("d", 64), Constrains: []string{"__glibc >>2"}}}
	all, err := selection.OfLock(lock, nil)
	if err != nil {
		t.Fatal(err)
	}
	problem := func(env, platform string) string {
		for _, e := range all {
			for _, c := range e.Platforms {
				if e.Name == env && c.Platform == platform {
					return c.Problem
				}
			}
		}
		return ""
	}
	if text := problem("default", "gpu"); !strings.Contains(text, "bare-1-0") {
		t.Errorf("without a digest: %q", text)
	}
	if text := problem("cpu", "gpu"); !strings.Contains(text, "odd 3") || !strings.Contains(text, `"__glibc >>2"`) {
		t.Errorf("a spec that nobody can read: %q", text)
	}
	if text := problem("cpu", "linux-64"); text != "" {
		t.Errorf("nothing is wrong: %q", text)
	}
}

// BenchmarkDecode reads the description of a lock of many environments, which
// every submission does.
func BenchmarkDecode(b *testing.B) {
	var data []byte
	realLocks(b, func(name string, _ []byte, lock *lockfile.Lock, p *project.Project) {
		if name != "NVIDIA__numba-cuda/pixi.lock" {
			return
		}
		all, err := selection.OfLock(lock, p)
		if err != nil {
			b.Fatal(err)
		}
		if data, err = json.Marshal(all); err != nil {
			b.Fatal(err)
		}
	})
	b.ReportMetric(float64(len(data)), "bytes")
	for b.Loop() {
		var all []selection.Environment
		if err := json.Unmarshal(data, &all); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(data)), "bytes")
}

package materialize_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/internal/condatest"
)

// TestPlanIsPure: any order of packages gives the same plan, and its operations
// can be carried out one after the other.
func TestPlanIsPure(t *testing.T) {
	s := newStore(t)
	pkgs := build(t, s, sample()...)
	first, err := materialize.NewPlan(testPrefix, testPlatform, pkgs, noScripts)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		rand.Shuffle(len(pkgs), func(i, j int) { pkgs[i], pkgs[j] = pkgs[j], pkgs[i] })
		p, err := materialize.NewPlan(testPrefix, testPlatform, pkgs, noScripts)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(first.Ops, p.Ops); d != "" {
			t.Fatal(d)
		}
	}
	dirs := map[string]bool{".": true}
	last := ""
	for _, op := range first.Ops {
		if op.Path <= last {
			t.Errorf("%s after %s", op.Path, last)
		}
		last = op.Path
		parent := "."
		if i := strings.LastIndexByte(op.Path, '/'); i >= 0 {
			parent = op.Path[:i]
		}
		if !dirs[parent] {
			t.Errorf("%s has no parent", op.Path)
		}
		dirs[op.Path] = op.Kind == materialize.KindDir
	}
	_, plan, res := execute(t, s, testPrefix, pkgs, 2)
	if n := plan.Totals(); n.Files != res.Files || n.Dirs != res.Dirs || n.Links != res.Links {
		t.Errorf("the plan says %+v, made were %+v", n, res)
	}
}

// TestPlanConflicts: who wins, what is reported, and what records say.
func TestPlanConflicts(t *testing.T) {
	s := newStore(t)
	file := func(path, content string) condatest.File { return condatest.File{Path: path, Content: content} }
	pkgs := build(t, s,
		condatest.Package{Name: "a", Version: "1", Build: "0", Files: []condatest.File{
			file("same", "equal"), file("both", "a"), {Path: "exec", Content: "x", Exec: true}, file("conda-meta/history", "mine"),
			{Path: "lib64", Link: "lib"},
		}},
		condatest.Package{Name: "b", Version: "1", Build: "0", Files: []condatest.File{
			file("same", "equal"), file("both", "b"), file("exec", "x"), file("lib64/libb.so", "b"), file("lib64/libc.so", "c"),
		}},
	)
	root, plan, _ := execute(t, s, testPrefix, pkgs, 2)
	want := []materialize.Conflict{
		{Path: "both", Winner: "a-1-0", Losers: []string{"b-1-0"}},
		{Path: "conda-meta/history", Winner: "hpcenv", Losers: []string{"a-1-0"}},
		{Path: "exec", Winner: "a-1-0", Losers: []string{"b-1-0"}},
		{Path: "lib64", Winner: "a-1-0", Losers: []string{"b-1-0"}},
	}
	if d := cmp.Diff(want, plan.Conflicts); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]string{"same": "equal", "both": "a", "exec": "x", "lib64": "→ lib"}, tree(t, root)); d != "" {
		t.Error(d)
	}
}

// TestFreeThreaded: the record's own site-packages is used for modules and for
// the marker.
func TestFreeThreaded(t *testing.T) {
	s := newStore(t)
	pkgs := build(t, s,
		condatest.Package{Name: "python", Version: "3.13.1", Build: "t_0"},
		condatest.Package{Name: "m", Version: "1", Build: "0", Noarch: "python", EntryPoints: []string{"m = m:f"}, Files: []condatest.File{
			{Path: "site-packages/m.py", Content: "m"},
		}})
	pkgs[0].Lock.PythonSitePackagesPath = "lib/python3.13t/site-packages"
	_, plan, _ := execute(t, s, testPrefix, pkgs, 1)
	have := make(map[string]string)
	for _, op := range plan.Ops {
		have[op.Path] = string(op.Data)
	}
	for _, p := range []string{"lib/python3.13t/site-packages/m.py", "lib/python3.13t/EXTERNALLY-MANAGED"} {
		if _, ok := have[p]; !ok {
			t.Errorf("no %s", p)
		}
	}
	if !strings.HasPrefix(have["bin/m"], "#!"+testPrefix+"/bin/python3.13\n") {
		t.Errorf("entry point: %s", have["bin/m"])
	}
}

func TestPlanRefuses(t *testing.T) {
	s := newStore(t)
	oldBinary := condatest.Package{Name: "old", Version: "1", Build: "0", Files: []condatest.File{
		{Path: "lib/a.so", Content: "\x7fELF/opt/short-one\x00", Placeholder: "/opt/short-one", Binary: true},
		{Path: "lib/b.so", Content: "\x7fELF nothing to replace", Placeholder: "/opt/short-one", Binary: true},
		{Path: "lib/c.txt", Content: "/opt/short-one", Placeholder: "/opt/short-one"},
	}}
	plain := build(t, s, condatest.Package{Name: "p", Version: "1", Build: "0"})
	noarch := build(t, s, condatest.Package{Name: "n", Version: "1", Build: "0", Noarch: "python"})
	changed := func(change func(*lockfile.CondaPackage)) []materialize.Package {
		c := *plain[0].Lock
		change(&c)
		return []materialize.Package{{Lock: &c, Manifest: plain[0].Manifest}}
	}
	py := build(t, s, condatest.Package{Name: "python", Version: "3.11.1", Build: "0"})
	for name, c := range map[string]struct {
		prefix string
		pkgs   []materialize.Package
		class  error
		says   []string
	}{
		"prefix relative":     {"opt/x", plain, materialize.ErrPrefix, []string{"opt/x"}},
		"prefix unclean":      {"/opt//x", plain, materialize.ErrPrefix, []string{"clean"}},
		"prefix root":         {"/", plain, materialize.ErrPrefix, []string{"clean"}},
		"prefix too long":     {"/" + strings.Repeat("x", 110), plain, materialize.ErrPrefix, []string{"111", "110", "shorter"}},
		"prefix blank":        {"/opt/my envs/x", plain, materialize.ErrPrefix, []string{"my envs"}},
		"prefix quote":        {"/opt/it's", plain, materialize.ErrPrefix, []string{"it's"}},
		"binary placeholder":  {"/opt/hpcenv/e/x", build(t, s, oldBinary), materialize.ErrPrefix, []string{"lib/a.so of old-1-0 (14 bytes)", "at most 14"}},
		"no python":           {testPrefix, noarch, materialize.ErrUnlinkable, []string{"n-1-0", "no package python"}},
		"two of one name":     {testPrefix, append(changed(func(c *lockfile.CondaPackage) { c.Version = "2" }), plain...), materialize.ErrUnlinkable, []string{"p-1-0", "p-2-0"}},
		"another platform":    {testPrefix, changed(func(c *lockfile.CondaPackage) { c.Subdir = "linux-aarch64" }), materialize.ErrUnlinkable, []string{"p-1-0", "linux-aarch64", "linux-64"}},
		"name with slash":     {testPrefix, changed(func(c *lockfile.CondaPackage) { c.Name = "../p" }), materialize.ErrUnlinkable, []string{"../p"}},
		"version with dots":   {testPrefix, changed(func(c *lockfile.CondaPackage) { c.Version = ".." }), materialize.ErrUnlinkable, []string{".."}},
		"not in the store":    {testPrefix, []materialize.Package{{Lock: plain[0].Lock}}, materialize.ErrUnlinkable, []string{"p-1-0", "not in the store"}},
		"python's version":    {testPrefix, withLock(py, func(c *lockfile.CondaPackage) { c.Version = "3" }), materialize.ErrUnlinkable, []string{"major.minor"}},
		"site-packages leave": {testPrefix, withLock(py, func(c *lockfile.CondaPackage) { c.PythonSitePackagesPath = "../lib" }), materialize.ErrUnlinkable, []string{"../lib"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := materialize.NewPlan(c.prefix, testPlatform, c.pkgs, noScripts)
			if !errors.Is(err, c.class) {
				t.Fatalf("error %v, want class %v", err, c.class)
			}
			for _, part := range c.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error does not say %q: %v", part, err)
				}
			}
			if strings.Contains(err.Error(), "b.so") || strings.Contains(err.Error(), "c.txt") {
				t.Errorf("error blames a file that fits: %v", err)
			}
		})
	}
	if _, err := materialize.NewPlan(testPrefix, testPlatform, plain, materialize.Options{}); !errors.Is(err, materialize.ErrUnlinkable) {
		t.Errorf("scripts asked for: %v", err)
	}
}

// withLock changes the locked record of the only package.
func withLock(pkgs []materialize.Package, change func(*lockfile.CondaPackage)) []materialize.Package {
	c := *pkgs[0].Lock
	change(&c)
	return []materialize.Package{{Lock: &c, Manifest: pkgs[0].Manifest}}
}

// TestLongShebang: a line that cannot be is an error that names the file.
func TestLongShebang(t *testing.T) {
	s := newStore(t)
	pkgs := build(t, s, condatest.Package{Name: "p", Version: "1", Build: "0", Files: []condatest.File{
		{Path: "bin/script", Content: "#!/old/libexec/" + strings.Repeat("deep/", 16) + "perl\n", Exec: true, Placeholder: "/old"},
	}})
	plan, err := materialize.NewPlan(testPrefix, testPlatform, pkgs, noScripts)
	if err != nil {
		t.Fatal(err)
	}
	staging, err := s.TempDir("test")
	if err != nil {
		t.Fatal(err)
	}
	_, err = plan.Execute(t.Context(), s, staging, 1, nil)
	if !errors.Is(err, materialize.ErrPrefix) || !strings.Contains(err.Error(), "bin/script") || !strings.Contains(err.Error(), "p-1-0") {
		t.Errorf("error: %v", err)
	}
}

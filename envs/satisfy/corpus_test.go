package satisfy_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/envs/satisfy"
	"github.com/hpcenv/hpcenv/internal/testdata"
)

// invented is a manifest for a lock that came without one: an environment is
// one feature with what nothing else in it depends on.
type invented struct {
	channels  map[string][]string // by environment
	platforms []string            // TOML
	names     map[string]bool
	// of an environment: its platforms' names
	of map[string][]string
	// tables by environment and platform: lines of TOML
	conda, python map[[2]string][]string
	index         map[string]string
	environments  []string
	withPython    map[[2]string]bool // python is locked there, and conda packages say which Python packages they are
	// needed are names that other packages depend on, their extras included.
	needed map[[2]string]map[string]bool
}

func invent(lock *lockfile.Lock) *invented {
	m := &invented{channels: map[string][]string{}, names: map[string]bool{}, of: map[string][]string{}, conda: map[[2]string][]string{}, python: map[[2]string][]string{}, index: map[string]string{}, withPython: map[[2]string]bool{}, needed: map[[2]string]map[string]bool{}}
	for _, env := range lock.Environments {
		m.environments = append(m.environments, env.Name)
		m.channels[env.Name] = env.Channels
		if len(env.Indexes) > 0 {
			m.index[env.Name] = env.Indexes[0]
		}
		for _, p := range append(slices.Clone(env.Platforms), env.Others...) {
			m.platform(p)
			m.of[env.Name] = append(m.of[env.Name], p.Name)
			key := [2]string{env.Name, p.Name}
			m.needed[key] = map[string]bool{}
			for _, c := range p.Conda {
				for _, d := range append(slices.Concat(slices.Collect(maps.Values(c.ExtraDepends))...), c.Depends...) {
					name, _, _ := strings.Cut(d, " ")
					m.needed[key][name] = true
				}
			}
			silent := slices.ContainsFunc(p.Conda, func(c *lockfile.CondaPackage) bool {
				return !c.HasPurls && slices.ContainsFunc(c.Depends, func(d string) bool { return d == "python" || strings.HasPrefix(d, "python ") })
			})
			m.withPython[key] = !silent && slices.ContainsFunc(p.Conda, func(c *lockfile.CondaPackage) bool { return c.Name == "python" })
			for _, c := range roots(p) {
				m.conda[key] = append(m.conda[key], fmt.Sprintf("%q = { version = %q, build = %q }", c.Name, "=="+c.Version, c.Build))
			}
			for _, w := range p.PyPI {
				m.python[key] = append(m.python[key], pythonLine(env, w))
			}
			for _, u := range p.Unsupported {
				if line := fmt.Sprintf("%q = { path = \".\" }", u.Name); u.CondaName && !slices.Contains(m.conda[key], line) {
					m.conda[key] = append(m.conda[key], line)
				}
			}
		}
	}
	return m
}

func (m *invented) platform(p *lockfile.Platform) {
	if m.names[p.Name] {
		return
	}
	m.names[p.Name] = true
	text := fmt.Sprintf("{ name = %q, platform = %q", p.Name, p.Subdir)
	for _, v := range p.VirtualPackages {
		name, rest, _ := strings.Cut(v, "=")
		value, _, _ := strings.Cut(rest, "=")
		if name == "__cuda" || name == "__glibc" {
			text += fmt.Sprintf(", %s = %q", strings.TrimPrefix(name, "__"), value)
		}
	}
	m.platforms = append(m.platforms, text+" }")
}

func pythonLine(env *lockfile.Environment, p *lockfile.PyPIPackage) string {
	switch {
	case p.Kind == lockfile.PyPIDirectory || p.Local:
		return fmt.Sprintf("%q = { path = \".\" }", p.Name)
	case p.Kind == lockfile.PyPIGit:
		return fmt.Sprintf("%q = { git = \"x\" }", p.Name)
	case p.Version == "":
		return fmt.Sprintf("%q = { url = \"x\" }", p.Name)
	case p.Index != "" && !slices.Contains(env.Indexes, p.Index):
		return fmt.Sprintf("%q = { version = %q, index = %q }", p.Name, "=="+p.Version, p.Index)
	}
	return fmt.Sprintf("%q = %q", p.Name, "=="+p.Version)
}

// roots are packages from which all others are reached.
func roots(p *lockfile.Platform) []*lockfile.CondaPackage {
	byName, reached := map[string]*lockfile.CondaPackage{}, map[string]bool{}
	needed := map[string]bool{}
	for _, c := range p.Conda {
		byName[c.Name] = c
	}
	names := func(c *lockfile.CondaPackage) (out []string) {
		for _, d := range c.Depends {
			if i := strings.IndexAny(d, " =<>![;"); i > 0 {
				d = d[:i]
			}
			if d != c.Name {
				out = append(out, d)
			}
		}
		return out
	}
	for _, c := range p.Conda {
		for _, n := range names(c) {
			needed[n] = true
		}
	}
	var visit func(c *lockfile.CondaPackage)
	visit = func(c *lockfile.CondaPackage) {
		if c == nil || reached[c.Name] {
			return
		}
		reached[c.Name] = true
		for _, n := range names(c) {
			visit(byName[n])
		}
	}
	var out []*lockfile.CondaPackage
	for _, onlyRoots := range []bool{true, false} {
		for _, c := range p.Conda {
			if !reached[c.Name] && !(onlyRoots && needed[c.Name]) {
				out = append(out, c)
				visit(c)
			}
		}
	}
	return out
}

func (m *invented) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[workspace]\nname = \"w\"\nchannels = []\nplatforms = [\n%s\n]\n", strings.Join(m.platforms, ",\n"))
	for i, env := range m.environments {
		f := fmt.Sprintf("feature.f%d", i)
		fmt.Fprintf(&b, "[%s]\nchannels = %s\nplatforms = %s\n", f, quoted(m.channels[env]), quoted(m.of[env]))
		if m.index[env] != "" {
			fmt.Fprintf(&b, "[%s.pypi-options]\nindex-url = %q\n", f, m.index[env])
		}
		for _, p := range m.of[env] {
			key := [2]string{env, p}
			fmt.Fprintf(&b, "[%s.target.%q.dependencies]\n%s\n", f, p, strings.Join(m.conda[key], "\n"))
			fmt.Fprintf(&b, "[%s.target.%q.pypi-dependencies]\n%s\n", f, p, strings.Join(m.python[key], "\n"))
		}
	}
	b.WriteString("[environments]\n")
	for i, env := range m.environments {
		fmt.Fprintf(&b, "%q = { features = [\"f%d\"], no-default-feature = true }\n", env, i)
	}
	return b.String()
}

func quoted(list []string) string {
	var out []string
	for _, s := range list {
		out = append(out, fmt.Sprintf("%q", s))
	}
	return "[" + strings.Join(out, ", ") + "]"
}

func check(t *testing.T, manifest string, lock *lockfile.Lock) []string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "pixi.toml"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := project.Load(dir)
	if err != nil {
		t.Fatalf("%v\n%s", err, manifest)
	}
	problems, err := satisfy.Check(p, lock)
	if err != nil {
		t.Fatal(err)
	}
	return problems
}

// overridden are examples whose own manifests are needed to judge their locks.
var overridden = map[string]bool{"conda-pypi-dependency-override": true, "dependency_overides": true}

// Every pixi.lock of the shared data satisfies a manifest that asks for what is
// in it, and none that asks for anything else.
func TestRealLocks(t *testing.T) {
	base := filepath.Join(testdata.Shared(t), "data", "locks")
	seen, mutated := 0, map[string]int{}
	err := filepath.WalkDir(base, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.Contains(path, "/non-satisfiability/") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		lock, err := lockfile.Parse(data)
		if err != nil || lock.Format != lockfile.FormatPixi || len(lock.Environments) == 0 {
			return nil
		}
		if _, err := lock.Environment("default"); err != nil {
			return nil // not pixi's: it always writes that
		}
		name, err := filepath.Rel(base, path)
		if err != nil {
			return err
		}
		t.Run(name, func(t *testing.T) {
			if overridden[filepath.Base(filepath.Dir(path))] {
				t.Skip("its manifest overrides what packages require")
			}
			if problems := check(t, invent(lock).text(), lock); problems != nil {
				t.Fatalf("%d problems: %.2000q", len(problems), problems)
			}
			seen++
			for what := range mutations {
				m := invent(lock)
				want := mutations[what](m)
				if want == "" {
					continue
				}
				mutated[what]++
				problems := check(t, m.text(), lock)
				if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, want) }) {
					t.Errorf("%s: no problem says %q: %.500q", what, want, problems)
				}
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d locks; changed manifests: %v", seen, mutated)
	if seen < 100 {
		t.Error("too few locks")
	}
}

// first is an environment with its first platform that has conda packages.
func (m *invented) first() (key [2]string, ok bool) {
	for _, env := range m.environments {
		for _, p := range m.of[env] {
			if key = [2]string{env, p}; len(m.conda[key]) > 0 && strings.Contains(m.conda[key][0], "version") {
				return key, true
			}
		}
	}
	return key, false
}

// mutations change a manifest; they return what must be said then, "" = they do
// not apply.
var mutations = map[string]func(m *invented) string{
	"dependency added": func(m *invented) string {
		key, ok := m.first()
		if !ok {
			return ""
		}
		m.conda[key] = append(m.conda[key], `no-such-package = "*"`)
		return "no-such-package is asked for and not locked"
	},
	"bound raised": func(m *invented) string {
		key, ok := m.first()
		if !ok {
			return ""
		}
		name, _, _ := strings.Cut(m.conda[key][0], " = ")
		m.conda[key][0] = name + ` = ">=99999!1"`
		return strings.Trim(name, `"`) + " >=99999!1` is asked for"
	},
	"platform added": func(m *invented) string {
		key, ok := m.first()
		if !ok || m.names["linux-s390x"] {
			return ""
		}
		m.platforms = append(m.platforms, `"linux-s390x"`)
		m.of[key[0]] = append(m.of[key[0]], "linux-s390x")
		m.conda[[2]string{key[0], "linux-s390x"}] = []string{`x = "*"`}
		return "is not locked for the platform linux-s390x"
	},
	"environment renamed": func(m *invented) string {
		last := len(m.environments) - 1
		env := m.environments[last]
		if env == "default" { // always there
			return ""
		}
		m.environments[last] = "renamed"
		m.of["renamed"], m.channels["renamed"] = m.of[env], m.channels[env]
		return `the lock has the environment "` + env + `"`
	},
	"channel replaced": func(m *invented) string {
		env := m.environments[0]
		if len(m.channels[env]) == 0 {
			return ""
		}
		m.channels[env] = append([]string{"https://conda.example/other"}, m.channels[env][1:]...)
		return "the channel https://conda.example/other of the manifest is not in the lock"
	},
	"index changed": func(m *invented) string {
		env := m.environments[0]
		if m.index[env] == "" {
			return ""
		}
		m.index[env] = "https://pypi.example/other"
		return "the manifest's index is https://pypi.example/other"
	},
	"Python dependency added": func(m *invented) string {
		for _, env := range m.environments {
			for _, p := range m.of[env] {
				key := [2]string{env, p}
				if len(m.python[key]) > 0 && strings.HasPrefix(p, "linux-") && m.withPython[key] {
					m.python[key] = append(m.python[key], `no-such-package = "*"`)
					return "the Python package no-such-package is asked for and not locked"
				}
			}
		}
		return ""
	},
	"dependency taken out": func(m *invented) string {
		key, ok := m.first()
		if !ok || len(m.python[key]) > 0 || strings.Contains(strings.Join(m.conda[key], ""), "path =") {
			return ""
		}
		name, _, _ := strings.Cut(m.conda[key][0], " = ")
		if m.needed[key][strings.Trim(name, `"`)] {
			return ""
		}
		m.conda[key] = m.conda[key][1:]
		return "is locked, and nothing asks for it"
	},
}

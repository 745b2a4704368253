package uvlock_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/lockfile/pylock"
	"github.com/hpcenv/hpcenv/envs/lockfile/uvlock"
	"github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/internal/pypeer"
	"github.com/hpcenv/hpcenv/internal/testdata"
)

// realLocks gives every uv.lock of the shared data.
func realLocks(t testing.TB) map[string][]byte {
	t.Helper()
	dir := filepath.Join(testdata.Shared(t), "data", "locks")
	locks := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Name() != "uv.lock" {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil {
			locks[strings.TrimPrefix(path, dir+"/")] = data
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(locks) == 0 {
		t.Fatal("no uv.lock in the shared data")
	}
	return locks
}

// selections are all extras and groups alone and in pairs, and what leaves out.
func selections(extras, groups []string) []python.Selection {
	all := []python.Selection{{}, {NoDev: true}, {NoDefaultGroups: true}, {AllExtras: true}, {AllGroups: true}, {AllExtras: true, AllGroups: true, NoDev: true}}
	names := func(list []string) []string {
		list = slices.Clone(list)
		slices.Sort(list)
		return slices.Compact(list)
	}
	extras, groups = names(extras), names(groups)
	for i, x := range extras {
		all = append(all, python.Selection{Extras: []string{x}})
		for _, y := range extras[i+1:] {
			all = append(all, python.Selection{Extras: []string{x, y}})
		}
		for _, g := range groups {
			all = append(all, python.Selection{Extras: []string{x}, Groups: []string{g}})
		}
	}
	for i, g := range groups {
		all = append(all, python.Selection{Groups: []string{g}}, python.Selection{Groups: []string{g}, OnlyGroups: true})
		for _, h := range groups[i+1:] {
			all = append(all, python.Selection{Groups: []string{g, h}, NoDev: true})
		}
	}
	return all
}

// project writes what uv needs beside a lock of one project.
func project(name, requires string, extras, groups []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[project]\nname = %q\nversion = \"1\"\nrequires-python = %q\n[project.optional-dependencies]\n", name, requires)
	for _, x := range slices.Compact(slices.Sorted(slices.Values(extras))) {
		fmt.Fprintf(&b, "%q = []\n", x)
	}
	b.WriteString("[dependency-groups]\n")
	for _, g := range slices.Compact(slices.Sorted(slices.Values(groups))) {
		fmt.Fprintf(&b, "%q = []\n", g)
	}
	return b.String()
}

// count of what was compared.
type count struct{ compared, refused, packages, uv, pip int }

// compare holds what hpcenv chooses from a uv.lock against what uv exports and
// packaging chooses; the exported pylock.toml is read too.
func compare(t *testing.T, what string, lock *uvlock.Lock, options uvlock.Options, s python.Selection, export pypeer.Export, targets []pypeer.Target) (n count) {
	t.Helper()
	if export.Refused != "" {
		_, err := lock.Select(targets[0].Ours(t), s, options)
		if err == nil {
			t.Errorf("%s: uv refuses: %s", what, export.Refused)
		}
		n.refused++
		return n
	}
	exported, err := pylock.Parse([]byte(export.Text))
	if err != nil {
		t.Errorf("%s: what uv exported: %v", what, err)
		return n
	}
	for i, target := range targets {
		theirs := export.Chosen[i]
		ours, err := lock.Select(target.Ours(t), s, options)
		again, err2 := exported.Select(target.Ours(t), python.Selection{})
		if theirs.Refused != "" {
			if err == nil || err2 == nil {
				t.Errorf("%s, %+v: %v, %v; packaging refuses: %s", what, target, err, err2, theirs.Refused)
			}
			n.refused++
			continue
		}
		if err != nil || err2 != nil {
			t.Errorf("%s, %+v: %v, %v; packaging does not refuse", what, target, err, err2)
			continue
		}
		if diff := cmp.Diff(theirs.Text(), pypeer.Text(ours)); diff != "" {
			t.Errorf("%s, %+v (-uv +ours):\n%.3000s", what, target, diff)
		}
		if diff := cmp.Diff(theirs.Text(), pypeer.Text(again)); diff != "" {
			t.Errorf("%s, %+v, exported (-packaging +ours):\n%.3000s", what, target, diff)
		}
		n.compared++
		n.packages += len(ours)
		for who, installed := range map[string]*pypeer.Installed{"uv pip install": export.UV, "pip install": export.Pip} {
			if installed == nil || installed.Target != i {
				continue
			}
			if who == "pip install" {
				n.pip++
			} else {
				n.uv++
			}
			var files []string
			for _, p := range ours {
				if p.Kind != lockfile.PyPIDirectory {
					files = append(files, p.FileName)
				}
			}
			slices.Sort(files)
			if diff := cmp.Diff(installed.Files, files, cmpopts.EquateEmpty()); diff != "" || installed.Refused != "" {
				t.Errorf("%s, %+v, %s (-theirs +ours): %s\n%s", what, target, who, installed.Refused, diff)
			}
		}
	}
	return n
}

func (n *count) add(m count) {
	n.compared, n.refused, n.packages = n.compared+m.compared, n.refused+m.refused, n.packages+m.packages
	n.uv, n.pip = n.uv+m.uv, n.pip+m.pip
}

// For every uv.lock × platform × Python × extras and groups the chosen files are
// those of uv and packaging.
func TestRealLocksSameAsUv(t *testing.T) {
	targets := pypeer.Targets()
	var projects []pypeer.Project
	var locks []*uvlock.Lock
	var names []string
	var wanted [][]python.Selection
	for name, data := range realLocks(t) {
		lock, err := uvlock.Parse(data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		extras, groups := lock.ExtrasAndGroups()
		p := pypeer.Project{Files: map[string]string{
			"uv.lock": string(data), "pyproject.toml": project(lock.Members()[0], lock.RequiresPython.String(), extras, groups),
		}}
		all := selections(extras, groups)
		for _, s := range all {
			p.Selections = append(p.Selections, pypeer.Selection{Flags: pypeer.Options(s)})
		}
		projects, locks, names, wanted = append(projects, p), append(locks, lock), append(names, name), append(wanted, all)
	}
	answers := pypeer.Ask(t, projects, targets, 0, 0)
	var total count
	for i, a := range answers {
		for j, export := range a.Exports {
			total.add(compare(t, fmt.Sprintf("%s, %v", names[i], projects[i].Selections[j].Flags), locks[i], uvlock.Options{}, wanted[i][j], export, targets))
		}
	}
	t.Logf("%d locks; lock × platform × Python × extras and groups: %d compared (%d packages), %d refused by both", len(locks), total.compared, total.packages, total.refused)
	if total.compared < 100 {
		t.Error("too few were comparable for this test to say anything")
	}
}

// script is the lock of a script: requirements without a project.
const script = `version = 1
requires-python = ">=3.10"

[manifest]
requirements = [
    { name = "a", extras = ["x"], marker = "python_full_version >= '3.12'" },
    { name = "b" },
    { name = "by-url", extras = ["y"] },
    { name = "by-path" },
]

[[package]]
name = "a"
version = "1"
source = { registry = "https://pypi.example/simple" }
wheels = [
    { url = "https://files.pypi.example/a-1-py3-none-any.whl", hash = "sha256:` + digest + `" },
]

[package.optional-dependencies]
x = [
    { name = "c" },
]

[[package]]
name = "b"
version = "1"
source = { registry = "https://pypi.example/simple" }
resolution-markers = [
    "platform_machine == 'aarch64'",
]
wheels = [
    { url = "https://files.pypi.example/b-1-py3-none-any.whl", hash = "sha256:` + digest + `" },
]

[[package]]
name = "b"
version = "2"
source = { registry = "https://pypi.example/simple" }
resolution-markers = [
    "platform_machine != 'aarch64'",
]
wheels = [
    { url = "https://files.pypi.example/b-2-py3-none-any.whl", hash = "sha256:` + digest + `" },
]

[[package]]
name = "by-path"
version = "3"
source = { path = "../dist/by-path-3.tar.gz" }
sdist = { hash = "sha256:` + digest + `" }

[[package]]
name = "by-url"
version = "4"
source = { url = "https://files.example/by-url-4.zip", subdirectory = "python" }
dependencies = [
    { name = "c", marker = "platform_machine == 'aarch64'" },
]
sdist = { url = "https://files.example/by-url-4.zip", hash = "sha256:` + digest + `" }

[package.metadata]
requires-dist = [{ name = "c" }]
provides-extras = ["y"]

[[package]]
name = "c"
version = "1"
source = { registry = "https://pypi.example/simple" }
wheels = [
    { url = "https://files.pypi.example/c-1-py3-none-any.whl", hash = "sha256:` + digest + `" },
]
`

// The written locks of this package's tests, with every kind of source, extras
// that exclude one another, and a script, mean to uv what they mean here.
func TestWrittenLocksSameAsUv(t *testing.T) {
	targets := pypeer.Targets()
	var projects []pypeer.Project
	texts := []string{sample, exclusive, script}
	wanted := [][]python.Selection{{{}, {NoDev: true}, {AllExtras: true}, {Groups: []string{"dev"}, OnlyGroups: true}}, {{}, {Extras: []string{"cpu"}}, {Extras: []string{"gpu"}}, {AllExtras: true}}, {{}}}
	for i, text := range texts {
		lock, err := uvlock.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		extras, groups := lock.ExtrasAndGroups()
		p := pypeer.Project{Files: map[string]string{"uv.lock": text, "pyproject.toml": project("app", ">=3.10", extras, groups)}}
		if text == script {
			p.Files = map[string]string{"s.py": "# /// script\n# requires-python = \">=3.10\"\n# dependencies = [\"a[x] ; python_full_version >= '3.12'\", \"b\", \"by-url[y]\", \"by-path\"]\n# ///\n", "s.py.lock": text}
		}
		for _, s := range wanted[i] {
			flags := pypeer.Options(s)
			if text == script {
				flags = append(flags, "--script", "s.py")
			}
			p.Selections = append(p.Selections, pypeer.Selection{Flags: flags})
		}
		projects = append(projects, p)
	}
	for i, a := range pypeer.Ask(t, projects, targets, 0, 0) {
		lock, err := uvlock.Parse([]byte(texts[i]))
		if err != nil {
			t.Fatal(err)
		}
		for j, export := range a.Exports {
			n := compare(t, fmt.Sprintf("lock %d, %v", i, projects[i].Selections[j].Flags), lock, uvlock.Options{}, wanted[i][j], export, targets)
			t.Logf("lock %d, %v: %+v", i, projects[i].Selections[j].Flags, n)
		}
	}
}

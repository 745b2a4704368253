// Package pypeer asks uv and the library `packaging` which files a Python lock
// means for a target, for tests that compare. Neither touches the network: uv
// exports a locked project to a pylock.toml, packaging evaluates that file's
// markers and tags.
package pypeer

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/envs/python/tag"
	"github.com/hpcenv/hpcenv/internal/peer"
)

//go:embed driver.py
var driver string

// Target is what files are chosen for.
type Target struct {
	Machine string `json:"machine"`
	Python  string `json:"python"`
	Glibc   [2]int `json:"glibc"`
	Free    bool   `json:"free"`
}

// Ours is the same target as hpcenv has it.
func (p Target) Ours(t testing.TB) *python.Target {
	t.Helper()
	subdir := map[string]string{"x86_64": "linux-64", "aarch64": "linux-aarch64"}[p.Machine]
	target, err := python.NewTarget(subdir, p.Python, p.Free, tag.Glibc{Major: p.Glibc[0], Minor: p.Glibc[1]})
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// Targets are two platforms with Python 3.10 to 3.13.
func Targets() []Target {
	var all []Target
	for _, machine := range []string{"x86_64", "aarch64"} {
		for _, version := range []string{"3.10.14", "3.11.9", "3.12.4", "3.13.1"} {
			all = append(all, Target{Machine: machine, Python: version, Glibc: [2]int{2, 28}})
		}
	}
	return all
}

// Selection is what is asked of a lock: as options of uv, and as extras and
// groups of a pylock.toml (nil groups = the default ones).
type Selection struct {
	Flags  []string `json:"flags"`
	Extras []string `json:"extras"`
	Groups []string `json:"groups"`
}

// Project is a folder with a locked project, or a pylock.toml.
type Project struct {
	// Files by their path below the folder.
	Files map[string]string `json:"files"`
	// Wheels of the project's index.
	Wheels []Wheel `json:"wheels,omitempty"`
	// Lock: uv is to write the uv.lock first.
	Lock bool `json:"lock,omitempty"`
	// Pylock is the text of a pylock.toml that stands instead of a project.
	Pylock     *string     `json:"pylock,omitempty"`
	Selections []Selection `json:"selections"`
}

// Wheel is an empty wheel with metadata.
type Wheel struct {
	// File is its name; the index that stands for @INDEX@ in the project's files
	// has it.
	File     string   `json:"file"`
	Name     string   `json:"name"`
	Version  string   `json:"version"`
	Requires []string `json:"requires"`
	Extras   []string `json:"extras"`
}

// Answer is what the peers say of a project.
type Answer struct {
	// Lock that uv wrote, or why it did not.
	Lock, Refused string
	// Exports, one per selection.
	Exports []Export
}

// Export is what the peers say of a selection.
type Export struct {
	// Refused is what uv said when it would not export it.
	Refused string
	// Text of the exported pylock.toml.
	Text string
	// Chosen, one per target.
	Chosen []Chosen
	// UV and Pip, for some: what the installers take for one target.
	UV, Pip *Installed
}

// Installed is what an installer takes.
type Installed struct {
	// Target is the index of the target.
	Target int
	// Refused is what it says when it takes nothing.
	Refused string
	// Files by name, sorted; source trees are left out.
	Files []string
}

// Chosen are the files for a target.
type Chosen struct {
	// Refused is why the target cannot have it.
	Refused string
	// Chosen packages as name, version, kind, location, sha256; sorted.
	Chosen [][5]string
}

// Text joins what was chosen, one package a line.
func (c Chosen) Text() string {
	var b strings.Builder
	for _, one := range c.Chosen {
		one[3] = plain(one[3])
		fmt.Fprintln(&b, strings.Join(one[:], " "))
	}
	return b.String()
}

// Ask asks the peers. Every so many exports the installers themselves are asked
// for one target (0 = never).
func Ask(t testing.TB, projects []Project, targets []Target, uvEvery, pipEvery int) []Answer {
	t.Helper()
	var answers []Answer
	peer.Ask(t, driver, map[string]any{"projects": projects, "targets": targets, "uv_every": uvEvery, "pip_every": pipEvery}, &answers)
	if len(answers) != len(projects) {
		t.Fatalf("%d answers to %d projects", len(answers), len(projects))
	}
	return answers
}

// Options of uv for a selection.
func Options(s python.Selection) []string {
	flags := []string{}
	add := func(on bool, flag ...string) {
		if on {
			flags = append(flags, flag...)
		}
	}
	add(s.Package != "", "--package", s.Package)
	add(s.AllPackages, "--all-packages")
	add(s.AllExtras, "--all-extras")
	add(s.AllGroups, "--all-groups")
	add(s.NoDefaultGroups, "--no-default-groups")
	add(s.NoDev, "--no-dev")
	for _, x := range s.Extras {
		add(true, "--extra", x)
	}
	for _, g := range s.Groups {
		add(s.OnlyGroups, "--only-group", g)
		add(!s.OnlyGroups, "--group", g)
	}
	return flags
}

// Text joins what hpcenv chose, as Chosen.Text does.
func Text(packages []*lockfile.PyPIPackage) string {
	var lines []string
	for _, p := range packages {
		version, location := p.Version, p.Location
		if p.Kind == lockfile.PyPIDirectory {
			version = "" // uv leaves it out where the source has it
		}
		if p.Kind == lockfile.PyPIGit {
			location = p.URL // a uv.lock's location has the commit too
		}
		lines = append(lines, strings.Join([]string{p.Name, version, string(p.Kind), plain(location), p.SHA256}, " ")+"\n")
	}
	return strings.Join(sorted(lines), "")
}

// plain is a location without its fragment, in which uv repeats a subdirectory.
func plain(location string) string {
	location, _, _ = strings.Cut(location, "#")
	return location
}

func sorted(lines []string) []string {
	slices.Sort(lines)
	return lines
}

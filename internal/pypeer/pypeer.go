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
	// Lock: uv is to write the uv.lock first.
	Lock bool `json:"lock,omitempty"`
	// Pylock is the text of a pylock.toml that stands instead of a project.
	Pylock     *string     `json:"pylock,omitempty"`
	Selections []Selection `json:"selections"`
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
		fmt.Fprintln(&b, strings.Join(one[:], " "))
	}
	return b.String()
}

// Ask asks the peers.
func Ask(t testing.TB, projects []Project, targets []Target) []Answer {
	t.Helper()
	var answers []Answer
	peer.Ask(t, driver, map[string]any{"projects": projects, "targets": targets}, &answers)
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
		lines = append(lines, strings.Join([]string{p.Name, p.Version, string(p.Kind), p.Location, p.SHA256}, " ")+"\n")
	}
	return strings.Join(sorted(lines), "")
}

func sorted(lines []string) []string {
	slices.Sort(lines)
	return lines
}

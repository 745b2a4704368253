package satisfy_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/envs/satisfy"
	"github.com/hpcenv/hpcenv/internal/testdata"
)

// notSeen are stale locks among pixi's own examples that are taken here, and why.
var notSeen = map[string]string{
	"binary-spec-source-record":               "packages that are built are judged when they are prepared",
	"mismatched-source-spec":                  "the same",
	"source-extra-dependency-added":           "the same",
	"source-recursive-dependency":             "the same",
	"source-recursive-dependency-changed-dir": "the same",
	"non-binary-no-build":                     "whether source archives may be built is said when they are prepared",
	"wheels-with-wrong-tags":                  "the tags of wheels are judged when they are installed",
}

// Manifests of real projects are satisfied by the locks that came with them. More
// projects than those of the shared data lie below HPCENV_PIXI_PROJECTS.
func TestRealProjects(t *testing.T) {
	seen := 0
	for _, base := range []string{filepath.Join(testdata.Shared(t), "data", "locks"), os.Getenv("HPCENV_PIXI_PROJECTS")} {
		if base != "" {
			seen += realProjects(t, base)
		}
	}
	if t.Logf("%d projects", seen); seen < 3 {
		t.Error("too few projects")
	}
}

func realProjects(t *testing.T, base string) (seen int) {
	err := filepath.WalkDir(base, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != project.LockName || strings.Contains(path, "/tests/data/") {
			return err
		}
		if p, err := project.Load(filepath.Dir(path)); err == nil && p == nil {
			return nil // its manifest is not here
		}
		t.Run(strings.TrimPrefix(filepath.Dir(path), base), func(t *testing.T) {
			seen++
			p, lock := pair(t, filepath.Dir(path))
			problems, err := satisfy.Check(p, lock)
			if err != nil || problems != nil {
				t.Errorf("%q, %v", problems, err)
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

// pair reads a manifest and the lock beside it.
func pair(t *testing.T, dir string) (*project.Project, *lockfile.Lock) {
	t.Helper()
	p, err := project.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, project.LockName))
	if err != nil {
		t.Fatal(err)
	}
	lock, err := lockfile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return p, lock
}

// pixi's own examples of locks that satisfy their manifests, and of locks that
// do not, are judged as pixi judges them.
func TestPixiExamples(t *testing.T) {
	base := filepath.Join(testdata.Shared(t), "data", "locks", "prefix-dev__pixi", "tests", "data")
	counts := map[string]int{}
	for _, kind := range []string{"satisfiability", "non-satisfiability"} {
		entries, err := os.ReadDir(filepath.Join(base, kind))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			dir := filepath.Join(base, kind, e.Name())
			if _, err := os.Stat(filepath.Join(dir, "pixi.toml")); err != nil {
				continue // its manifest is a pyproject.toml, which is not here
			}
			t.Run(kind+"/"+e.Name(), func(t *testing.T) {
				p, lock := pair(t, dir)
				problems, err := satisfy.Check(p, lock)
				if err != nil {
					t.Fatal(err)
				}
				counts[kind]++
				switch {
				case kind == "satisfiability" && problems != nil:
					t.Errorf("a good lock is refused: %q", problems)
				case kind == "satisfiability":
				case problems == nil && notSeen[e.Name()] == "":
					t.Error("a stale lock is taken")
				case problems != nil && notSeen[e.Name()] != "":
					t.Errorf("it is seen now: %q", problems)
				case problems == nil:
					t.Logf("taken: %s", notSeen[e.Name()])
				default:
					t.Logf("%q", problems)
				}
			})
		}
	}
	t.Log(counts)
	if counts["satisfiability"] < 20 || counts["non-satisfiability"] < 25 {
		t.Error("examples are missing")
	}
	for name := range notSeen {
		if _, err := os.Stat(filepath.Join(base, "non-satisfiability", name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

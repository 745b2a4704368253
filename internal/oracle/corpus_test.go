//go:build oracle

package oracle

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/internal/condatest"
	"github.com/hpcenv/hpcenv/internal/testdata"
)

// standIn passes for the python that noarch packages need.
func standIn(version string) condatest.Package {
	short := strings.Join(strings.SplitN(version, ".", 3)[:2], ".")
	return condatest.Package{Name: "python", Version: version, Build: "0_stand_in", Files: []condatest.File{
		{Path: "bin/python" + short, Content: "#!/bin/sh\n", Exec: true},
		{Path: "lib/python" + short + "/os.py", Content: "import sys\n"},
	}}
}

// testCorpus installs every conda package of the shared data alone.
func testCorpus(t *testing.T, s *session) {
	root := filepath.Join(testdata.Shared(t), "data/packages")
	python := writePackage(t, filepath.Join(s.base, "stand-in"), standIn("3.11.4"), "", false)
	var archives, noPackages int
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !strings.HasSuffix(p, ".conda") && !strings.HasSuffix(p, ".tar.bz2") {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		archives++
		l, ok, err := Lock(p)
		if err != nil {
			return err
		}
		if !ok {
			noPackages++ // a lock cannot name it
			return nil
		}
		t.Run(strings.ReplaceAll(rel, "/", "|"), func(t *testing.T) {
			locked := []Locked{l}
			if l.Name != "python" {
				locked = append(locked, python)
			}
			s.check(t, inputName(t), Text(locked), "default", shortPrefix)
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d archives; %d have no name that a conda package has", archives, noPackages)
	if archives < 100 {
		t.Errorf("only %d archives were found below %s", archives, root)
	}
}

// groups are packages of the shared data that want the same paths. Not among them
// are those of which rattler makes what the order of its threads gives (see
// fileOrDir): those whose names have -fd-; what must come of them is tested in
// materialize.
var groups = map[string][]string{
	"clobber-1-2-3":        {"clobber-1-0.1.0", "clobber-2-0.1.0", "clobber-3-0.1.0"},
	"clobber-1-2-3-update": {"clobber-1-0.2.0", "clobber-2-0.2.0", "clobber-3-0.2.0"},
	"clobber-nested":       {"clobber-nested-1", "clobber-nested-2", "clobber-nested-3"},
	"clobber-pynoarch":     {"clobber-pynoarch-1", "clobber-pynoarch-2"},
	"clobber-dir":          {"clobber-with-dir", "clobber-without-dir"},
	"clobber-with-symlink": {"clobber-with-symlink-a", "clobber-with-symlink-b"},
	"clobber-python":       {"clobber-python-0.1.0-pypy", "clobber-pypy"},
}

func testGroups(t *testing.T, s *session) {
	root := filepath.Join(testdata.Shared(t), "data/packages/conda__rattler/test-data/clobber")
	python := writePackage(t, filepath.Join(s.base, "stand-in"), standIn("3.11.4"), "", false)
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		members := groups[name]
		t.Run(name, func(t *testing.T) {
			locked := []Locked{python}
			for _, m := range members {
				found, err := filepath.Glob(filepath.Join(root, m+"*"))
				if err != nil || len(found) != 1 {
					t.Fatalf("%s: found %v, %v", m, found, err)
				}
				locked = append(locked, lockArchive(t, found[0]))
			}
			s.check(t, inputName(t), Text(locked), "default", shortPrefix)
		})
	}
}

// testDemo installs the environments of the demo channel.
func testDemo(t *testing.T, s *session) {
	project := filepath.Join(s.base, "project")
	if out, err := exec.Command("../../contrib/demo/channel.sh", "project", project).CombinedOutput(); err != nil {
		why := "DEMO CHANNEL ABSENT: " + err.Error() + ": " + string(out)
		if os.Getenv("HPCENV_ORACLE") == "require" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	lock, err := os.ReadFile(filepath.Join(project, "pixi.lock"))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := lockfile.Parse(lock)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"default", "cpu", "gex"} {
		if _, err := parsed.Environment(want); err != nil {
			t.Error(err)
			continue
		}
		t.Run(want, func(t *testing.T) { s.check(t, inputName(t), lock, want, shortPrefix) })
	}
}

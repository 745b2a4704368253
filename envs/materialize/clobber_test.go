package materialize_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/internal/testdata"
)

// TestClobberTable installs packages that own common paths, in every order, and
// expects what the reference installer's own tests expect.
func TestClobberTable(t *testing.T) {
	dir := filepath.Join(testdata.Shared(t), "data/packages/conda__rattler/test-data/clobber")
	for name, c := range map[string]struct {
		archives  []string
		python    bool
		want      map[string]string // path → content; "*" = any
		conflicts []materialize.Conflict
	}{
		"three": {
			archives: []string{"clobber-1-0.1.0-h4616a5c_0.tar.bz2", "clobber-2-0.1.0-h4616a5c_0.tar.bz2", "clobber-3-0.1.0-h4616a5c_0.tar.bz2"},
			want:     map[string]string{"clobber.txt": "clobber-1\n", "another-clobber.txt": "clobber-1\n"},
			conflicts: []materialize.Conflict{
				{Path: "another-clobber.txt", Winner: "clobber-1-0.1.0-h4616a5c_0", Losers: []string{"clobber-2-0.1.0-h4616a5c_0", "clobber-3-0.1.0-h4616a5c_0"}},
				{Path: "clobber.txt", Winner: "clobber-1-0.1.0-h4616a5c_0", Losers: []string{"clobber-2-0.1.0-h4616a5c_0", "clobber-3-0.1.0-h4616a5c_0"}},
			},
		},
		"nested": {
			archives: []string{"clobber-nested-1-0.1.0-h4616a5c_0.tar.bz2", "clobber-nested-2-0.1.0-h4616a5c_0.tar.bz2", "clobber-nested-3-0.1.0-h4616a5c_0.tar.bz2"},
			want:     map[string]string{"clobber/bobber/clobber.txt": "clobber-2\n"},
			conflicts: []materialize.Conflict{
				{Path: "clobber/bobber/clobber.txt", Winner: "clobber-nested-2-0.1.0-h4616a5c_0", Losers: []string{"clobber-nested-1-0.1.0-h4616a5c_0", "clobber-nested-3-0.1.0-h4616a5c_0"}},
			},
		},
		"second version of all": {
			archives: []string{"clobber-1-0.2.0-h4616a5c_0.tar.bz2", "clobber-2-0.2.0-h4616a5c_0.tar.bz2", "clobber-3-0.2.0-h4616a5c_0.tar.bz2"},
			want:     map[string]string{"clobber.txt": "clobber-1 v2\n"},
			conflicts: []materialize.Conflict{
				{Path: "clobber.txt", Winner: "clobber-1-0.2.0-h4616a5c_0", Losers: []string{"clobber-2-0.2.0-h4616a5c_0", "clobber-3-0.2.0-h4616a5c_0"}},
			},
		},
		"second version of the first": {
			archives: []string{"clobber-1-0.2.0-h4616a5c_0.tar.bz2", "clobber-2-0.1.0-h4616a5c_0.tar.bz2", "clobber-3-0.1.0-h4616a5c_0.tar.bz2"},
			want:     map[string]string{"clobber.txt": "clobber-1 v2\n", "another-clobber.txt": "clobber-2\n"},
			conflicts: []materialize.Conflict{
				{Path: "another-clobber.txt", Winner: "clobber-2-0.1.0-h4616a5c_0", Losers: []string{"clobber-3-0.1.0-h4616a5c_0"}},
				{Path: "clobber.txt", Winner: "clobber-1-0.2.0-h4616a5c_0", Losers: []string{"clobber-2-0.1.0-h4616a5c_0", "clobber-3-0.1.0-h4616a5c_0"}},
			},
		},
		"noarch python": {
			archives: []string{"clobber-pynoarch-1-0.1.0-pyh4616a5c_0.tar.bz2", "clobber-pynoarch-2-0.1.0-pyh4616a5c_0.tar.bz2"},
			python:   true,
			want:     map[string]string{"lib/python3.11/site-packages/clobber/clobber.py": "*"},
			// Both files are empty, and equal content is no conflict.
			conflicts: []materialize.Conflict{},
		},
		"directory over file": {
			archives: []string{"clobber-with-dir-0.1.0-h4616a5c_0.conda", "clobber-without-dir-0.1.0-h4616a5c_0.conda"},
			want:     map[string]string{"dir/clobber.txt": "*"},
			conflicts: []materialize.Conflict{
				{Path: "dir", Winner: "clobber-with-dir-0.1.0-h4616a5c_0", Losers: []string{"clobber-without-dir-0.1.0-h4616a5c_0"}},
			},
		},
		"two directories over file": {
			archives: []string{"clobber-fd-rev-1-0.1.0-h4616a5c_0.conda", "clobber-fd-rev-2-0.1.0-h4616a5c_0.conda", "clobber-fd-rev-3-0.1.0-h4616a5c_0.conda"},
			want:     map[string]string{"clobber/clobber-fd-rev-1.txt": "*", "clobber/clobber-fd-rev-2.txt": "*"},
			conflicts: []materialize.Conflict{
				{Path: "clobber", Winner: "clobber-fd-rev-1-0.1.0-h4616a5c_0", Losers: []string{"clobber-fd-rev-3-0.1.0-h4616a5c_0"}},
			},
		},
		"links": {
			archives: []string{"clobber-with-symlink-a-0.1.0-h4616a5c_0.conda", "clobber-with-symlink-b-0.1.0-h4616a5c_0.conda"},
			want:     map[string]string{"lib/clobber-1.txt": "*", "lib/clobber-2.txt": "*", "lib/clobber.so": "→ clobber-1.txt"},
			conflicts: []materialize.Conflict{
				{Path: "lib/clobber.so", Winner: "clobber-with-symlink-b-0.1.0-h4616a5c_0", Losers: []string{"clobber-with-symlink-a-0.1.0-h4616a5c_0"}},
			},
		},
		"one python": {
			archives: []string{"clobber-python-0.1.0-pypy.conda", "clobber-pypy-0.1.0-h4616a5c_0.conda"},
			want:     map[string]string{"bin/python": "*"},
		},
		"directory":        {archives: []string{"clobber-directory-upgrade-0.1.0-h4616a5c_0.conda"}, want: map[string]string{"xbin/content.txt": "*"}},
		"directory's file": {archives: []string{"clobber-directory-upgrade-0.2.0-h4616a5c_0.conda"}, want: map[string]string{"xbin": "*", "bin/content.txt": "*"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			var pkgs []materialize.Package
			for _, a := range c.archives {
				p, err := ingest(t, s, filepath.Join(dir, a))
				if err != nil {
					t.Fatal(err)
				}
				pkgs = append(pkgs, p)
			}
			digest := ""
			permutations(pkgs, func(pkgs []materialize.Package) {
				if c.python {
					py := python()
					py.Files, py.Depends = nil, nil
					pkgs = append(pkgs, build(t, s, py)...)
				}
				root, plan, res := execute(t, s, "/opt/hpcenv/e/x", pkgs, 2)
				got := tree(t, root)
				for p, content := range c.want {
					if content == "*" {
						content = got[p]
					}
					if got[p] != content {
						t.Errorf("%s holds %q, want %q", p, got[p], content)
					}
				}
				if d := cmp.Diff(keys(c.want), keys(got)); d != "" {
					t.Error(d)
				}
				if c.conflicts != nil {
					if d := cmp.Diff(c.conflicts, plan.Conflicts, cmpopts.EquateEmpty()); d != "" {
						t.Error(d)
					}
				}
				if digest == "" {
					digest = res.TreeDigest
				}
				if res.TreeDigest != digest {
					t.Errorf("the order of packages changes the tree")
				}
			})
		})
	}
}

package matchspec_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hpcenv/hpcenv/envs/conda/matchspec"
	"github.com/hpcenv/hpcenv/envs/conda/version"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/internal/testdata"
)

// corpus are all specifications and packages of the shared locks.
func corpus(t *testing.T) question {
	t.Helper()
	var q question
	specs, packages := map[string]bool{}, map[pkg]bool{}
	err := filepath.WalkDir(filepath.Join(testdata.Shared(t), "data", "locks"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		lock, err := lockfile.Parse(data)
		if err != nil {
			return nil // other formats, and what must be refused
		}
		for _, env := range lock.Environments {
			for _, p := range append(slices.Clone(env.Platforms), env.Others...) {
				for _, c := range p.Conda {
					for _, s := range append(slices.Clone(c.Depends), c.Constrains...) {
						specs[s] = true
					}
					packages[pkg{Name: c.Name, Version: c.Version, Build: c.Build, Number: c.BuildNumber, Subdir: c.Subdir}] = true
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for s := range specs {
		q.Specs = append(q.Specs, s)
	}
	for p := range packages {
		q.Packages = append(q.Packages, p)
	}
	slices.Sort(q.Specs)
	slices.SortFunc(q.Packages, func(a, b pkg) int {
		return slices.Compare([]string{a.Name, a.Version, a.Build, a.Subdir}, []string{b.Name, b.Version, b.Build, b.Subdir})
	})
	return q
}

// rattler reads every specification of the shared locks the same, and of each
// all packages of its name fit or do not.
func TestCorpusSameAsRattler(t *testing.T) {
	q := corpus(t)
	byName := map[string][]int{}
	for i, p := range q.Packages {
		byName[p.Name] = append(byName[p.Name], i)
	}
	for i, text := range q.Specs {
		m, err := matchspec.Parse(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		for _, j := range byName[m.Name] {
			q.Asks = append(q.Asks, [2]int{i, j})
		}
	}
	valid, held := compare(t, q, func(string) bool { return false })
	t.Logf("%d of %d specifications are valid; %d packages, %d questions, %d fit", valid, len(q.Specs), len(q.Packages), len(q.Asks), held)
	if len(q.Specs) < 3000 || held < 5000 {
		t.Error("the shared locks hold too little")
	}
}

// FuzzParse: any text is a specification or an error; what it is made of
// contradicts nothing.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"foo >=1.2,<2 py*", "ch/linux-64::foo[version='>=1', extras=[a, b]]", "foo=1=b", "foo (1|2) # x", "https://x.example/noarch/a-1-0.conda#x", "foo; if bar"} {
		f.Add(s)
	}
	v, err := version.Parse("1.2")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := matchspec.Parse(text)
		if err != nil {
			return
		}
		if m.Name == "" || m.String() != text {
			t.Fatalf("%q: %+v", text, m)
		}
		p := &matchspec.Package{Name: m.Name, Version: v, Build: "b"}
		if m.Matches(p) != m.MatchesNameless(p) {
			t.Fatalf("%q does not fit its own name", text)
		}
	})
}

package uvlock_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/lockfile/uvlock"
	"github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/internal/pypeer"
)

// Another hash, URL, size or name of a chosen file in the lock's bytes is another
// result, or an error: nothing of what is installed is passed over.
func TestEveryChangeCounts(t *testing.T) {
	target := target(t)
	choose := func(data []byte) string {
		lock, err := uvlock.Parse(data)
		if err != nil {
			return err.Error()
		}
		packages, err := lock.Select(target, python.Selection{AllExtras: true, AllGroups: true}, uvlock.Options{})
		if err != nil {
			return err.Error()
		}
		return pypeer.Text(packages)
	}
	changed := 0
	for name, data := range realLocks(t) {
		before := choose(data)
		lock, err := uvlock.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		packages, err := lock.Select(target, python.Selection{AllExtras: true, AllGroups: true}, uvlock.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range packages {
			if p.Kind == lockfile.PyPIDirectory {
				continue
			}
			other := strings.Repeat("0", 64)
			for _, c := range [][2]string{{p.SHA256, other}, {p.SHA256, p.SHA256[1:]}, {p.Location, strings.Replace(p.Location, "/packages/", "/elsewhere/", 1)}, {`hash = "sha256:` + p.SHA256 + `"`, `x = 1`}} {
				text := bytes.Replace(data, []byte(c[0]), []byte(c[1]), 1)
				if bytes.Equal(text, data) {
					t.Fatalf("%s: %q is not in it", name, c[0])
				}
				if choose(text) == before {
					t.Errorf("%s: %q for %q changes nothing", name, c[1], c[0])
				}
				changed++
			}
		}
	}
	if t.Logf("%d changes", changed); changed < 300 {
		t.Error("too few changes were tried for this test to say anything")
	}
}

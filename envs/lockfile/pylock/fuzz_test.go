package pylock_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/lockfile/pylock"
	"github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/internal/pypeer"
)

// Whatever the bytes: an error of a class, or packages of which each is complete
// and each name is there once.
func FuzzPylock(f *testing.F) {
	r := rand.New(rand.NewPCG(17, 18))
	for range 30 {
		f.Add([]byte(make1(r)))
	}
	target := pypeer.Targets()[2].Ours(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		lock, err := pylock.Parse(data)
		if err != nil {
			if !errors.Is(err, lockfile.ErrLock) {
				t.Fatalf("the error has no class: %v", err)
			}
			return
		}
		packages, err := lock.Select(target, python.Selection{AllExtras: true, AllGroups: true})
		if err != nil {
			if !errors.Is(err, lockfile.ErrLock) {
				t.Fatalf("the error has no class: %v", err)
			}
			return
		}
		names := map[string]bool{}
		for _, p := range packages {
			if names[p.Name] || p.Location == "" || p.URL == "" || p.Line == 0 || p.Kind == "" {
				t.Fatalf("%+v", p)
			}
			names[p.Name] = true
			if p.Kind == lockfile.PyPIWheel && (p.FileName == "" || p.SHA256 == "" && !p.Local) {
				t.Fatalf("%+v", p)
			}
		}
	})
}

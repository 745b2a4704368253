package uvlock_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/lockfile/uvlock"
	"github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/internal/pypeer"
)

// Whatever the bytes: an error of a class, or packages of which each is complete
// and each name is there once; more is chosen the more is asked for.
func FuzzUvLock(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte(exclusive))
	for _, part := range strings.SplitAfter(sample, "\n\n") {
		f.Add([]byte("version = 1\n" + part))
	}
	target := pypeer.Targets()[2].Ours(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		lock, err := uvlock.Parse(data)
		if err != nil {
			if !errors.Is(err, lockfile.ErrLock) {
				t.Fatalf("the error has no class: %v", err)
			}
			return
		}
		count := -1
		for _, s := range []python.Selection{{NoDefaultGroups: true}, {}, {AllPackages: true, AllExtras: true, AllGroups: true}} {
			packages, err := lock.Select(target, s, uvlock.Options{})
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
			// Markers may ask what is not active, so this holds without any.
			if len(packages) < count && !strings.Contains(string(data), "extra") {
				t.Fatalf("%d packages, less than %d", len(packages), count)
			}
			count = len(packages)
		}
	})
}

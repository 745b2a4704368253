package main

import (
	"testing"

	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// TestGrow: what is measured is a lock, as large as was asked, without a package
// or environment twice.
func TestGrow(t *testing.T) {
	const small = "version: 6\nenvironments:\n  default:\n    channels:\n    - url: https://conda.example/m/\n    packages:\n      linux-64:\n      - conda: https://conda.example/m/linux-64/a-1-0.conda\n" +
		"packages:\n- conda: https://conda.example/m/linux-64/a-1-0.conda\n  depends:\n  - b\n"
	grown := grow([]byte(small), 100_000)
	if len(grown) < 100_000 {
		t.Errorf("%d bytes", len(grown))
	}
	lock, err := lockfile.Parse(grown)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, env := range lock.Environments {
		for _, pkg := range env.Platforms[0].Conda {
			if seen[pkg.Name] || len(pkg.Depends) != 1 {
				t.Errorf("%s: again, or without its keys", pkg.Name)
			}
			seen[pkg.Name] = true
		}
	}
	if len(seen) < 100 || len(seen) != len(lock.Environments) {
		t.Errorf("%d packages in %d environments", len(seen), len(lock.Environments))
	}
}

package stack

import (
	"slices"
	"testing"
)

// Every statement about a package says where it is from, and names networks and
// parts that there are.
func TestDriversAreStated(t *testing.T) {
	known := []string{InfiniBand, RoCE, EFA, Slingshot10, Slingshot11, OmniPath}
	for i, d := range drivers {
		if d.source == "" {
			t.Errorf("row %d (%v) has no source", i, d.names)
		}
		if len(d.networks) == 0 && d.remark == "" {
			t.Errorf("row %d (%v) has TCP only and does not say so", i, d.names)
		}
		for _, n := range d.networks {
			if !slices.Contains(known, n) {
				t.Errorf("row %d (%v) names a network %q", i, d.names, n)
			}
		}
		for _, name := range d.names {
			if !slices.ContainsFunc(parts, func(p struct {
				part        string
				conda, pypi []string
			}) bool {
				return p.part == d.part && slices.Contains(map[bool][]string{true: p.pypi, false: p.conda}[d.wheel], name)
			}) {
				t.Errorf("row %d: %s is not a package of the part %s", i, name, d.part)
			}
		}
	}
	// Of every package that can decide a family something is known.
	for _, p := range parts {
		if !slices.Contains([]string{partUCX, partGASNet, partMPI, partLibfabric}, p.part) {
			continue
		}
		for _, name := range append(slices.Clone(p.conda), p.pypi...) {
			if !slices.ContainsFunc(drivers, func(d driver) bool { return d.part == p.part && slices.Contains(d.names, name) }) {
				t.Errorf("nothing is known of %s", name)
			}
		}
	}
}

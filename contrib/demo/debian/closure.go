package debian

import (
	"context"
	"fmt"
	"sort"
	"strings"
)

// Set is a closure of packages of one architecture, by name.
type Set struct {
	Arch     string
	Packages map[string]*Stanza
	// Needs are the resolved dependencies of each package, sorted; names that
	// stop answered true for are left out.
	Needs map[string][]string
}

// shower is what Closure needs of Apt.
type shower interface {
	Show(ctx context.Context, arch string, names []string) (map[string]*Stanza, error)
}

// Closure follows the dependencies of roots. Of alternatives, the first that
// apt has is taken. Names for which stop answers true are not followed: the
// host has them (the C library) or they do nothing below a prefix.
func Closure(ctx context.Context, apt shower, arch string, roots []string, stop func(string) bool) (*Set, error) {
	set := &Set{Arch: arch, Packages: map[string]*Stanza{}, Needs: map[string][]string{}}
	known := map[string]*Stanza{} // every name asked for; nil = apt has none
	ask := func(names []string) error {
		var fresh []string
		for _, n := range names {
			if _, ok := known[n]; !ok {
				known[n] = nil
				fresh = append(fresh, n)
			}
		}
		if len(fresh) == 0 {
			return nil
		}
		got, err := apt.Show(ctx, arch, fresh)
		if err != nil {
			return err
		}
		for n, s := range got {
			known[n] = s
		}
		return nil
	}
	if err := ask(roots); err != nil {
		return nil, err
	}
	var missing []string
	for _, r := range roots {
		if known[r] == nil {
			missing = append(missing, r)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%w: this system's sources have no package for %s called: %s", ErrApt, arch, strings.Join(missing, ", "))
	}
	for queue := roots; len(queue) > 0; {
		var names []string
		for _, q := range queue {
			set.Packages[q] = known[q]
			for _, clause := range known[q].Depends {
				names = append(names, clause...)
			}
		}
		var wanted []string
		for _, n := range names {
			if !stop(n) {
				wanted = append(wanted, n)
			}
		}
		if err := ask(wanted); err != nil {
			return nil, err
		}
		next := map[string]bool{}
		for _, q := range queue {
			needs := map[string]bool{}
			for _, clause := range known[q].Depends {
				pick, err := choose(clause, known, stop)
				if err != nil {
					return nil, fmt.Errorf("%s (%s): %w", q, arch, err)
				}
				if pick == "" {
					continue
				}
				needs[pick] = true
				if set.Packages[pick] == nil {
					next[pick] = true
				}
			}
			set.Needs[q] = sorted(needs)
		}
		queue = sorted(next)
	}
	return set, nil
}

// choose picks the alternative of a clause; "" = the host has it.
func choose(clause []string, known map[string]*Stanza, stop func(string) bool) (string, error) {
	for _, n := range clause {
		if stop(n) {
			return "", nil
		}
		if known[n] != nil {
			return n, nil
		}
	}
	return "", fmt.Errorf("%w: nothing satisfies its dependency %s", ErrApt, strings.Join(clause, " | "))
}

func sorted(m map[string]bool) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

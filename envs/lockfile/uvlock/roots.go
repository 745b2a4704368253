package uvlock

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/python"
)

// root is an entry where a walk begins.
type root struct {
	*entry
	extras, groups []string
}

// start is where a walk begins.
type start struct {
	roots []root
	// onlyGroups: the roots and their dependencies are left out.
	onlyGroups bool
	// whole: the root that is no package is among the roots.
	whole bool
	// groups of the root that is no package.
	groups []string
}

// project returns the entry of the directory in which the lock lies; nil if
// that is no package.
func (l *Lock) project() *entry {
	for _, e := range l.entries {
		if e.source.project() {
			return e
		}
	}
	return nil
}

// allMembers returns the entries of the workspace's members.
func (l *Lock) allMembers() []*entry {
	if len(l.members) == 0 {
		if p := l.project(); p != nil {
			return []*entry{p}
		}
		return nil
	}
	var all []*entry
	for _, m := range l.members {
		for _, e := range l.byName[m] {
			if e.source.tree() {
				all = append(all, e)
			}
		}
	}
	return all
}

// Members returns the names of the workspace's members, sorted; of a single
// project its own.
func (l *Lock) Members() []string {
	var names []string
	for _, e := range l.allMembers() {
		names = append(names, e.name)
	}
	slices.Sort(names)
	return names
}

// Extras returns the extras of the project beside the lock, or if that is no
// package of all members; sorted.
func (l *Lock) Extras() []string {
	roots := l.allMembers()
	if p := l.project(); p != nil {
		roots = []*entry{p}
	}
	var all []string
	for _, e := range roots {
		all = append(all, e.offeredExtras...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Member returns the directory of a member by its normalized name, relative to the
// lock.
func (l *Lock) Member(name string) (dir string, ok bool) {
	for _, e := range l.allMembers() {
		if e.name == name {
			return e.source.location, true
		}
	}
	return "", false
}

// MemberAt returns the normalized name of the member in a directory, which is
// relative to the lock, with slashes; "" if it is none.
func (l *Lock) MemberAt(dir string) string {
	for _, e := range l.allMembers() {
		if path.Clean(e.source.location) == path.Clean(dir) {
			return e.name
		}
	}
	return ""
}

// start finds the roots of a selection; the error wraps python.ErrSelection.
func (l *Lock) start(s python.Selection, options Options) (*start, error) {
	members := l.allMembers()
	entries := members
	switch {
	case s.Package != "":
		i := slices.IndexFunc(members, func(e *entry) bool { return e.name == s.Package })
		if i < 0 {
			return nil, fmt.Errorf("%w: uv.lock: no member `%s`; it has %s", python.ErrSelection, s.Package, strings.Join(l.Members(), ", "))
		}
		entries = members[i : i+1]
	case !s.AllPackages:
		if p := l.project(); p != nil {
			entries = []*entry{p}
		}
	}
	// An extra or group must be there in one root; each root gives those it has.
	var extras, groups []string
	for _, e := range entries {
		extras, groups = append(extras, e.offeredExtras...), append(groups, e.offeredGroups...)
	}
	whole := s.Package == ""
	if whole {
		groups = slices.AppendSeq(groups, maps.Keys(l.groups))
	}
	defaults := options.DefaultGroups
	if options.DefaultAll {
		defaults = groups
	} else if defaults == nil {
		defaults = []string{"dev"}
	}
	wantedExtras, err := s.WantedExtras(extras)
	if err != nil {
		return nil, fmt.Errorf("uv.lock: %w", err)
	}
	wantedGroups, err := s.WantedGroups(groups, defaults)
	if err != nil {
		return nil, fmt.Errorf("uv.lock: %w", err)
	}
	st := &start{onlyGroups: s.OnlyGroups, whole: whole, groups: wantedGroups}
	for _, e := range entries {
		st.roots = append(st.roots, root{e, common(wantedExtras, e.offeredExtras), common(wantedGroups, e.offeredGroups)})
	}
	return st, nil
}

// common returns what is in both, in the order of wanted.
func common(wanted, offered []string) []string {
	have := make(map[string]bool, len(offered))
	for _, o := range offered {
		have[o] = true
	}
	var both []string
	for _, w := range wanted {
		if have[w] {
			both = append(both, w)
		}
	}
	return both
}

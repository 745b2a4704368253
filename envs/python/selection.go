package python

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/python/name"
)

// ErrSelection is the class of errors about what was asked of a lock: the text
// of a Selection, or names that the lock does not have.
var ErrSelection = errors.New("this lock does not have what was asked for")

// Selection is what is asked of a uv.lock or pylock.toml, where a pixi.lock has
// environments: the zero value is the project itself with its default groups.
// Names are normalized and sorted after Canonical.
type Selection struct {
	// Package is the member of a workspace; "" = the project beside the lock (if
	// there is none, all members).
	Package string
	// AllPackages: all members of the workspace.
	AllPackages bool
	// Extras of the package, and AllExtras of them.
	Extras    []string
	AllExtras bool
	// Groups are dependency groups beside the default ones, and AllGroups of them.
	Groups    []string
	AllGroups bool
	// OnlyGroups: the groups without the package and its dependencies.
	OnlyGroups bool
	// NoDefaultGroups: of the groups only those that Groups names. NoDev: all that
	// is asked for but the group `dev`.
	NoDefaultGroups, NoDev bool
}

// DefaultSelection is the text of the zero Selection.
const DefaultSelection = "default"

// flag is a word of the text and what it sets.
type flag struct {
	word string
	set  *bool
}

// flags in the order of the text.
func (s *Selection) flags() []flag {
	return []flag{
		{"all-packages", &s.AllPackages}, {"all-extras", &s.AllExtras}, {"all-groups", &s.AllGroups},
		{"only-groups", &s.OnlyGroups}, {"no-default-groups", &s.NoDefaultGroups}, {"no-dev", &s.NoDev},
	}
}

// ParseSelection reads the text of a selection: items with commas between them,
// `package=NAME`, `extra=NAME`, `group=NAME` and the words all-packages,
// all-extras, all-groups, only-groups, no-default-groups, no-dev; a first item
// without `=` that is none of these words is the package. `default` and "" are
// the zero value. The error wraps ErrSelection.
func ParseSelection(text string) (Selection, error) {
	var s Selection
	if text == "" || text == DefaultSelection {
		return s, nil
	}
	flags := s.flags()
	for i, item := range strings.Split(text, ",") {
		fail := func(why string) (Selection, error) {
			return Selection{}, fmt.Errorf("%w: %q: item %q: %s", ErrSelection, text, item, why)
		}
		key, value, named := strings.Cut(item, "=")
		if n := slices.IndexFunc(flags, func(f flag) bool { return f.word == item }); n >= 0 {
			*flags[n].set = true
			continue
		}
		if !named && i == 0 {
			key, value = "package", item
		}
		if !named && i > 0 {
			return fail(expected)
		}
		if !name.Valid(value) {
			return fail("it is no name")
		}
		switch key {
		case "package":
			if s.Package != "" {
				return fail("only one package can be asked for; all-packages takes all")
			}
			s.Package = value
		case "extra":
			s.Extras = append(s.Extras, value)
		case "group":
			s.Groups = append(s.Groups, value)
		default:
			return fail(expected)
		}
	}
	return s.Canonical()
}

// expected are the items of a wish, of which those of a Selection are read here.
const expected = "expected package=, extra=, group=, python= or one of all-packages, all-extras, all-groups, only-groups, no-default-groups, no-dev"

// Canonical normalizes and sorts the names. What asks for the same has the same
// canonical form. The error wraps ErrSelection: what contradicts itself or is no
// name.
func (s Selection) Canonical() (Selection, error) {
	if s.Package != "" && s.AllPackages {
		return s, fmt.Errorf("%w: one package and all packages were asked for; give one of them", ErrSelection)
	}
	if s.OnlyGroups && (len(s.Extras) > 0 || s.AllExtras) {
		return s, fmt.Errorf("%w: extras belong to the package, which only-groups leaves out; give one of them", ErrSelection)
	}
	for _, n := range slices.Concat([]string{s.Package}, s.Extras, s.Groups) {
		if n != "" && !name.Valid(n) {
			return s, fmt.Errorf("%w: %q is no name of a package, extra or group", ErrSelection, n)
		}
	}
	s.Package = name.Normalize(s.Package)
	s.Extras, s.Groups = names(s.Extras), names(s.Groups)
	if s.AllExtras {
		s.Extras = nil
	}
	if s.NoDev {
		s.Groups = slices.DeleteFunc(s.Groups, func(g string) bool { return g == "dev" })
	}
	if s.AllGroups {
		s.Groups = nil
	}
	if s.AllGroups || s.OnlyGroups { // either leaves nothing to the default groups
		s.NoDefaultGroups = false
	}
	if len(s.Groups) == 0 {
		s.Groups = nil
	}
	return s, nil
}

// names returns the names normalized, sorted, each once; nil for none.
func names(all []string) []string {
	var list []string
	for _, n := range all {
		list = append(list, name.Normalize(n))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// String is the canonical text, which ParseSelection reads; it stands for the
// environment's name in plans and pins. s must be canonical.
func (s Selection) String() string {
	var items []string
	if s.Package != "" {
		items = append(items, "package="+s.Package)
	}
	for _, f := range s.flags() {
		if *f.set {
			items = append(items, f.word)
		}
	}
	for _, e := range s.Extras {
		items = append(items, "extra="+e)
	}
	for _, g := range s.Groups {
		items = append(items, "group="+g)
	}
	if items == nil {
		return DefaultSelection
	}
	return strings.Join(items, ",")
}

// WantedGroups returns the groups that are asked for, sorted: of all that there
// are, given the default ones. A default group that is not there is passed
// over; one that Groups names is an error (ErrSelection).
func (s Selection) WantedGroups(all, defaults []string) ([]string, error) {
	wanted := slices.Clone(s.Groups)
	if err := s.missing("dependency group", s.Groups, all); err != nil {
		return nil, err
	}
	switch {
	case s.AllGroups:
		wanted = slices.Clone(all)
	case !s.NoDefaultGroups && !s.OnlyGroups:
		there := make(map[string]bool, len(all))
		for _, g := range all {
			there[g] = true
		}
		for _, d := range defaults {
			if there[d] {
				wanted = append(wanted, d)
			}
		}
	}
	if s.NoDev {
		wanted = slices.DeleteFunc(wanted, func(g string) bool { return g == "dev" })
	}
	slices.Sort(wanted)
	return slices.Compact(wanted), nil
}

// WantedExtras returns the extras that are asked for, sorted; one that is not
// among all is an error (ErrSelection).
func (s Selection) WantedExtras(all []string) ([]string, error) {
	if err := s.missing("extra", s.Extras, all); err != nil {
		return nil, err
	}
	wanted := slices.Clone(s.Extras)
	if s.AllExtras {
		wanted = slices.Clone(all)
	}
	slices.Sort(wanted)
	return slices.Compact(wanted), nil
}

func (s Selection) missing(what string, asked, all []string) error {
	for _, a := range asked {
		if slices.Contains(all, a) {
			continue
		}
		there := "it has none"
		if len(all) > 0 {
			sorted := slices.Clone(all)
			slices.Sort(sorted)
			there = "it has " + strings.Join(slices.Compact(sorted), ", ")
		}
		return fmt.Errorf("%w: no %s `%s`; %s", ErrSelection, what, a, there)
	}
	return nil
}

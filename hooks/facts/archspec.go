package facts

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// archspecText is archspec's data on the families that hpcenv serves, made by
// archgen. Lines: "vendor CODE NAME" (Arm implementers), and "target NAME VENDOR
// PART PARENTS FEATURES" with - for what a target has not, and lists by commas;
// parents come first, and otherwise the order is archspec's: of two equally good
// targets the first counts.
//
//go:embed archspec.txt
var archspecText string

const generic = "generic"

// target is a microarchitecture.
type target struct {
	name, vendor, part string
	parents            []string
	// ancestors without itself, the nearest first.
	ancestors []string
	features  []string
}

// family is the root of its ancestors.
func (t *target) family() string {
	if len(t.ancestors) == 0 {
		return t.name
	}
	return t.ancestors[len(t.ancestors)-1]
}

// lineage is itself and its ancestors.
func (t *target) lineage() []string { return append([]string{t.name}, t.ancestors...) }

func (t *target) descends(from string) bool { return slices.Contains(t.ancestors, from) }

// level of x86-64 that a generic target stands for; 0 = none.
func (t *target) level() int {
	switch t.name {
	case "x86_64":
		return 1
	case "x86_64_v2":
		return 2
	case "x86_64_v3":
		return 3
	case "x86_64_v4":
		return 4
	}
	return 0
}

// microarchitectures are archspec's data.
type microarchitectures struct {
	targets []*target
	byName  map[string]*target
	vendors map[string]string
}

// vendor is the name of an Arm implementer; its code if it has none.
func (m *microarchitectures) vendor(code string) string {
	if code == "" {
		return generic
	}
	if name, ok := m.vendors[code]; ok {
		return name
	}
	return code
}

// archspec reads the data when it is first needed: the program must start at
// once. The file is part of the program, and a test reads it all: what does not
// fit its form cannot be there.
var archspec = sync.OnceValue(func() *microarchitectures {
	m := &microarchitectures{byName: make(map[string]*target), vendors: make(map[string]string)}
	for line := range strings.Lines(archspecText) {
		w := strings.Fields(line)
		switch {
		case len(w) >= 3 && w[0] == "vendor":
			m.vendors[w[1]] = strings.Join(w[2:], " ")
		case len(w) == 6 && w[0] == "target":
			t := &target{name: w[1], vendor: w[2], part: dash(w[3]), parents: items(w[4]), features: items(w[5])}
			for _, p := range t.parents {
				add(&t.ancestors, p)
			}
			for _, p := range t.parents {
				for _, a := range m.byName[p].ancestors {
					add(&t.ancestors, a)
				}
			}
			// The family last, whatever way led there.
			if n := len(t.parents); n > 0 {
				root := m.byName[t.parents[0]].family()
				t.ancestors = append(slices.DeleteFunc(t.ancestors, func(a string) bool { return a == root }), root)
			}
			m.targets = append(m.targets, t)
			m.byName[t.name] = t
		}
	}
	return m
})

func add(list *[]string, s string) {
	if !slices.Contains(*list, s) {
		*list = append(*list, s)
	}
}

func dash(s string) string {
	if s == "-" {
		return ""
	}
	return s
}

func items(s string) []string {
	if s == "-" {
		return nil
	}
	return strings.Split(s, ",")
}

// Ancestors of a microarchitecture by archspec's name, itself first, its family
// last: what a package built for one of them may run on. nil = the name is not
// known.
func Ancestors(name string) []string {
	t := archspec().byName[name]
	if t == nil {
		return nil
	}
	return t.lineage()
}

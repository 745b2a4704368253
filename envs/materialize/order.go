package materialize

import (
	"slices"
	"sort"
	"strings"
)

// topological sorts packages so that dependencies come before what needs them;
// among independents the greater name comes first. The result depends on names
// and dependencies only, never on the order given. Where packages need one
// another in a circle, those for one architecture come before noarch ones; a
// circle of one kind is entered at its least name, which so comes last of it
// (there rattler's order follows from a hash table and cannot be reproduced).
//
// The order decides who owns a path that several packages have: the last one.
func topological(pkgs []Package) []Package {
	g := newGraph(pkgs)
	g.breakCycles()

	roots := g.roots()

	out := make([]Package, 0, len(pkgs))
	visited := make(map[string]bool, len(pkgs))
	type frame struct {
		name string
		next int
	}
	for _, start := range roots {
		if visited[start] {
			continue
		}
		visited[start] = true
		stack := []frame{{name: start}}
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			deps := g.deps[top.name]
			if top.next == len(deps) {
				out = append(out, g.byName[top.name])
				stack = stack[:len(stack)-1]
				continue
			}
			d := deps[top.next]
			top.next++
			if !visited[d] {
				visited[d] = true
				stack = append(stack, frame{name: d})
			}
		}
	}
	return out
}

// graph is who needs whom, by name; only packages of the environment are in it.
type graph struct {
	byName map[string]Package
	names  []string // sorted
	deps   map[string][]string
}

func newGraph(pkgs []Package) *graph {
	g := &graph{byName: make(map[string]Package, len(pkgs)), deps: make(map[string][]string, len(pkgs))}
	for _, p := range pkgs {
		g.byName[p.Lock.Name] = p
	}
	for name, p := range g.byName {
		g.names = append(g.names, name)
		seen := make(map[string]bool)
		for _, spec := range p.Lock.Depends {
			d := specName(spec)
			if _, ok := g.byName[d]; ok && !seen[d] {
				seen[d] = true
				g.deps[name] = append(g.deps[name], d)
			}
		}
		sort.Sort(sort.Reverse(sort.StringSlice(g.deps[name])))
	}
	sort.Strings(g.names)
	return g
}

// specName is the package name that a dependency such as "python >=3.8,<4"
// starts with.
func specName(spec string) string {
	if i := strings.IndexAny(spec, " =<>!~["); i >= 0 {
		return spec[:i]
	}
	return spec
}

// breakCycles drops, within each circle, what an architecture's package needs of
// a noarch one: python needs pip needs python, and python comes first.
func (g *graph) breakCycles() {
	component := g.components()
	for _, n := range g.names {
		if g.byName[n].Lock.Noarch != "" {
			continue
		}
		kept := g.deps[n][:0:0]
		for _, d := range g.deps[n] {
			if component[d] == component[n] && g.byName[d].Lock.Noarch != "" {
				continue
			}
			kept = append(kept, d)
		}
		g.deps[n] = kept
	}
}

// roots are the packages to start from, greatest name first: those that nothing
// needs and, of each circle that nothing outside of it needs, the least name.
// Every package can be reached from one of them.
func (g *graph) roots() []string {
	component := g.components()
	needed := make(map[int]bool)
	for _, n := range g.names {
		for _, d := range g.deps[n] {
			if component[d] != component[n] {
				needed[component[d]] = true
			}
		}
	}
	var out []string
	for _, n := range g.names { // sorted: the first of a circle is its least
		if c := component[n]; !needed[c] {
			needed[c] = true
			out = append(out, n)
		}
	}
	slices.Reverse(out)
	return out
}

// components numbers the strongly connected components (Tarjan, without
// recursion, since chains of dependencies may be long).
func (g *graph) components() map[string]int {
	var (
		index   = make(map[string]int)
		low     = make(map[string]int)
		onStack = make(map[string]bool)
		comp    = make(map[string]int)
		open    []string
		counter int
		ncomp   int
	)
	type frame struct {
		name string
		next int
	}
	for _, start := range g.names {
		if _, seen := index[start]; seen {
			continue
		}
		calls := []frame{{name: start}}
		for len(calls) > 0 {
			f := &calls[len(calls)-1]
			if f.next == 0 {
				index[f.name], low[f.name] = counter, counter
				counter++
				open, onStack[f.name] = append(open, f.name), true
			}
			descended := false
			for f.next < len(g.deps[f.name]) {
				d := g.deps[f.name][f.next]
				f.next++
				if _, seen := index[d]; !seen {
					calls = append(calls, frame{name: d})
					descended = true
					break
				}
				if onStack[d] {
					low[f.name] = min(low[f.name], index[d])
				}
			}
			if descended {
				continue
			}
			name := f.name
			if low[name] == index[name] {
				for {
					last := open[len(open)-1]
					open, onStack[last] = open[:len(open)-1], false
					comp[last] = ncomp
					if last == name {
						break
					}
				}
				ncomp++
			}
			calls = calls[:len(calls)-1]
			if len(calls) > 0 {
				parent := calls[len(calls)-1].name
				low[parent] = min(low[parent], low[name])
			}
		}
	}
	return comp
}

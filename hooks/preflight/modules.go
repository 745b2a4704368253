package preflight

import (
	"context"
	"fmt"
	"slices"

	"github.com/hpcenv/hpcenv/envs/elf/loader"
)

// expected: the module is not meant to load on this node, since the node lacks hardware.
func (m *judged) expected(in *Input) bool {
	return m.Problem == loader.NoLibrary && len(m.Chain) > 0 && lackingOf(m.Missing).expected(in)
}

// fabric: what it means that the module does not load is said with the transports.
func (m *judged) fabric() bool {
	if m.Problem == loader.NoLibrary && len(m.Chain) > 0 {
		if h := lackingOf(m.Missing); h != nil {
			return h.fabric
		}
	}
	return transportOf(m.Path) != nil
}

// modules: what programs open at run time loads here, or is not meant to. A program is
// told nothing when it does not: it goes on without. One finding for all modules of
// one program.
func modules(_ context.Context, in *Input) ([]Finding, error) {
	p, err := in.start()
	if p == nil || p.space == nil || err != nil {
		return nil, err
	}
	var order []string
	groups := map[string][]*judged{}
	for i := range p.modules {
		m := &p.modules[i]
		if groups[m.Of] == nil {
			order = append(order, m.Of)
		}
		groups[m.Of] = append(groups[m.Of], m)
	}
	var out []Finding
	for _, of := range order {
		out = append(out, in.group(of, groups[of]))
	}
	return out, nil
}

func (in *Input) group(of string, all []*judged) Finding {
	f := Finding{ID: "modules", Level: Fits}
	loads := 0
	var lacks []string
	for _, m := range all {
		switch {
		case m.Loads:
			loads++
		case m.expected(in) || m.fabric():
		default:
			lacks = append(lacks, in.lack(m.Verdict, m.Package))
			f.Packages = append(f.Packages, packages(m.Package)...)
			if f.File == "" {
				f.File = m.Path
			}
		}
	}
	if len(lacks) == 0 {
		f.Evidence = fmt.Sprintf("%s: %d of %d modules load; the others are for hardware that %s does not have", of, loads, len(all), in.name())
		if loads == len(all) {
			f.Evidence = fmt.Sprintf("%s: all %d modules load", of, loads)
		}
		return f
	}
	slices.Sort(f.Packages)
	f.Packages = slices.Compact(f.Packages)
	f.Level, f.Act = Warn, User
	f.Evidence = fmt.Sprintf("%s would run without %d of its modules: %s", of, len(lacks), enumerate(lacks))
	f.Next = "add the package that has what is missing to the manifest (pixi add), or ask the administrator to install it on the nodes"
	return f
}

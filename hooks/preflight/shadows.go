package preflight

import (
	"context"
	"fmt"
	"slices"

	"github.com/hpcenv/hpcenv/envs/elf/loader"
)

// shadowed: an LD_LIBRARY_PATH that puts other libraries before those that the
// environment was made with.
func shadowed(_ context.Context, in *Input) ([]Finding, error) {
	path, _ := in.lookup("LD_LIBRARY_PATH")
	p, err := in.start()
	if path == "" || p == nil || p.space == nil || err != nil {
		return nil, err
	}
	without, started, err := p.begin("")
	if err != nil || without == nil {
		return nil, err
	}
	shadows := in.own(nil, loader.Shadows(p.verdict, started))
	for i := range p.modules {
		m := &p.modules[i]
		if !m.Loads || len(m.Loaded) == 0 {
			continue
		}
		alone, err := p.open(without, in.Prefix+"/"+m.Path)
		if err != nil {
			return nil, err
		}
		shadows = in.own(shadows, loader.Shadows(m.Verdict, alone))
	}
	if len(shadows) == 0 {
		return []Finding{{ID: "shadowed", Level: Fits, Evidence: "LD_LIBRARY_PATH shadows no library of the environment"}}, nil
	}
	var each []string
	for _, s := range shadows {
		each = append(each, fmt.Sprintf("%s instead of the environment's %s", s.Path, in.short(s.Instead)))
	}
	return []Finding{{ID: "shadowed", Level: Warn, Act: User, File: in.short(shadows[0].Instead),
		Evidence: "LD_LIBRARY_PATH=" + path + " makes programs load " + enumerate(each),
		Next:     "unset LD_LIBRARY_PATH, or the module that sets it, before the environment's programs start"}}, nil
}

// own adds those that stand before a library of the environment, each once.
func (in *Input) own(all, more []loader.Shadow) []loader.Shadow {
	for _, s := range more {
		if _, ours := in.inPrefix(s.Instead); !ours {
			continue
		}
		if _, ours := in.inPrefix(s.Path); ours {
			continue // one of the environment's before another
		}
		if !slices.ContainsFunc(all, func(o loader.Shadow) bool { return o.Name == s.Name }) {
			all = append(all, s)
		}
	}
	return all
}

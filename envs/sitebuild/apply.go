package sitebuild

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/activation"
)

// Choice is what of a record concerns a node.
type Choice struct {
	// Use are the overlays of this node.
	Use []Entry
	// Lacking are builds that are meant for this node and are not there.
	Lacking []Entry
}

// Choose picks the builds for a node. networks tells the kinds of network that are active
// on it; it is asked only if a build is for some.
func (r *Record) Choose(networks func() []string) Choice {
	var c Choice
	var has []string
	asked := false
	for _, e := range r.Builds {
		if len(e.Networks) > 0 {
			if !asked {
				has, asked = networks(), true
			}
			if !slices.ContainsFunc(e.Networks, func(n string) bool { return slices.Contains(has, n) }) {
				continue
			}
		}
		if e.State == Built {
			c.Use = append(c.Use, e)
		} else {
			c.Lacking = append(c.Lacking, e)
		}
	}
	return c
}

// Ops are the variables of a launch with these overlays: prefix is where the environment
// is, and beside it the overlays are. Of two builds that set the same variable the first
// in the site's configuration counts; what is prepended adds up.
func (c Choice) Ops(prefix string) []activation.Op {
	var ops []activation.Op
	for _, e := range c.Use {
		expand := strings.NewReplacer("${prefix}", prefix, "${overlay}", filepath.Join(filepath.Dir(prefix), e.Overlay))
		for _, v := range e.Variables {
			op := activation.Op{Kind: activation.OpSet, Name: v.Name, Value: expand.Replace(v.Value)}
			if v.Prepend {
				op.Kind, op.Sep = activation.OpPrepend, ":"
			} else if slices.ContainsFunc(ops, func(o activation.Op) bool { return o.Name == v.Name }) {
				continue
			}
			ops = append(ops, op)
		}
	}
	return ops
}

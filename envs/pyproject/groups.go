package pyproject

import (
	"slices"

	"github.com/hpcenv/hpcenv/envs/python/name"
	"github.com/hpcenv/hpcenv/envs/tomltree"
)

const groupsKey = "dependency-groups"

// maxIncluded bounds how many groups are read, each as often as it is included.
const maxIncluded = 10_000

// groups reads [dependency-groups], and uv's older list of development
// dependencies, which belongs to the group dev.
func (p *Project) groups(root *tomltree.Value) {
	tables := map[string]*tomltree.Value{}
	if v := root.Get(groupsKey); v != nil {
		if v.Kind != tomltree.Table {
			p.vague(groupsKey)
			return
		}
		for _, e := range v.Entries {
			tables[name.Normalize(e.Key)] = e.Value
		}
	}
	for group := range tables {
		p.Groups[group] = p.group(group, tables, nil)
	}
	if v := p.UV.Get("dev-dependencies"); v != nil {
		p.Groups["dev"] = append(p.Groups["dev"], p.list(groupsKey, v, "")...)
	}
}

// group reads one with what it includes; within are those that include it.
func (p *Project) group(group string, tables map[string]*tomltree.Value, within []string) []Requirement {
	v := tables[group]
	if p.included++; v == nil || v.Kind != tomltree.Array || slices.Contains(within, group) || p.included > maxIncluded {
		p.vague(groupsKey)
		return nil
	}
	within = append(slices.Clone(within), group)
	var out []Requirement
	for _, item := range v.Items {
		if include := item.Get("include-group"); include != nil && include.Kind == tomltree.String {
			out = append(out, p.group(name.Normalize(include.Text), tables, within)...)
			continue
		}
		if r, ok := p.one(groupsKey, item); ok {
			out = append(out, r)
		}
	}
	return out
}

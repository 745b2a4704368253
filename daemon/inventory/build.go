package inventory

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/selection"
	"github.com/hpcenv/hpcenv/hooks/snapshot"
	"github.com/hpcenv/hpcenv/slurm/hostlist"
	"github.com/hpcenv/hpcenv/slurm/queries"
)

// onlyPlatform is that of all nodes whose platform is known; "" if there are several.
// Nodes that have never been up, such as a cloud's, are taken to have it.
func onlyPlatform(nodes []queries.Node, told map[string]*facts.Facts) string {
	only := ""
	for _, n := range nodes {
		p := n.Platform
		if f := told[n.Name]; p == "" && f != nil {
			p = f.Platform
		}
		switch {
		case p == "" || p == only:
		case only != "":
			return ""
		default:
			only = p
		}
	}
	return only
}

// Build makes a snapshot of what Slurm says of its nodes and what they told. A node
// that told nothing, or that told of another architecture than it registered with
// Slurm, is taken for what Slurm's resources and features say.
func Build(cluster string, nodes []queries.Node, partitions []queries.Partition, told map[string]*facts.Facts) *snapshot.Snapshot {
	s := &snapshot.Snapshot{Version: snapshot.Version, Cluster: cluster, Partitions: partitions}
	kinds := map[string]selection.Kind{}
	// Equal facts are one pointer, so each is looked at once.
	known := map[*facts.Facts]selection.Kind{}
	groups := map[string]*snapshot.Group{}
	names := map[string][]string{}
	only := onlyPlatform(nodes, told)
	for _, n := range nodes {
		var kind selection.Kind
		if f := told[n.Name]; f != nil && (n.Arch == "" || n.Arch == f.Machine) {
			var ok bool
			if kind, ok = known[f]; !ok {
				kind = selection.KindOf(f, nil) // this process's CONDA_OVERRIDE_ variables are not the nodes'
				known[f] = kind
			}
			if n.Arch == "" {
				n.Arch = f.Machine
			}
		} else {
			kind = selection.Assume(n.Platform, n.Gres, n.Features)
			if kind.Subdir == "" && n.Arch == "" {
				kind = selection.Assume(only, n.Gres, n.Features)
			}
		}
		kinds[kind.Digest] = kind
		key := strings.Join([]string{kind.Digest, n.Arch, n.Gres, strings.Join(n.Features, ","), strings.Join(n.Partitions, ",")}, "\x00")
		if groups[key] == nil {
			groups[key] = &snapshot.Group{Kind: kind.Digest, Arch: n.Arch, Features: n.Features, Gres: n.Gres, Partitions: n.Partitions}
		}
		names[key] = append(names[key], n.Name)
	}
	for _, k := range kinds {
		s.Kinds = append(s.Kinds, k)
	}
	slices.SortFunc(s.Kinds, func(a, b selection.Kind) int { return cmp.Compare(a.Digest, b.Digest) })
	for key, g := range groups {
		g.Nodes, g.Count = hostlist.Compress(names[key]), len(names[key])
		s.Groups = append(s.Groups, *g)
	}
	slices.SortFunc(s.Groups, func(a, b snapshot.Group) int { return hostlist.Compare(a.Nodes, b.Nodes) })
	return s
}

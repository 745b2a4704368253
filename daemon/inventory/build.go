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

// Build makes a snapshot of what Slurm says of its nodes and what they told. A node
// that told nothing, or that told of another architecture than it registered with
// Slurm, is taken for what Slurm's resources and features say; where these name no
// architecture, for what its neighbours are.
func Build(cluster string, nodes []queries.Node, partitions []queries.Partition, told map[string]*facts.Facts) *snapshot.Snapshot {
	s := &snapshot.Snapshot{Version: snapshot.Version, Cluster: cluster, Partitions: partitions}
	kinds := map[string]selection.Kind{}
	// Equal facts are one pointer, so each is looked at once.
	known := map[*facts.Facts]selection.Kind{}
	groups := map[string]*snapshot.Group{}
	names := map[string][]string{}
	like := neighbours(nodes, told)
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
				kind = selection.Assume(like(&n), n.Gres, n.Features)
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

// neighbours says which platform a node has that never registered with Slurm (one of a
// cloud, or one that is switched off): that of all nodes with which it shares a
// partition, or else of the whole cluster. "" = they are of several, or none is known.
func neighbours(nodes []queries.Node, told map[string]*facts.Facts) func(*queries.Node) string {
	const several = "several"
	of := map[string]string{} // by partition; "" is not a partition's name, and the cluster's
	for i := range nodes {
		n := &nodes[i]
		platform := n.Platform
		if f := told[n.Name]; f != nil && n.Arch == "" {
			platform = f.Platform
		}
		if platform == "" {
			continue
		}
		for _, p := range append([]string{""}, n.Partitions...) {
			if of[p] != "" && of[p] != platform {
				of[p] = several
			} else {
				of[p] = platform
			}
		}
	}
	return func(n *queries.Node) string {
		found := ""
		for _, p := range n.Partitions {
			if of[p] != "" && found != "" && of[p] != found {
				return ""
			}
			found = cmp.Or(of[p], found)
		}
		if found = cmp.Or(found, of[""]); found == several {
			return ""
		}
		return found
	}
}

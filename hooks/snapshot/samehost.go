package snapshot

import (
	"fmt"
	"slices"

	"github.com/hpcenv/hpcenv/slurm/hostlist"
)

// SameHosts are the nodes that have a host identifier in common, as host lists in order.
// ids has the identifier of each node by name; "" = it has one of its own.
func SameHosts(ids map[string]string) (lists []string) {
	nodes := map[string][]string{}
	for node, id := range ids {
		if id != "" {
			nodes[id] = append(nodes[id], node)
		}
	}
	for _, names := range nodes {
		if len(names) > 1 {
			lists = append(lists, hostlist.Compress(names))
		}
	}
	slices.SortFunc(lists, hostlist.Compare)
	return lists
}

// SameAmong are the nodes with equal host identifiers among some, which others are not.
// Error: ErrDamaged.
func (s *Snapshot) SameAmong(nodes func(string) bool) (lists []string, err error) {
	for _, list := range s.SameHost {
		names, err := hostlist.Expand(list)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		names = slices.DeleteFunc(names, func(n string) bool { return !nodes(n) })
		if len(names) > 1 {
			lists = append(lists, hostlist.Compress(names))
		}
	}
	return lists, nil
}

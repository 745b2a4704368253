package pin

import (
	"fmt"
	"slices"

	"github.com/hpcenv/hpcenv/slurm/hostlist"
)

// maxSameHost bounds what a pin has of nodes with equal host identifiers, in bytes: a
// warning is no reason for a pin to become too long.
const maxSameHost = 512

// SetSameHost notes nodes with equal host identifiers, host lists of which each is
// a set of equals. What would make the pin too long is left out.
func (p *Pin) SetSameHost(lists []string) {
	size := 0
	for _, list := range lists {
		if size += len(list); size > maxSameHost {
			return
		}
		p.SameHost = append(p.SameHost, list)
	}
}

// SameHostAs are the job's nodes, nodes (SLURM_JOB_NODELIST) without this one, that have
// the same host identifier as node. Errors are of class ErrPin, or tell that nodes is no
// host list.
func (p *Pin) SameHostAs(node, nodes string) ([]string, error) {
	if len(p.SameHost) == 0 {
		return nil, nil
	}
	job, err := hostlist.Expand(nodes)
	if err != nil {
		return nil, fmt.Errorf("the job's nodes: %w", err)
	}
	for _, list := range p.SameHost {
		names, err := hostlist.Expand(list)
		if err != nil {
			return nil, fmt.Errorf("%w: nodes with equal host identifiers: %w", ErrPin, err)
		}
		if slices.Contains(names, node) {
			return slices.DeleteFunc(names, func(n string) bool { return n == node || !slices.Contains(job, n) }), nil
		}
	}
	return nil, nil
}

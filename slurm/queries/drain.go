package queries

import (
	"context"
	"fmt"
	"strings"
)

// Availability is whether a node takes jobs.
type Availability struct {
	// State with its flags, e.g. IDLE+DRAIN.
	State string
	// line is scontrol's, for comparing reasons.
	line string
}

// Drained: it takes no new jobs, by somebody's will.
func (a Availability) Drained() bool { return strings.Contains(a.State, "DRAIN") }

// Because tells whether exactly this is the reason that Slurm has for the state.
func (a Availability) Because(reason string) bool {
	_, rest, found := strings.Cut(a.line, " Reason=")
	after, is := strings.CutPrefix(rest, reason)
	return found && is && (strings.TrimSpace(after) == "" || strings.HasPrefix(after, " ["))
}

// Availability asks about one node.
func (c Client) Availability(ctx context.Context, node string) (Availability, error) {
	out, err := c.scontrol(ctx, "show", "node", node, "--oneliner")
	if err != nil {
		return Availability{}, err
	}
	return ParseAvailability(out, node)
}

// ParseAvailability reads the output of `scontrol show node NODE --oneliner`.
func ParseAvailability(out []byte, node string) (Availability, error) {
	nodes, err := ParseNodes(out)
	if err != nil {
		return Availability{}, err
	}
	if len(nodes) != 1 || nodes[0].Name != node || nodes[0].State == "" {
		return Availability{}, fmt.Errorf("%w: scontrol show node %s tells of no state of it", ErrSlurm, node)
	}
	return Availability{State: nodes[0].State, line: strings.TrimSpace(string(out))}, nil
}

// Drain keeps new jobs off a node; those that run go on. reason is one line.
func (c Client) Drain(ctx context.Context, node, reason string) error {
	_, err := c.scontrol(ctx, "update", "nodename="+node, "state=drain", "reason="+reason)
	return err
}

// Undrain lets a node take jobs again, if it is up; one that is down stays down.
func (c Client) Undrain(ctx context.Context, node string) error {
	_, err := c.scontrol(ctx, "update", "nodename="+node, "state=undrain")
	return err
}

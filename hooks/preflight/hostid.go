package preflight

import (
	"context"
	"fmt"
	"strings"

	"github.com/hpcenv/hpcenv/envs/stack"
)

// hostID: nodes of one job have different host identifiers. Realm tells by gethostid()
// which of its processes share memory, and over UCX takes two nodes with equal ones for
// one; other programs do not ask.
func hostID(_ context.Context, in *Input) ([]Finding, error) {
	if len(in.SameHost) == 0 || !in.MultiNode {
		return nil, nil
	}
	others := strings.Join(in.SameHost, ", ")
	if len(in.SameHost) > maxNamed {
		others = fmt.Sprintf("%s and %d more", strings.Join(in.SameHost[:maxNamed], ", "), len(in.SameHost)-maxNamed)
	}
	id := ""
	if in.Facts != nil && in.Facts.HostID != "" {
		id = " " + in.Facts.HostID
	}
	f := Finding{ID: "host-id", Level: Fits, Evidence: "has the host identifier" + id + " of " + others}
	if !in.realm() {
		f.Evidence += ", which nothing in the environment looks at"
		return []Finding{f}, nil
	}
	f.Level, f.Act = Warn, Administrator
	f.Evidence += ": Realm takes nodes with equal ones for one"
	if in.Needs.Stack.Family == stack.UCX {
		f.Level = Unfit
		f.Evidence += ", and its processes look for one another's memory where it is not"
	}
	f.Next = "give each node its own /etc/hostid, or in /etc/hosts its own address instead of 127.0.1.1; until then keep to one of them (--exclude)"
	return []Finding{f}, nil
}

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/selection"
	"github.com/hpcenv/hpcenv/hooks/snapshot"
	"github.com/hpcenv/hpcenv/internal/plain"
	"github.com/hpcenv/hpcenv/slurm/hostlist"
	"github.com/hpcenv/hpcenv/slurm/queries"
)

// nodeView is all that is known of one node.
type nodeView struct {
	Node string          `json:"node"`
	Kind *selection.Kind `json:"kind"`
	// What Slurm says.
	Arch       string   `json:"arch,omitempty"`
	Features   []string `json:"features,omitempty"`
	Gres       string   `json:"gres,omitempty"`
	Partitions []string `json:"partitions,omitempty"`
	State      string   `json:"state,omitempty"`
	// Facts that the node told, and when (RFC 3339); nil = it never did.
	Facts *facts.Facts `json:"facts,omitempty"`
	Told  string       `json:"told,omitempty"`
}

func (a *app) printNodes(ctx context.Context, snap *snapshot.Snapshot, root string, exprs []string) error {
	nodes, kinds, err := snap.Nodes()
	if err != nil {
		return api.Errorf(api.ExitUnreachable, "%v\nnext: tell the administrator", err)
	}
	reports, err := snapshot.ReadReports(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return api.Errorf(api.ExitUnreachable, "%v\nnext: tell the administrator", err)
	}
	states := a.states(ctx)
	views := []nodeView{}
	for _, expr := range exprs {
		names, err := hostlist.Expand(expr)
		if err != nil {
			return api.Errorf(api.ExitUsage, "%v\nnext: name nodes as Slurm does, e.g. gpu[001-004]", err)
		}
		for _, name := range names {
			i := slices.IndexFunc(nodes, func(n queries.Node) bool { return n.Name == name })
			if i < 0 {
				return api.Errorf(api.ExitUsage, "the cluster has no node %s\nnext: hpcenv nodes lists them", name)
			}
			n := nodes[i]
			v := nodeView{Node: name, Kind: kinds[name], Arch: n.Arch, Features: n.Features, Gres: n.Gres, Partitions: n.Partitions, State: states[name]}
			if r, ok := reports.Nodes[name]; ok {
				v.Told = time.Unix(r.At, 0).UTC().Format(time.RFC3339)
				v.Facts = new(facts.Facts)
				if err := json.Unmarshal(reports.Facts[r.Facts], v.Facts); err != nil {
					return api.Errorf(api.ExitUnreachable, "what %s told cannot be read: %v\nnext: on the node, hpcenv slurm-hook health", name, err)
				}
			}
			views = append(views, v)
		}
	}
	if a.json {
		return a.printJSON(views)
	}
	for i := range views {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		if err := a.printNode(&views[i]); err != nil {
			return err
		}
	}
	if len(views) == 1 && len(views[0].Partitions) > 0 {
		fmt.Fprintf(a.stdout, "next: srun -p %s -w %s hpcenv check: what it can run of a lock\n", views[0].Partitions[0], views[0].Node)
	}
	return nil
}

func (a *app) printNode(v *nodeView) error {
	w := tabwriter.NewWriter(plain.Writer{W: a.stdout}, 0, 0, 2, ' ', 0)
	row := func(key, value string) {
		if value != "" {
			fmt.Fprintf(w, "%s\t%s\n", key, value)
		}
	}
	row("node", v.Node)
	row("kind", v.Kind.Label+" ("+v.Kind.Digest+")")
	row("state", v.State)
	row("partitions", strings.Join(v.Partitions, ", "))
	row("features", strings.Join(v.Features, ", "))
	row("gres", v.Gres)
	if f := v.Facts; f == nil {
		row("facts", "never told; its architecture, GRES and features are all that is known")
	} else {
		row("told", created(v.Told))
		factRows(row, f)
	}
	var virtuals []string
	for _, p := range v.Kind.Virtuals {
		virtuals = append(virtuals, strings.TrimSpace(p.Name+" "+strings.TrimSuffix(p.Version+" "+p.Build, " 0")))
	}
	row("virtual packages", strings.Join(virtuals, ", "))
	return w.Flush()
}

func factRows(row func(key, value string), f *facts.Facts) {
	row("machine", f.Machine)
	cpu := f.CPU.Name
	if f.CPU.Level > 0 {
		cpu += fmt.Sprintf(", x86-64-v%d", f.CPU.Level)
	}
	if f.CPU.Because != "" {
		cpu += " (" + f.CPU.Because + ")"
	}
	row("cpu", cpu)
	if f.PageSize > 0 {
		row("page size", fmt.Sprintf("%d KiB", f.PageSize>>10))
	}
	row("glibc", f.Glibc)
	row("kernel", f.Kernel)
	for _, n := range f.Networks {
		text := n.Kind + " " + n.Device
		if n.Port > 0 {
			text += fmt.Sprintf(" port %d", n.Port)
		}
		if n.Rate > 0 {
			text += fmt.Sprintf(", %g Gb/s", n.Rate)
		}
		if !n.Active {
			text += ", not active"
		}
		if n.Problem != "" {
			text += ": " + n.Problem
		}
		row("network", text)
	}
	if g := f.GPU; g != nil {
		var models []string
		for _, m := range g.Models {
			models = append(models, fmt.Sprintf("%d × %s", m.Count, m.Name))
		}
		row("gpu", strings.Join(models, ", "))
		text := g.Vendor + " " + g.Driver
		if g.CUDA != "" {
			text += ", CUDA up to " + g.CUDA
		}
		if g.Compute != "" {
			text += ", compute capability " + g.Compute
		}
		if g.Problem != "" {
			text += ": " + g.Problem
		}
		row("driver", text)
	}
	for _, l := range f.MPI {
		row("mpi", strings.TrimSpace(l.Name+" "+l.Version)+" ("+l.Path+")")
	}
	for _, l := range f.PMI {
		row("pmi", strings.TrimSpace(l.Name+" "+l.Version)+" ("+l.Path+")")
	}
	for _, p := range f.Problems {
		row("problem", p)
	}
}

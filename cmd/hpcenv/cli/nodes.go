package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/selection"
	"github.com/hpcenv/hpcenv/hooks/snapshot"
	"github.com/hpcenv/hpcenv/internal/plain"
	"github.com/hpcenv/hpcenv/slurm/hostlist"
	"github.com/hpcenv/hpcenv/slurm/queries"
)

func (a *app) nodesCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "nodes [NODE...]",
		Short: "Show which kinds of node the cluster has, or all that is known of nodes",
		Long: `Show which kinds of node the cluster has: nodes of one kind get the same
environments. With names (or host lists such as gpu[001-004]), show all that is known
of those nodes.`,
		Args: usageArgs(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			snap, root, err := a.snapshot()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return a.printKinds(cmd.Context(), snap)
			}
			return a.printNodes(cmd.Context(), snap, root, args)
		},
	}
	cmd.Flags().BoolVar(&a.json, "json", false, "print one JSON array")
	return cmd
}

// snapshot is the newest one of the store, and the store.
func (a *app) snapshot() (*snapshot.Snapshot, string, error) {
	c, err := a.conf()
	if err != nil {
		return nil, "", err
	}
	if c.Store == "" {
		return nil, "", api.Errorf(api.ExitUsage, "no store is named here, and the nodes are read in it\nnext: --store, or store = in /etc/hpcenv/hpcenv.conf")
	}
	snap, _, _, err := snapshot.Read(c.Store)
	if errors.Is(err, snapshot.ErrNone) {
		return nil, "", api.Errorf(api.ExitUnreachable, "%v\nnext: hpcenv prepare takes one; hpcenvd does so by itself", err)
	}
	if err != nil {
		return nil, "", api.Errorf(api.ExitUnreachable, "%v\nnext: tell the administrator", err)
	}
	return snap, c.Store, nil
}

// kindRow is one line of hpcenv nodes.
type kindRow struct {
	selection.Kind
	Nodes string `json:"nodes"`
	Count int    `json:"count"`
	// Partitions of any of them; States as Slurm has them now, with counts.
	Partitions []string       `json:"partitions"`
	States     map[string]int `json:"states,omitempty"`
}

func (a *app) printKinds(ctx context.Context, snap *snapshot.Snapshot) error {
	nodes, kinds, err := snap.Nodes()
	if err != nil {
		return api.Errorf(api.ExitUnreachable, "%v\nnext: tell the administrator", err)
	}
	states := a.states(ctx)
	rows := map[string]*kindRow{}
	names := map[string][]string{}
	for _, n := range nodes {
		k := kinds[n.Name]
		r := rows[k.Digest]
		if r == nil {
			r = &kindRow{Kind: *k, Partitions: []string{}}
			rows[k.Digest] = r
		}
		names[k.Digest] = append(names[k.Digest], n.Name)
		for _, p := range n.Partitions {
			if !slices.Contains(r.Partitions, p) {
				r.Partitions = append(r.Partitions, p)
			}
		}
		if s := states[n.Name]; s != "" {
			if r.States == nil {
				r.States = map[string]int{}
			}
			r.States[s]++
		}
	}
	list := []*kindRow{}
	for digest, r := range rows {
		r.Nodes, r.Count = hostlist.Compress(names[digest]), len(names[digest])
		slices.Sort(r.Partitions)
		list = append(list, r)
	}
	slices.SortFunc(list, func(x, y *kindRow) int { return hostlist.Compare(x.Nodes, y.Nodes) })
	if a.json {
		return a.printJSON(list)
	}
	w := tabwriter.NewWriter(plain.Writer{W: a.stdout}, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NODES\tCOUNT\tKIND\tDRIVER\tGLIBC\tPARTITIONS\tSTATES")
	for _, r := range list {
		label := r.Label
		if r.Assumed {
			label += " (assumed)"
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\n", r.Nodes, r.Count, label, orDash(r.Driver), orDash(virtual(&r.Kind, "__glibc")),
			orDash(strings.Join(r.Partitions, ",")), orDash(counts(r.States)))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if slices.ContainsFunc(list, func(r *kindRow) bool { return r.Assumed }) {
		fmt.Fprintln(a.stderr, "assumed: such nodes have not told what they are; what Slurm's GRES and features do not say is taken to fit")
	}
	return nil
}

// states of nodes as Slurm has them now; none where it cannot be asked, which is
// said.
func (a *app) states(ctx context.Context) map[string]string {
	out := map[string]string{}
	nodes, err := queries.Client{}.Nodes(ctx)
	if errors.Is(err, queries.ErrNoSlurm) {
		return out
	}
	if err != nil {
		fmt.Fprintf(a.stderr, "the nodes' states are not known: %v\n", err)
		return out
	}
	for _, n := range nodes {
		out[n.Name] = strings.ToLower(n.State)
	}
	return out
}

func virtual(k *selection.Kind, name string) string {
	for _, v := range k.Virtuals {
		if v.Name == name {
			return v.Version
		}
	}
	return ""
}

// counts prints numbers by word, the largest first.
func counts(m map[string]int) string {
	var out []string
	for _, word := range slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		if m[a] != m[b] {
			return m[b] - m[a]
		}
		return strings.Compare(a, b)
	}) {
		out = append(out, fmt.Sprintf("%d %s", m[word], word))
	}
	return strings.Join(out, ", ")
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

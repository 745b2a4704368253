package cli

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/internal/plain"
)

func (a *app) gcCmd() *cobra.Command {
	dry, all := false, false
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove environments that nothing needs",
		Long: `Have the daemon remove environments that nothing needs, as it does by itself from time to
time: those that were not used for long (gc.unused_after), and, where the store is above its
budget (gc.max_gb, gc.max_inodes), the least valuable until it is below. What jobs that
Slurm knows may need, what has a name, and what was used lately stays. With --dry-run it
says what would go, and why, and removes nothing; --all also says what stays, and why.
What was removed can be brought back for gc.grace: preparing its lock does that.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.daemon()
			if err != nil {
				return err
			}
			ask := c.RunGC
			if dry {
				ask = c.PlanGC
			}
			gc, err := ask(cmd.Context())
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(gc)
			}
			return a.gcText(gc, all)
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say what would go, and why")
	cmd.Flags().BoolVar(&all, "all", false, "also say what stays, and why")
	return a.jsonFlag(cmd)
}

func (a *app) gcText(gc *api.GC, all bool) error {
	w := tabwriter.NewWriter(plain.Writer{W: a.stdout}, 0, 0, 2, ' ', 0)
	rows := func(what string, items []api.GCItem) {
		for _, i := range items {
			name := i.Name
			if i.Group != nil {
				name += fmt.Sprintf(" (group %d)", *i.Group)
			}
			fmt.Fprintf(w, "%s\t%.8s\t%s\t%s\t%s\t%d inodes\tused %s\t%s\n", what, i.ID, name, i.Platform, bytesText(i.Bytes), i.Inodes, created(i.LastUse), i.Why)
		}
	}
	word := "would remove"
	if gc.Done {
		word = "removed"
	}
	rows(word, gc.Remove)
	rows("spared", gc.Spared)
	if all {
		rows("keeps", gc.Keep)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "%s %s: %s and %d inodes before, %s and %d after\n", word, countedText(len(gc.Remove), "environment"), bytesText(gc.Bytes), gc.Inodes, bytesText(gc.BytesLeft), gc.InodesLeft)
	if gc.SweptFiles+gc.SweptPackages > 0 {
		fmt.Fprintf(a.stdout, "swept %s that no environment has, %s, %s\n", countedText(gc.SweptPackages, "package"), countedText(gc.SweptFiles, "file"), bytesText(gc.SweptBytes))
	}
	if gc.Over != "" {
		fmt.Fprintf(a.stdout, "the budget is exceeded: %s\nnext: raise gc.max_gb or gc.max_inodes, or see hpcenv admin gc --dry-run --all for what is kept, and why\n", gc.Over)
	}
	return nil
}

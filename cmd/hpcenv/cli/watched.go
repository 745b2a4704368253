package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hpcenv/hpcenv/internal/plain"
)

func (a *app) watchedCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watched",
		Short: "Show the locks that are prepared when they change",
		Long:  "Show the locks that the daemon prepares when they change (watch.locks of its configuration), and what came of each; those with a problem first.",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.daemon()
			if err != nil {
				return err
			}
			found, err := c.Watched(cmd.Context())
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(found)
			}
			if len(found) == 0 {
				fmt.Fprintln(a.stdout, "no lock is watched")
				return nil
			}
			w := tabwriter.NewWriter(plain.Writer{W: a.stdout}, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "STATE\tLOCK\tENVIRONMENTS\tWHEN\tPATH")
			for _, l := range found {
				when := ""
				if l.At != "" {
					when = created(l.At)
				}
				fmt.Fprintf(w, "%s\t%.8s\t%d\t%s\t%s\n", l.State, l.Lock, l.Environments, when, l.Path)
				if problem, _, _ := strings.Cut(l.Problem, "\n"); problem != "" {
					fmt.Fprintf(w, "\t\t\t\t  %s\n", problem)
				}
			}
			return w.Flush()
		},
	}
	return a.jsonFlag(cmd)
}

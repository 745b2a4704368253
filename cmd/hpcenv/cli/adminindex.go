package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/internal/plain"
)

// daemon is the cluster's daemon, for commands that only it can serve.
func (a *app) daemon() (*api.Client, error) {
	c, err := a.conf()
	if err != nil {
		return nil, err
	}
	if !c.HasDaemon() {
		return nil, api.Errorf(api.ExitUsage, "this command asks the daemon, and where it is is not known here\nnext: name it with --socket, HPCENV_SOCKET, or `socket = PATH` in /etc/hpcenv/hpcenv.conf")
	}
	return dial(c)
}

func (a *app) jsonFlag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON on stdout, {\"error\": …} if there is nothing to tell")
	return cmd
}

func (a *app) indexCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "index",
		Short: "Look through the daemon's index, or have it made anew",
		Long: `The daemon keeps an index (SQLite, on its host's own disk) of what is costly to ask
of the store. The store is the truth: whatever is lost with the index is read from it
again, but for when environments were last used and who asked for what. Nothing is
collected by an index that was not compared with the store.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	check := &cobra.Command{
		Use: "check", Short: "Look through the index", Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.daemon()
			if err != nil {
				return err
			}
			st, err := c.CheckIndex(cmd.Context())
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(st)
			}
			return a.indexText(st)
		},
	}
	rebuild := &cobra.Command{
		Use: "rebuild", Short: "Read the index from the store again", Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.daemon()
			if err != nil {
				return err
			}
			n, err := c.RebuildIndex(cmd.Context())
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(n)
			}
			fmt.Fprintf(a.stdout, "read %s, forgot %d that are gone\n", countedText(n.Read, "environment"), n.Gone)
			if n.Broken > 0 {
				fmt.Fprintf(a.stdout, "%s cannot be read\nnext: hpcenv admin index check names them\n", countedText(n.Broken, "environment"))
			}
			return nil
		},
	}
	cmd.AddCommand(a.jsonFlag(check), a.jsonFlag(rebuild))
	return cmd
}

func (a *app) indexText(st *api.IndexStatus) error {
	w := tabwriter.NewWriter(plain.Writer{W: a.stdout}, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "index\t%s\n", st.Path)
	compared := "never since it was made: nothing is collected"
	if st.Reconciled != "" {
		compared = created(st.Reconciled)
	}
	fmt.Fprintf(w, "compared with the store\t%s\n", compared)
	fmt.Fprintf(w, "environments\t%d, %s, %d inodes\n", st.Environments, bytesText(st.Bytes), st.Inodes)
	if st.Damaged != "" {
		fmt.Fprintf(w, "damaged one\tput aside as %s\n", st.Damaged)
	}
	some(w, "cannot be read", st.Broken)
	return w.Flush()
}

func (a *app) whereCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "where NAME [VERSION]",
		Short: "Show which environments have a package",
		Long: `Show which prepared environments have a package, by name and version as their lock has
them, and when each was last used.`,
		Args: usageArgs(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.daemon()
			if err != nil {
				return err
			}
			version := ""
			if len(args) > 1 {
				version = args[1]
			}
			found, err := c.Where(cmd.Context(), args[0], version)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(found)
			}
			if len(found) == 0 {
				fmt.Fprintln(a.stdout, "no environment has it")
				return nil
			}
			w := tabwriter.NewWriter(plain.Writer{W: a.stdout}, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "id\tenvironment\tplatform\tlock\tpackage\tlast used")
			for _, e := range found {
				var names []string
				for _, p := range e.Found {
					names = append(names, p.Name+" "+p.Version+" "+p.Build)
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", e.ID[:8], e.Name, e.Platform, e.LockDigest[:8], strings.Join(names, ", "), created(e.LastUse))
			}
			return w.Flush()
		},
	}
	return a.jsonFlag(cmd)
}

func (a *app) requestsCmd() *cobra.Command {
	uid, lock, limit := -1, "", 50
	cmd := &cobra.Command{
		Use:   "requests",
		Short: "Show who asked for what",
		Long:  "Show what was prepared for whom, the latest first: user, lock, environments, how long it took, what was fetched, and what came of it.",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.daemon()
			if err != nil {
				return err
			}
			var of *int
			if cmd.Flags().Changed("uid") {
				of = &uid
			}
			found, err := c.Requests(cmd.Context(), of, lock, limit)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(found)
			}
			w := tabwriter.NewWriter(plain.Writer{W: a.stdout}, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "when\tuid\tlock\tenvironments\ttook\tnew\tfetched\toutcome")
			for _, r := range found {
				envs := strings.Join(r.Environments, ",")
				if envs == "" {
					envs = "default"
				}
				fmt.Fprintf(w, "%s\t%d\t%.8s\t%s\t%.1f s\t%d\t%s\t%s\n", created(r.At), r.UID, r.Lock, envs, r.Seconds, r.PackagesNew, bytesText(r.Bytes), r.Outcome)
			}
			return w.Flush()
		},
	}
	cmd.Flags().IntVar(&uid, "uid", -1, "only of this user, by `NUMBER`")
	cmd.Flags().StringVar(&lock, "lock", "", "only of the lock with this `DIGEST`")
	cmd.Flags().IntVar(&limit, "limit", 50, "at most so `MANY`")
	return a.jsonFlag(cmd)
}

package cli

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/internal/plain"
)

func (a *app) statusCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show how the daemon is",
		Long: `Show how the daemon is: what should be seen to, what it works on and for whom, what the
store holds and how full it is, what is held for jobs, what the last collection did, and
how everything went that happens by the clock.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.daemon()
			if err != nil {
				return err
			}
			st, err := c.AdminStatus(cmd.Context())
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(st)
			}
			return a.statusText(st)
		},
	}
	return a.jsonFlag(cmd)
}

func (a *app) statusText(st *api.AdminStatus) error {
	w := tabwriter.NewWriter(plain.Writer{W: a.stdout}, 0, 0, 2, ' ', 0)
	for _, warning := range st.Warnings {
		fmt.Fprintf(w, "warning\t%s\n", warning)
	}
	fmt.Fprintf(w, "daemon\t%s, process %d on %s, since %s\n", st.Version, st.PID, st.Host, created(st.Since))
	fmt.Fprintf(w, "store\t%s, %s and %s inodes free\n", st.Store, bytesText(st.FreeBytes), countText(int(st.FreeInodes)))
	fmt.Fprintf(w, "environments\t%d, %s, %s inodes%s\n", st.Index.Environments, bytesText(st.Index.Bytes), countText(int(st.Index.Inodes)), budget(&st.GC))
	asked := "Slurm was never asked"
	if st.Leases.Asked != "" {
		asked = "Slurm was asked " + created(st.Leases.Asked)
	}
	fmt.Fprintf(w, "held\tfor %s (%d seen by Slurm), by %s; %s\n", countedText(st.Leases.Holding, "submission"), st.Leases.Bound, countedText(st.Leases.Names, "name"), asked)
	collected := "none since the daemon started"
	if st.GC.Last != "" {
		collected = fmt.Sprintf("%s, removed %s (%s)", created(st.GC.Last), countedText(st.GC.Removed, "environment"), bytesText(st.GC.Bytes))
	}
	fmt.Fprintf(w, "collection\t%s; %d can be brought back\n", collected, st.GC.Trash)
	for _, j := range st.Work {
		fmt.Fprintf(w, "works on\tlock %.8s for uid %d since %s: %d of %s, %s of %s; %s waiting\n", j.Lock, j.UID, created(j.Since),
			j.PackagesDone, countedText(j.PackagesTotal, "package"), bytesText(j.BytesDone), bytesText(j.BytesTotal), countedText(j.Waiters, "client"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout)
	fmt.Fprintln(w, "SCHEDULE\tEVERY\tLAST\tTOOK\tNEXT\tRESULT")
	for _, s := range st.Schedules {
		result, last, next := "good", "not yet", ""
		switch {
		case s.Running:
			result = "runs"
		case s.Problem != "":
			result = "failed: " + s.Problem
		case s.Runs == 0:
			result = ""
		case s.Good == "":
			result = "nothing to do here"
		}
		if s.Last != "" {
			last = created(s.Last)
		}
		if s.Next != "" {
			next = created(s.Next)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%.1f s\t%s\t%s\n", s.Name, everyText(s.EverySeconds), last, s.Seconds, next, result)
	}
	return w.Flush()
}

// budget of the store, if it has one.
func budget(g *api.GCStatus) string {
	text := ""
	if g.MaxBytes > 0 {
		text += " of " + bytesText(g.MaxBytes)
	}
	if g.MaxInodes > 0 {
		text += fmt.Sprintf(" of %s inodes", countText(int(g.MaxInodes)))
	}
	if text != "" {
		text = "; the budget is" + text[3:]
	}
	return text
}

// everyText is an interval in its greatest unit.
func everyText(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d >= time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d >= time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%g s", seconds)
}

package cli

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/internal/plain"
)

func (a *app) leasesCmd() *cobra.Command {
	everybody, ended := false, false
	release := ""
	cmd := &cobra.Command{
		Use:   "leases",
		Short: "Show what keeps your environments from being removed",
		Long: `Show your submissions whose environments are kept because jobs need them: a submission
holds what it needs until Slurm has forgotten its job. --release TOKEN (or its beginning)
lets go of one before that; its environment may then be removed although the job lives.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.daemon()
			if err != nil {
				return err
			}
			found, err := c.Leases(cmd.Context(), everybody, ended)
			if err != nil {
				return err
			}
			if release != "" {
				l, err := leaseOf(found, release)
				if err != nil {
					return err
				}
				if err := c.Release(cmd.Context(), l.Token); err != nil {
					return err
				}
				fmt.Fprintf(a.stderr, "released %.8s (%s of %s)\n", l.Token, l.Environment, l.LockPath)
				return nil
			}
			if a.json {
				return a.printJSON(found)
			}
			return a.leasesText(found, everybody)
		},
	}
	cmd.Flags().BoolVar(&everybody, "everybody", false, "those of all users (for administrators and the support group)")
	cmd.Flags().BoolVar(&ended, "ended", false, "also those of the last 30 days that ended")
	cmd.Flags().StringVar(&release, "release", "", "let go of the lease with this `TOKEN`")
	return a.jsonFlag(cmd)
}

// leaseOf is the one lease that holds whose token begins so.
func leaseOf(found []api.Lease, token string) (*api.Lease, error) {
	var match *api.Lease
	for i := range found {
		if found[i].Ended != "" || !strings.HasPrefix(found[i].Token, token) {
			continue
		}
		if match != nil {
			return nil, api.Errorf(api.ExitUsage, "several leases begin with %s\nnext: give more digits", token)
		}
		match = &found[i]
	}
	if match == nil {
		return nil, api.Errorf(api.ExitUsage, "no lease of yours that holds begins with %s\nnext: hpcenv leases", token)
	}
	return match, nil
}

func (a *app) leasesText(found []api.Lease, everybody bool) error {
	if len(found) == 0 {
		fmt.Fprintln(a.stdout, "nothing is held")
		return nil
	}
	w := tabwriter.NewWriter(plain.Writer{W: a.stdout}, 0, 0, 2, ' ', 0)
	head := "TOKEN\tSUBMITTED\tJOB\tENVIRONMENT\tLOCK"
	if everybody {
		head = "UID\t" + head
	}
	fmt.Fprintln(w, head)
	for _, l := range found {
		job := "not seen yet"
		if len(l.Jobs) > 0 {
			job = strconv.Itoa(l.Jobs[0])
			if len(l.Jobs) > 1 {
				job += fmt.Sprintf(" (or %d others)", len(l.Jobs)-1)
			}
		}
		if l.Ended != "" {
			job += ", ended: " + l.Why
		}
		if everybody {
			fmt.Fprintf(w, "%d\t", l.UID)
		}
		fmt.Fprintf(w, "%.8s\t%s\t%s\t%s %.8s\t%s %.8s\n", l.Token, created(l.At), job, l.Environment, l.IDs[0], l.LockPath, l.Lock)
	}
	return w.Flush()
}

func (a *app) jobCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "job ID",
		Short: "Show what a job had",
		Long: `Show what a job was submitted with: its lock, the environment that nodes of each kind get,
and which state the sources were in that it uses from their trees. There is one record for
an array. Jobs of others are for administrators and the support group.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			// An element of an array is the array.
			text, _, _ := strings.Cut(args[0], "_")
			id, err := strconv.Atoi(text)
			if err != nil || id <= 0 {
				return api.Errorf(api.ExitUsage, "%q is not a job's number\nnext: the number that sbatch printed", args[0])
			}
			c, err := a.daemon()
			if err != nil {
				return err
			}
			j, err := c.Job(cmd.Context(), id)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(j)
			}
			return a.jobText(j)
		},
	}
	return a.jsonFlag(cmd)
}

func (a *app) jobText(j *api.Job) error {
	w := tabwriter.NewWriter(plain.Writer{W: a.stdout}, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "job\t%d, of uid %d\n", j.ID, j.Lease.UID)
	fmt.Fprintf(w, "submitted\t%s on %s with %s\n", created(j.Lease.At), j.Lease.Host, j.Lease.Context)
	fmt.Fprintf(w, "lock\t%s (%s)\n", j.Lease.LockPath, j.Lease.Lock)
	for _, g := range j.Gets {
		fmt.Fprintf(w, "environment\t%s on %s, id %s\n", g.Environment, g.Platform, g.ID)
	}
	for _, s := range j.Sources {
		state := s.Commit
		if state == "" {
			state = "not known to git"
		} else if s.Dirty {
			state += ", and changes on top"
		}
		fmt.Fprintf(w, "source\t%s in %s: %s\n", s.Name, s.Dir, state)
	}
	if len(j.Lease.Jobs) > 1 {
		fmt.Fprintf(w, "note\t%d jobs were submitted at nearly the same time; this is the likeliest record\n", len(j.Lease.Jobs))
	}
	held := "yes"
	if j.Lease.Ended != "" {
		held = "no: " + j.Lease.Why
	}
	fmt.Fprintf(w, "kept for it\t%s\n", held)
	return w.Flush()
}

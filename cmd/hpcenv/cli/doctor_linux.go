package cli

import (
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/doctor"
	"github.com/hpcenv/hpcenv/internal/clientconf"
	"github.com/hpcenv/hpcenv/internal/plain"
	"github.com/hpcenv/hpcenv/slurm/queries"
)

func (a *app) doctorCmd() *cobra.Command {
	bundle := ""
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look at this host and say what is in hpcenv's way",
		Long: `Look at this host, be it the daemon's, a login host or a compute node: whether Slurm
loads the plugin, whether the store is mounted, whose it is and how full, what its file
system can do and whether it looks purged, MUNGE, user name spaces, squashfs and loop
devices, releases, clocks, the daemon. What is found comes with what to do about it. As
root it sees more; what it could not look at is said. Nothing is changed.

--bundle FILE also writes a .tar.gz for those who are to help: the report, configuration,
the daemon's last log lines, without passwords and tokens. The exit code is 1 if there is
a problem.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			conf, confErr := clientconf.Resolve(a.socket, a.store, a.getenv("HPCENV_CONF"), a.getenv)
			host := &doctor.Host{Conf: conf, ConfErr: confErr, Slurm: queries.Client{}, UID: os.Geteuid()}
			r, err := host.Examine(cmd.Context())
			if err != nil {
				return err
			}
			if bundle != "" {
				if err := host.WriteBundle(cmd.Context(), r, bundle); err != nil {
					return api.Errorf(api.ExitFailed, "the bundle cannot be written: %v\nnext: name a file that is not there, in a directory of yours", err)
				}
			}
			if a.json {
				err = a.printJSON(r)
				a.json = false // the error is a text
			} else {
				err = a.doctorText(r)
			}
			if err != nil {
				return err
			}
			if bundle != "" && !a.json {
				fmt.Fprintf(a.stderr, "written: %s; look through it before you send it\n", bundle)
			}
			if n := r.Count(doctor.Problem); n > 0 {
				return api.Errorf(api.ExitFailed, "%s has %s\nnext: what stands beside them above", r.Host, countedText(n, "problem"))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&bundle, "bundle", "", "also write `FILE`, a .tar.gz for those who are to help")
	cmd.Flags().BoolVar(&a.json, "json", false, "print one JSON object on stdout")
	return cmd
}

func (a *app) doctorText(r *doctor.Report) error {
	w := tabwriter.NewWriter(plain.Writer{W: a.stdout}, 0, 0, 2, ' ', 0)
	for _, f := range r.Findings {
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.Level, f.Check, f.Found)
		if f.Next != "" {
			fmt.Fprintf(w, "\t\tnext: %s\n", f.Next)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if !r.Root {
		fmt.Fprintln(a.stdout, "not as root: what only root can look at was left out")
	}
	return nil
}

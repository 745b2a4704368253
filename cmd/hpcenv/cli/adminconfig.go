package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/internal/plain"
)

func (a *app) configCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Look at the daemon's configuration",
		Args:  usageArgs(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	check := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Say what is wrong with a configuration file",
		Long: `Look through a configuration file of hpcenvd (/etc/hpcenv/hpcenvd.yaml unless one is named), as
hpcenvd would at its start, and say what is wrong with it and where. It runs hpcenvd, so it
works on the daemon's host; nothing is started.`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			program, err := a.daemonProgram()
			if err != nil {
				return err
			}
			argv := []string{"config", "check"}
			if len(args) > 0 {
				argv = append(argv, "--config", args[0])
			}
			run := exec.CommandContext(cmd.Context(), program, argv...)
			run.Stdin, run.Stdout, run.Stderr = nil, a.stdout, a.stderr
			err = run.Run()
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				return &api.Error{Code: exit.ExitCode()} // it has said all
			}
			return err
		},
	}
	show := &cobra.Command{
		Use:   "show",
		Short: "Print the configuration that the daemon goes by",
		Long:  "Print every key with the value that the running daemon goes by, and where it was said: the file and line, a variable, a flag, or the default.",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.daemon()
			if err != nil {
				return err
			}
			values, err := c.Config(cmd.Context())
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(values)
			}
			w := tabwriter.NewWriter(plain.Writer{W: a.stdout}, 0, 0, 2, ' ', 0)
			for _, v := range values {
				where := v.Where
				if where == "" {
					where = v.From
				}
				fmt.Fprintf(w, "%s\t%s\t%s\n", v.Key, v.Text, where)
			}
			return w.Flush()
		},
	}
	cmd.AddCommand(check, a.jsonFlag(show))
	return cmd
}

// daemonProgram is hpcenvd: beside this program, or in PATH.
func (a *app) daemonProgram() (string, error) {
	self, err := os.Executable()
	if err == nil {
		beside := filepath.Join(filepath.Dir(self), "hpcenvd")
		if st, err := os.Stat(beside); err == nil && st.Mode().IsRegular() {
			return beside, nil
		}
	}
	path, err := exec.LookPath("hpcenvd")
	if err != nil {
		return "", api.Errorf(api.ExitUsage, "hpcenvd is not installed here (%v)\nnext: the same on the daemon's host", err)
	}
	return path, nil
}

//go:build linux

package cli

import (
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/linkscript"
	"github.com/hpcenv/hpcenv/envs/sandbox"
	"github.com/hpcenv/hpcenv/slurm/buildjobs"
)

// buildCmds are what a build account runs; users need not see them.
func (a *app) buildCmds() []*cobra.Command {
	agent := &buildjobs.Agent{Arguments: map[string][]string{}}
	var platforms []string
	var store string
	serve := &cobra.Command{
		Use:    "build-agent",
		Short:  "Run the link scripts and site builds that hpcenvd leaves in a spool as Slurm jobs of this account",
		Hidden: true,
		Args:   usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, p := range platforms {
				name, args, ok := strings.Cut(p, "=")
				if !ok {
					return api.Errorf(api.ExitUsage, "--platform %q is not PLATFORM=ARGUMENTS, e.g. linux-aarch64=--constraint=aarch64", p)
				}
				agent.Arguments[name] = strings.Fields(args)
			}
			if agent.Spool == "" || len(platforms) == 0 {
				return api.Errorf(api.ExitUsage, "--spool and --platform are needed\nnext: hpcenv build-agent --help")
			}
			if agent.Program == "" {
				self, err := os.Executable()
				if err != nil {
					return err
				}
				agent.Program = self
			}
			agent.Log = slog.New(slog.NewTextHandler(a.stderr, nil))
			return agent.Run(cmd.Context())
		},
	}
	serve.Flags().StringVar(&agent.Spool, "spool", "", "folder on shared storage that hpcenvd writes to (scripts.spool)")
	serve.Flags().StringVar(&agent.Sbatch, "sbatch", "", "the command (default: sbatch from PATH)")
	serve.Flags().StringVar(&agent.Program, "program", "", "hpcenv on the nodes (default: the path of this one)")
	serve.Flags().StringVar(&agent.Store, "store", "", "the cluster's store on the nodes (site builds need it where environments are not attached)")
	serve.Flags().StringArrayVar(&platforms, "platform", nil, "PLATFORM=ARGUMENTS: what sbatch needs for a node of that platform (repeatable)")
	script := &cobra.Command{
		Use:    "build-script DIR",
		Short:  "Run one task of the spool on this node",
		Hidden: true,
		Args:   usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return linkscript.Serve(cmd.Context(), sandbox.New(), args[0], os.TempDir(), store)
		},
	}
	script.Flags().StringVar(&store, "store", "", "the cluster's store on this node")
	return []*cobra.Command{serve, script}
}

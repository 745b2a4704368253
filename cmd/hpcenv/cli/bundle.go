package cli

import (
	"github.com/spf13/cobra"
)

// bundleCmd is what works without a network.
func (a *app) bundleCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bundle",
		Short: "Environments as one file, for hosts without a network",
		Long: `Environments as one file, for hosts without a network. The file is a pack of pixi-pack's
kind: pixi-unpack, conda and mamba can read it, too.

  hpcenv bundle create -o env.tar    where there is a network; macOS will do
  hpcenv bundle load env.tar         on the cluster; packs of pixi-pack, too`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.bundleCreateCmd(), a.bundleLoadCmd())
	return cmd
}

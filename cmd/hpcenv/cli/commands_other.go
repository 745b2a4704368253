//go:build !linux

package cli

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/hpcenv/hpcenv/daemon/api"
)

// commands are those that need no cluster and no Linux: what a lock holds, and
// bundles of it for a cluster. The others say where they are to be had.
func (a *app) commands() []*cobra.Command {
	bundle := a.bundleCmd()
	for _, c := range bundle.Commands() {
		if c.Name() == "load" {
			linuxOnly(c)
		}
	}
	list := []*cobra.Command{a.inspectCmd(), a.diffCmd(), bundle, a.versionCmd()}
	for _, c := range []*cobra.Command{
		a.prepareCmd(), a.listCmd(), a.adminCmd(),
		{Use: "run", Short: "Run a command in an environment"}, {Use: "shell", Short: "Start a shell in an environment"},
		{Use: "shell-hook", Short: "Print what activates an environment"},
		{Use: "attach", Short: "Open a shell in a running job"},
		{Use: "check", Short: "Show whether a host can run an environment"}, {Use: "smoke", Short: "Try every module of an environment"},
	} {
		list = append(list, linuxOnly(c))
	}
	return list
}

// linuxOnly makes a command say that it is not to be had here.
func linuxOnly(c *cobra.Command) *cobra.Command {
	for _, sub := range c.Commands() {
		linuxOnly(sub)
	}
	c.Hidden, c.DisableFlagParsing, c.Args = true, true, nil
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		return api.Errorf(api.ExitUsage, "%s works on Linux only, this is %s\nnext: hpcenv bundle create here, and hpcenv bundle load on the cluster", cmd.CommandPath(), runtime.GOOS)
	}
	return c
}

func inner([]string) (code int, ok bool) { return 0, false }

func (a *app) adminStore() []*cobra.Command { return nil }

func (a *app) adminHere() []*cobra.Command { return nil }

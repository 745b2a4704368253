package cli

import (
	"github.com/spf13/cobra"

	"github.com/hpcenv/hpcenv/hooks/wrapper"
)

// commands are all there are.
func (a *app) commands() []*cobra.Command {
	list := []*cobra.Command{a.prepareCmd(), a.planCmd(), a.listCmd(), a.inspectCmd(), a.diffCmd(), a.nodesCmd(), a.checkCmd(), a.leasesCmd(), a.jobCmd(), a.smokeCmd(), a.smokeNodeCmd(), a.attachCmd(), a.attachNodeCmd(), a.bundleCmd(), a.adminCmd(), a.versionCmd()}
	list = append(list, a.wrapperCmds()...)
	return append(list, a.buildCmds()...)
}

// inner serves the calls by which hpcenv run calls itself.
func inner(args []string) (code int, ok bool) {
	if len(args) == 0 || !wrapper.Serves(args[0]) {
		return 0, false
	}
	return wrapper.Main(args), true
}

// adminStore are those about what the cluster's store keeps.
func (a *app) adminStore() []*cobra.Command { return []*cobra.Command{a.pinCmd()} }

// adminHere are the administrators' commands that look at a host.
func (a *app) adminHere() []*cobra.Command { return []*cobra.Command{a.doctorCmd()} }

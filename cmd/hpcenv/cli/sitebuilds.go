package cli

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/internal/plain"
)

// siteBuildLines tells of what the site built for an environment.
func siteBuildLines(p api.PlatformDetail) (out []string) {
	for _, b := range p.SiteBuilds {
		line := b.Name + " " + b.State
		if b.Overlay != "" {
			line += ", " + path.Join(path.Dir(p.Prefix), b.Overlay)
		}
		out = append(out, line)
		add := func(what, value string) {
			if value != "" {
				out = append(out, fmt.Sprintf("  | %s %s", what, strings.ReplaceAll(value, "\n", "; ")))
			}
		}
		add("problem:", b.Problem)
		add("of", b.Package+" "+b.Version)
		add("conduit", b.Conduit)
		add("system", b.System)
		add("MPI", b.MPI)
		add("compiler", b.Compiler)
		add("the node's answer:", b.Identity)
		add("script sha256", b.Script)
		add("sources sha256", strings.Join(b.Sources, " "))
		add("on nodes with", strings.Join(b.Networks, ", "))
		add("log: in the store,", b.Log)
	}
	return out
}

func (a *app) buildsCmd() *cobra.Command {
	var retry bool
	cmd := &cobra.Command{
		Use:   "builds [ID [NAME]]",
		Short: "List what the site compiled for environments, with logs; try failed builds again",
		Long: `List what was compiled on the site's nodes for prepared environments (site_builds in
hpcenvd.yaml), whether it failed, and its log. ID is an id of ` + "`hpcenv list`" + ` or the
beginning of one.

With --retry what failed of environment ID is built again, or the build NAME of it; the
command waits for its end. Only root and the daemon's account may do that.`,
		Args: usageArgs(cobra.MaximumNArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			args = append(args, "", "")
			id, name := args[0], args[1]
			if retry && id == "" {
				return api.Errorf(api.ExitUsage, "--retry needs the id of an environment\nnext: hpcenv admin builds lists them")
			}
			builds, err := a.siteBuilds(cmd.Context(), id, name, retry)
			if err != nil {
				return err
			}
			if a.json {
				err = a.printJSON(builds)
				a.json = false // what failed is in it; the error is a text
			} else {
				err = a.buildsTable(builds)
			}
			if err != nil || !retry {
				return err
			}
			return notBuilt(builds)
		},
	}
	cmd.Flags().BoolVar(&retry, "retry", false, "build again what failed")
	cmd.Flags().BoolVar(&a.json, "json", false, "print one JSON array")
	return cmd
}

// notBuilt is an error if one of the builds is not there.
func notBuilt(builds []api.EnvironmentBuilds) error {
	for _, e := range builds {
		for _, b := range e.Builds {
			if b.Overlay == "" {
				return api.Errorf(api.ExitFailed, "site build %s for %s is %s: %s\nnext: its log (in the store: %s) tells more; mend what it lacks, and the same command again", b.Name, e.Platform, b.State, b.Problem, b.Log)
			}
		}
	}
	return nil
}

func (a *app) siteBuilds(ctx context.Context, id, name string, retry bool) ([]api.EnvironmentBuilds, error) {
	if retry {
		c, err := a.conf()
		if err != nil {
			return nil, err
		}
		client, err := dial(c)
		if err != nil {
			return nil, err
		}
		return client.RetrySiteBuilds(ctx, id, name)
	}
	svc, err := a.storeReader()
	if err != nil {
		return nil, err
	}
	builds, err := svc.SiteBuilds(ctx, id)
	if builds == nil {
		builds = []api.EnvironmentBuilds{}
	}
	return builds, err
}

func (a *app) buildsTable(builds []api.EnvironmentBuilds) error {
	c, err := a.conf()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(plain.Writer{W: a.stdout}, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tENVIRONMENT\tPLATFORM\tBUILD\tSTATE\tOVERLAY\tLOG")
	for _, e := range builds {
		for _, b := range e.Builds {
			overlay, log := "-", "-"
			if b.Overlay != "" {
				overlay = short(b.Overlay)
			}
			if b.Log != "" {
				log = filepath.Join(c.Store, b.Log)
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", short(e.ID), e.Name, e.Platform, b.Name, b.State, overlay, log)
		}
	}
	return w.Flush()
}

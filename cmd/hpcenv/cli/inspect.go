package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hpcenv/hpcenv/daemon/api"
)

func (a *app) inspectCmd() *cobra.Command {
	var packages bool
	var platform string
	cmd := &cobra.Command{
		Use:   "inspect ID",
		Short: "Show what a prepared environment holds",
		Long:  "Show what a prepared environment holds. ID is an id of `hpcenv list` or the beginning of one.",
		Args:  usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			svc, err := a.reader()
			if err != nil {
				return err
			}
			detail, err := svc.Inspect(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := narrow(detail, platform); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(detail)
			}
			return a.inspectText(detail, packages)
		},
	}
	cmd.Flags().BoolVar(&packages, "packages", false, "list the packages, too")
	cmd.Flags().StringVar(&platform, "platform", "", "this platform only, e.g. linux-aarch64")
	cmd.Flags().BoolVar(&a.json, "json", false, "print one JSON object, packages included")
	return cmd
}

// narrow leaves one platform of an environment; "" leaves all.
func narrow(d *api.EnvironmentDetail, platform string) error {
	if platform == "" {
		return nil
	}
	var has []string
	for _, p := range d.Platforms {
		if p.Platform == platform {
			d.Platforms = []api.PlatformDetail{p}
			return nil
		}
		has = append(has, p.Platform)
	}
	return api.Errorf(api.ExitUsage, "%s is not prepared for %q\nnext: --platform with one of %s", short(d.ID), platform, strings.Join(has, ", "))
}

func (a *app) inspectText(d *api.EnvironmentDetail, packages bool) error {
	w := tabwriter.NewWriter(plain{a.stdout}, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "id\t%s\n", d.ID)
	for _, p := range d.Platforms {
		fmt.Fprintf(w, "\nplatform\t%s\n", p.Platform)
		fmt.Fprintf(w, "environment\t%s\n", p.Name)
		fmt.Fprintf(w, "lock\t%s\n", p.LockDigest)
		fmt.Fprintf(w, "prefix\t%s\n", p.Prefix)
		fmt.Fprintf(w, "tree digest\t%s\n", p.TreeDigest)
		fmt.Fprintf(w, "created\t%s\n", created(p.Created))
		fmt.Fprintf(w, "content\t%d packages, %s files, %s\n", p.Packages, countText(p.Files), bytesText(p.Bytes))
		if p.Cost != nil {
			fmt.Fprintf(w, "made by\t%s\n", costText(p.Cost))
		}
		some(w, "conflict", p.Conflicts)
		some(w, "skipped script", p.SkippedScripts)
		some(w, "note", p.Notes)
		if err := w.Flush(); err != nil {
			return err
		}
		if !packages {
			continue
		}
		fmt.Fprintln(w, "\n  PACKAGE\tVERSION\tBUILD\tSIZE\tSHA256")
		for _, k := range p.PackageList {
			fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\n", k.Name, k.Version, k.Build, bytesText(k.Size), short(k.SHA256))
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return w.Flush()
}

func some(w io.Writer, label string, values []string) {
	for _, v := range values {
		fmt.Fprintf(w, "%s\t%s\n", label, v)
	}
}

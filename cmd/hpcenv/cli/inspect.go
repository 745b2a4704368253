package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/internal/plain"
)

func (a *app) inspectCmd() *cobra.Command {
	var packages bool
	var platform string
	var environments []string
	cmd := &cobra.Command{
		Use:   "inspect [LOCK|ID]",
		Short: "Show what a lock or a prepared environment holds",
		Long: `Show what a lock holds, before anything is fetched: environments and platforms, sizes,
what packages ask of a node, by which libraries programs communicate, and what is odd.
Without an argument the nearest lock upwards counts. Of a uv.lock or pylock.toml, which
names no environments, the default and each extra are shown, or what -e, --extra, --group,
--no-dev, --package and --python say, as prepare would choose.

Or show what a prepared environment holds, for each platform: ID is an id of
` + "`hpcenv list`" + ` or the beginning of one.

  tree digest     sha256 over all paths, types and contents below the prefix
  made by         how its files came from the pool that all environments share, and what
                  it took of the store beyond that
  image           the environment as one file, if it is published as one, and what made it
  byte-code       compiled files of Python sources, and how many compilers it took:
                  none if other environments had all of them
  conflict        a path that several packages have, and whose it is
  skipped script  link scripts of packages are run only if they are allowed
  script          one that was run, and what it changed or why it failed
  site build      what the site compiled on its nodes for it, of what, and the log
  note            what else the packages or the making gave reason to say

What its files ask of a node, with the file that asks and its package:

  glibc, pages    the least version of the node's C library, the largest size of its pages
  node's library  one that nothing in the environment provides (node's C++: a version of
                  it that the environment's own does not have)
  several copies  of a library of which one process must have one
  CUDA code       which GPUs a package's files have code for: sm_90 runs on compute
                  capability 9.0, compute_90 is compiled by the driver
  opened late     files that programs open at run time, by what opens them`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.inspectLock("", platform, environments)
			}
			if namesLock(args[0]) {
				return a.inspectLock(args[0], platform, environments)
			}
			if len(environments) > 0 {
				return api.Errorf(api.ExitUsage, "--environment goes with a lock; %s is taken for the id of one environment\nnext: leave it out, or name the lock", args[0])
			}
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
	cmd.Flags().BoolVar(&packages, "packages", false, "list the packages of a prepared environment, too")
	cmd.Flags().StringArrayVarP(&environments, "environment", "e", nil, "these environments of the lock only (repeatable, or names with commas)")
	a.choice.add(cmd.Flags())
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
	w := tabwriter.NewWriter(plain.Writer{W: a.stdout}, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "id\t%s\n", d.ID)
	for _, p := range d.Platforms {
		fmt.Fprintf(w, "\nplatform\t%s\n", p.Platform)
		fmt.Fprintf(w, "environment\t%s\n", p.Name)
		fmt.Fprintf(w, "lock\t%s\n", p.LockDigest)
		fmt.Fprintf(w, "prefix\t%s\n", p.Prefix)
		if p.Group != nil {
			fmt.Fprintf(w, "only for\t%s\n", groupText(p.Group))
		}
		fmt.Fprintf(w, "tree digest\t%s\n", p.TreeDigest)
		fmt.Fprintf(w, "created\t%s\n", created(p.Created))
		fmt.Fprintf(w, "content\t%s, %s, %s\n", countedText(p.Packages, "package"), countedText(p.Files, "file"), bytesText(p.Bytes))
		if p.Image != nil {
			fmt.Fprintf(w, "image\t%s\n", imageText(p.Image, p.Bytes))
		}
		if p.Cost != nil {
			fmt.Fprintf(w, "made by\t%s\n", costText(p.Cost))
		}
		if p.ByteCode != nil {
			fmt.Fprintf(w, "byte-code\t%s\n", byteCodeText(p.ByteCode))
		}
		some(w, "conflict", p.Conflicts)
		some(w, "skipped script", p.SkippedScripts)
		some(w, "script", scriptLines(p))
		some(w, "site build", siteBuildLines(p))
		some(w, "note", p.Notes)
		needsText(w, &p)
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

// scriptLines tells of the scripts that were run.
func scriptLines(p api.PlatformDetail) (out []string) {
	for _, s := range p.Scripts {
		line := fmt.Sprintf("%s of %s changed %s", s.Script, s.Package, countedText(s.Changed, "path"))
		if s.Failed != "" {
			line = fmt.Sprintf("%s of %s FAILED: %s", s.Script, s.Package, s.Failed)
		}
		out = append(out, line)
		for _, text := range []string{s.Messages, s.Output} {
			for _, l := range strings.Split(text, "\n") {
				if l != "" {
					out = append(out, "  | "+l)
				}
			}
		}
		for _, p := range s.Ignored {
			out = append(out, "  not taken in: "+p)
		}
	}
	return out
}

func some(w io.Writer, label string, values []string) {
	for _, v := range values {
		fmt.Fprintf(w, "%s\t%s\n", label, v)
	}
}

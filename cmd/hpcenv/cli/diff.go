package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hpcenv/hpcenv/envs/lockinfo"
	"github.com/hpcenv/hpcenv/internal/plain"
)

func (a *app) diffCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Say what a newer lock changes, per environment and platform",
		Long: `Say what a newer lock changes: packages added, removed and changed per environment
and platform, and what would have to be fetched. OLD and NEW are lock files or
directories with one. Of a uv.lock or pylock.toml the default and each extra are
compared, or what --extra, --group, --no-dev, --package and --python say.`,
		Args: usageArgs(cobra.ExactArgs(2)),
		RunE: func(_ *cobra.Command, args []string) error {
			older, _, err := a.readLock(args[0], nil)
			if err != nil {
				return err
			}
			newer, _, err := a.readLock(args[1], nil)
			if err != nil {
				return err
			}
			d := lockinfo.Compare(older, newer)
			if a.json {
				return a.printJSON(d)
			}
			return diffText(plain.Writer{W: a.stdout}, d)
		},
	}
	a.choice.add(cmd.Flags())
	cmd.Flags().BoolVar(&a.json, "json", false, "print one JSON object")
	return cmd
}

// diffText is a Difference for people.
func diffText(out io.Writer, d *lockinfo.Difference) error {
	if len(d.Added)+len(d.Removed)+len(d.Changed) == 0 {
		_, err := fmt.Fprintln(out, "no environment differs")
		return err
	}
	for _, e := range d.Changed {
		fmt.Fprintf(out, "%s, %s", e.Environment, e.Platform)
		switch e.Only {
		case "new":
			fmt.Fprint(out, ": new")
		case "old":
			fmt.Fprintln(out, ": gone")
			continue
		}
		fmt.Fprintf(out, "; %s\n", fetchText(e.Fetch, e.FetchBytes, e.UnknownSizes))
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, c := range e.Changed {
			fmt.Fprintf(w, "  ~ %s\t%s\t→ %s\n", c.Name, c.Old, c.New)
		}
		for _, p := range e.Removed {
			name, rest, _ := strings.Cut(p, " ")
			fmt.Fprintf(w, "  - %s\t%s\n", name, rest)
		}
		for _, p := range e.Added {
			name, rest, _ := strings.Cut(p, " ")
			fmt.Fprintf(w, "  + %s\t%s\n", name, rest)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "in all: %s\n", fetchText(d.Fetch, d.FetchBytes, d.UnknownSizes))
	return err
}

func fetchText(n int, bytes int64, unknown int) string {
	if n == 0 {
		return "nothing to fetch"
	}
	if n == 1 {
		return "1 package to fetch, " + sizesText(bytes, unknown)
	}
	return fmt.Sprintf("%d packages to fetch, %s", n, sizesText(bytes, unknown))
}

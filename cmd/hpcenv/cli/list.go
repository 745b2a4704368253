package cli

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hpcenv/hpcenv/daemon/api"
)

func (a *app) listCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the environments that are prepared, newest first",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			svc, err := a.reader()
			if err != nil {
				return err
			}
			envs, err := svc.List(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				if envs == nil {
					envs = []api.Environment{}
				}
				return a.printJSON(envs)
			}
			return a.listTable(envs)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return cmd
}

func (a *app) listTable(envs []api.Environment) error {
	if len(envs) == 0 {
		_, err := fmt.Fprintln(a.stderr, "no environment is prepared yet\nnext: hpcenv prepare")
		return err
	}
	w := tabwriter.NewWriter(plain{a.stdout}, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tENVIRONMENT\tPLATFORM\tPACKAGES\tFILES\tSIZE\tCREATED\tLOCK")
	for _, e := range envs {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\n", short(e.ID), e.Name, e.Platform, e.Packages,
			countText(e.Files), bytesText(e.Bytes), created(e.Created), short(e.LockDigest))
	}
	return w.Flush()
}

// created prints an RFC 3339 time in the reader's zone.
func created(s string) string {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04")
}

// printJSON prints v as one indented JSON value on stdout.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

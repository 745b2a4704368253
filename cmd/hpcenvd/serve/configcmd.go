//go:build linux

package serve

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/daemon/config"
)

func formatInt(n int64) string { return strconv.FormatInt(n, 10) }

// loadAll reads the configuration and everything that it names and a start would refuse.
func loadAll(cmd *cobra.Command) (*config.Config, error) {
	conf, err := config.Load(cmd.Flags(), os.Environ())
	if err != nil {
		return nil, err
	}
	if _, err := access(conf); err != nil {
		return nil, err
	}
	if _, err := budgets(conf); err != nil {
		return nil, err
	}
	if _, err := rules(conf.Selection); err != nil {
		return nil, err
	}
	_, err = fetcher(conf)
	return conf, err
}

// configCommand looks at the configuration without starting anything.
func configCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Look at the configuration", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	check := &cobra.Command{
		Use: "check", Short: "Say what is wrong with it", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			conf, err := loadAll(cmd)
			if err != nil {
				return err
			}
			said := 0
			for _, v := range conf.Values() {
				if v.From != config.FromDefault {
					said++
				}
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "the configuration can be used: %d keys are set, all others have their defaults\n", said)
			return err
		},
	}
	asJSON := false
	show := &cobra.Command{
		Use: "show", Short: "Print what holds, and where each value was said", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			conf, err := loadAll(cmd)
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(conf.Values())
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, v := range conf.Values() {
				where := v.Where
				if where == "" {
					where = v.From
				}
				fmt.Fprintf(w, "%s\t%s\t%s\n", v.Key, v.Text, where)
			}
			return w.Flush()
		},
	}
	show.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	example := &cobra.Command{
		Use: "example", Short: "Print the documented file: every key, its default, and what it does", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(cmd.OutOrStdout(), config.Document())
			return err
		},
	}
	for _, c := range []*cobra.Command{check, show} {
		config.Flags(c.Flags())
	}
	cmd.AddCommand(check, show, example)
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return api.Errorf(api.ExitUsage, "%v\nnext: hpcenvd config --help", err)
	})
	return cmd
}

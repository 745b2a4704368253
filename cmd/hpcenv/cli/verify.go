package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/daemon/service"
	"github.com/hpcenv/hpcenv/internal/plain"
)

// adminCmd holds what administrators do.
func (a *app) adminCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "admin",
		Short: "Commands for administrators",
		Args:  usageArgs(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(a.verifyCmd(), a.buildsCmd(), a.indexCmd(), a.whereCmd(), a.requestsCmd(), a.gcCmd(), a.configCmd(), a.statusCmd(), a.watchedCmd())
	cmd.AddCommand(a.adminStore()...)
	cmd.AddCommand(a.adminHere()...)
	return cmd
}

func (a *app) verifyCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify ID",
		Short: "Compare a prepared environment with what it should be",
		Long: `Read every file of a prepared environment and compare it with the digest that was
noted when it was made, and path by path with what the lock and its packages
make of it; who may read and write, and what the description says for jobs, are
looked at, too. Of an environment that is published as an image, the file is hashed and
what it holds is read, without mounting it. ID is an id of ` + "`hpcenv list`" + ` or the beginning of one. Nothing is
written; whoever can read the store can do it. Damage to the pool, which all
environments share, is named too. The exit code is 1 if anything differs.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			svc, err := a.storeReader()
			if err != nil {
				return err
			}
			v, err := svc.Verify(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if a.json {
				err = a.printJSON(v)
				a.json = false // what differs is in it; the error is a text
			} else {
				err = a.verifyText(v)
			}
			if err != nil || v.Same {
				return err
			}
			return api.Errorf(api.ExitFailed, "environment %s is not what it should be\nnext: when no job uses it, the store's owner removes %s, and prepares the lock again", v.ID, toRemove(v))
		},
	}
	cmd.Flags().BoolVar(&a.json, "json", false, "print one JSON object on stdout, {\"error\": …} if there is nothing to tell")
	return cmd
}

// toRemove names what has to go before preparing makes an environment anew.
func toRemove(v *api.Verification) string {
	var trees []string
	first := ""
	for _, p := range v.Platforms {
		if !p.Same {
			trees = append(trees, p.Tree)
		}
		if len(p.Damage) > 0 {
			first = "what is named as damage, and then "
		}
	}
	return first + strings.Join(trees, " and ")
}

// storeReader is a service that reads the store itself.
func (a *app) storeReader() (*service.Service, error) {
	c, err := a.conf()
	if err != nil {
		return nil, err
	}
	if c.Store == "" {
		return nil, api.Errorf(api.ExitUsage, "this command reads the store, and where it is is not known here\nnext: name it with --store, HPCENV_STORE, or `store = PATH` in /etc/hpcenv/hpcenv.conf")
	}
	return service.OpenReadOnly(c.Store, c.Own)
}

func (a *app) verifyText(v *api.Verification) error {
	w := tabwriter.NewWriter(plain.Writer{W: a.stdout}, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "id\t%s\n", v.ID)
	for _, p := range v.Platforms {
		result := "the same"
		if !p.Same {
			result = "differs"
		}
		fmt.Fprintf(w, "\nplatform\t%s\n", p.Platform)
		fmt.Fprintf(w, "environment\t%s\n", p.Environment)
		fmt.Fprintf(w, "%s\t%s\n", p.Delivery, p.Tree)
		fmt.Fprintf(w, "tree digest\t%s\n", p.TreeDigest)
		fmt.Fprintf(w, "when made\t%s\n", p.MetaDigest)
		switch {
		case p.NoPlan != "":
			fmt.Fprintf(w, "by the lock\tnot known: %s\n", p.NoPlan)
		case p.Unknown > 0:
			fmt.Fprintf(w, "by the lock\tall paths; the content of %d compiled files that take the prefix apart by the digest only\n", p.Unknown)
		default:
			fmt.Fprintf(w, "by the lock\t%s\n", p.PlanDigest)
		}
		fmt.Fprintf(w, "result\t%s\n", result)
		some(w, "damage", p.Damage)
		for _, d := range p.Differences {
			fmt.Fprintf(w, "differs\t%q: %s\n", d.Path, d.What)
		}
	}
	return w.Flush()
}

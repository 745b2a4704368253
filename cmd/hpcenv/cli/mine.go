package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/internal/plain"
)

// mine shows what the user asked for that is there; or gives one up.
func (a *app) mine(ctx context.Context, release string) error {
	c, err := a.daemon()
	if err != nil {
		return err
	}
	if release != "" {
		gone, err := c.GiveUp(ctx, release)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.stderr, "%s (%s) counts for you no more\n", short(gone.ID), gone.Name)
		return nil
	}
	m, err := c.Mine(ctx)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(m)
	}
	w := tabwriter.NewWriter(plain.Writer{W: a.stdout}, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tENVIRONMENT\tPLATFORM\tASKED FOR\tSIZE\tINODES")
	for _, e := range m.Environments {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\n", short(e.ID), e.Name, e.Platform, created(e.Asked), bytesText(e.Bytes), e.Inodes)
	}
	fmt.Fprintf(w, "in all\t\t\t\t%s\t%d\n", bytesText(m.Usage.Bytes), m.Usage.Inodes)
	if err := w.Flush(); err != nil {
		return err
	}
	for _, b := range m.Budgets {
		fmt.Fprintln(plain.Writer{W: a.stdout}, budgetLine(b))
	}
	return nil
}

// budgetLine is a budget for people.
func budgetLine(b api.Budget) string {
	whose := "your budget"
	if b.GID != nil {
		whose = fmt.Sprintf("the budget of all of group %d", *b.GID)
	}
	var parts []string
	if b.MaxBytes > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s", bytesText(b.Usage.Bytes), bytesText(b.MaxBytes)))
	}
	if b.MaxInodes > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d inodes", b.Usage.Inodes, b.MaxInodes))
	}
	if b.Prepares > 0 {
		parts = append(parts, fmt.Sprintf("%d at work at one time", b.Prepares))
	}
	if len(b.Channels) > 0 {
		parts = append(parts, "channels "+strings.Join(b.Channels, " "))
	}
	return whose + ": " + strings.Join(parts, "; ")
}

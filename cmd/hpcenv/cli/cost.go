package cli

import (
	"fmt"

	"github.com/hpcenv/hpcenv/daemon/api"
)

// costText tells how files were placed and what that took.
func costText(c *api.Cost) string {
	how := ""
	for _, n := range []struct {
		count int
		word  string
	}{{c.Hardlinks, "hard links"}, {c.Reflinks, "reflinks"}, {c.Copies, "copies"}, {c.Written, "written"}} {
		if n.count == 0 {
			continue
		}
		if how != "" {
			how += ", "
		}
		how += countText(n.count) + " " + n.word
	}
	text := fmt.Sprintf("%s: %s; %s inodes, %s", c.Method, how, countText(c.Inodes), bytesText(c.Bytes))
	if c.Siblings > 0 {
		text += fmt.Sprintf(" (%s of them since files of the pool had all the links that an inode takes)", countText(c.Siblings))
	}
	return text
}

// costs prints what the new environments took of the store, in one line each.
func (a *app) costs(r *api.PrepareResult) {
	for _, e := range r.Environments {
		if e.New && e.Cost != nil {
			fmt.Fprintf(plain{a.stderr}, "  %-12s  %-14s %s\n", e.Name, e.Platform, costText(e.Cost))
		}
	}
}

// dryRun prints what would be done.
func (a *app) dryRun(r *api.PrepareResult, verbose bool) error {
	w := plain{a.stderr}
	d := r.DryRun
	if d == nil {
		return api.Errorf(api.ExitFailed, "hpcenvd did not say what a dry run would do: it is of an older version\nnext: ask the administrator to update hpcenvd")
	}
	if verbose {
		for _, f := range d.Fetch {
			size := "size not known"
			if f.Size > 0 {
				size = bytesText(f.Size)
			}
			fmt.Fprintf(w, "  fetch  %s  %s\n", f.Package, size)
		}
	}
	about := ""
	if d.Estimated {
		about = "about "
	}
	for _, e := range d.Environments {
		if e.New {
			est := ""
			if e.Estimated {
				est = "about "
			}
			fmt.Fprintf(w, "  %-12s  %-14s its tree takes %s%s inodes, %s%s\n", e.Name, e.Platform, est, countText(e.Inodes), est, bytesText(e.Bytes))
		}
		for _, c := range e.Conflicts {
			fmt.Fprintf(w, "  %-12s  %-14s conflict: %s\n", e.Name, e.Platform, c)
		}
		for _, s := range e.SkippedScripts {
			fmt.Fprintf(w, "  %-12s  %-14s script that will not run: %s\n", e.Name, e.Platform, s)
		}
	}
	fmt.Fprintf(w, "on the store: %s%s inodes, %s%s", about, countText(d.Inodes), about, bytesText(d.Bytes))
	switch {
	case d.Estimated && len(d.Fetch) == 0:
		fmt.Fprint(w, " (an estimate: Python sources are yet to be compiled)")
	case d.Estimated:
		fmt.Fprintf(w, " (an estimate: %d packages are not there yet; conflicts show once they are)", len(d.Fetch))
	}
	_, err := fmt.Fprintf(w, "\ndry run, nothing was done: %d packages kept, %d to fetch, %s\n", r.PackagesKept, r.PackagesNew, bytesText(r.BytesFetched))
	return err
}

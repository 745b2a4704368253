package cli

import (
	"fmt"
	"slices"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/internal/plain"
)

// costText tells how files were placed and what that took.
func costText(c *api.Cost) string {
	text := fmt.Sprintf("%s: %s; %s, %s", c.Method, listText(
		amount{c.Hardlinks, "hard link", "hard links"}, amount{c.Reflinks, "reflink", "reflinks"},
		amount{c.Copies, "copy", "copies"}, amount{c.Written, "written", "written"},
	), countedText(c.Inodes, "inode"), bytesText(c.Bytes))
	if c.Siblings > 0 {
		text += fmt.Sprintf(" (%s of them since files of the pool had all the links that an inode takes)", countText(c.Siblings))
	}
	return text
}

// imageText tells of an image of files of so many bytes.
func imageText(i *api.Image, bytes int64) string {
	text := bytesText(i.Size)
	if bytes > 0 {
		text += fmt.Sprintf(" (%d%% of its files)", (100*i.Size+bytes/2)/bytes)
	}
	text += ", sha256 " + short(i.SHA256) + ", mksquashfs " + i.Mksquashfs
	if i.Libzstd != "" {
		text += " with libzstd " + i.Libzstd
	}
	if i.Stripes > 0 {
		text += fmt.Sprintf(", over %d servers", i.Stripes)
	}
	return text
}

// byteCodeText tells where compiled files came from.
func byteCodeText(c *api.ByteCode) string {
	if c.Skipped != "" {
		return "none: " + c.Skipped
	}
	text := countedText(c.Files, "file")
	if from := listText(
		amount{c.Files - c.Kept - c.Headed - c.Patched, "compiled", "compiled"},
		amount{c.Patched, "with the prefix in it", "with the prefix in them"},
		amount{c.Kept, "as shipped", "as shipped"}, amount{c.Headed, "shipped with another header", "shipped with other headers"},
	); from != "" {
		text += " (" + from + ")"
	}
	if c.Failed > 0 {
		text += "; " + countedText(c.Failed, "source") + " without"
	}
	if c.Processes == 0 {
		return text + "; no compiler was started: the store had all"
	}
	return text + "; " + countedText(c.Processes, "compiler") + " started"
}

// costs prints what the new environments took of the store, in one line each.
func (a *app) costs(r *api.PrepareResult) {
	for _, e := range r.Environments {
		if e.New && e.Cost != nil {
			fmt.Fprintf(plain.Writer{W: a.stderr}, "  %-12s  %-14s %s\n", e.Name, e.Platform, costText(e.Cost))
		}
	}
}

// dryRun prints what would be done.
func (a *app) dryRun(r *api.PrepareResult, verbose bool) error {
	w := plain.Writer{W: a.stderr}
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
			what := map[string]string{"image": "its image takes", "both": "its tree and its image take"}[e.Delivery]
			if what == "" {
				what = "its tree takes"
			}
			fmt.Fprintf(w, "  %-12s  %-14s %s %s%s, %s%s\n", e.Name, e.Platform, what, est, countedText(e.Inodes, "inode"), est, bytesText(e.Bytes))
		}
		for _, c := range e.Conflicts {
			fmt.Fprintf(w, "  %-12s  %-14s conflict: %s\n", e.Name, e.Platform, c)
		}
		for _, s := range e.SkippedScripts {
			fmt.Fprintf(w, "  %-12s  %-14s script that will not run: %s\n", e.Name, e.Platform, s)
		}
	}
	fmt.Fprintf(w, "on the store: %s%s, %s%s", about, countedText(d.Inodes, "inode"), about, bytesText(d.Bytes))
	switch {
	case d.Estimated && len(d.Fetch) == 0:
		what := "Python sources are yet to be compiled"
		if slices.ContainsFunc(d.Environments, func(e api.DryRunEnvironment) bool { return e.Delivery == "image" || e.Delivery == "both" }) {
			what = "how small an image is, packing tells"
		}
		fmt.Fprintf(w, " (an estimate: %s)", what)
	case d.Estimated:
		fmt.Fprintf(w, " (an estimate: packages that are not there yet: %d; their conflicts and scripts show once they are)", len(d.Fetch))
	}
	size := ""
	switch {
	case r.BytesFetched > 0:
		size = ", " + bytesText(r.BytesFetched)
	case r.PackagesNew > 0:
		size = ", sizes not known"
	}
	_, err := fmt.Fprintf(w, "\ndry run, nothing was done: %s kept, %d to fetch%s\n", countedText(r.PackagesKept, "package"), r.PackagesNew, size)
	return err
}

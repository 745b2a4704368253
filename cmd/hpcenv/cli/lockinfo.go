package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/daemon/service"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/lockinfo"
	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/internal/plain"
)

// namesLock tells whether an argument of inspect is a lock file or its
// directory, not an id.
func namesLock(arg string) bool {
	if strings.ContainsRune(arg, '/') || arg == "." || arg == ".." {
		return true
	}
	_, err := os.Stat(arg)
	return !errors.Is(err, fs.ErrNotExist)
}

// readLock reads the lock at path ("" = the nearest one upwards). Of one that names no
// environments, those that texts of wishes, or the flags, stand for; none = all.
func (a *app) readLock(path string, texts []string) (*lockfile.Lock, string, error) {
	path, note, err := project.FindLock(path)
	if err != nil {
		return nil, "", err
	}
	if note != "" {
		fmt.Fprintln(a.stderr, "note:", note)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, "", fmt.Errorf("the lock file cannot be read: %w", err)
	}
	if err := project.NotLock(path, data); err != nil {
		return nil, "", err
	}
	lock, err := a.pythonLock(path, data, texts)
	if lock == nil && err == nil {
		lock, err = lockfile.Parse(data)
	}
	if err != nil {
		return nil, "", aboutLock(service.OfLock(err, data), path)
	}
	return lock, path, nil
}

// known tells what the store of this command has; nothing if there is no store
// to be read.
func (a *app) known() lockinfo.Known {
	c, err := a.conf()
	if err != nil || c.Store == "" {
		return nil
	}
	store, err := cache.Open(c.Store)
	if err != nil {
		return nil // what a lock holds can be told without
	}
	parts, err := store.Parts()
	if err != nil {
		parts = nil // the same
	}
	parts = append([]*cache.Store{store}, parts...)
	return func(sha256 string) (int, bool) {
		for _, part := range parts {
			m, err := part.Manifest(sha256)
			if err != nil {
				continue
			}
			files := 0
			for _, e := range m.Entries {
				if e.Type != cache.EntryDir {
					files++
				}
			}
			return files, true
		}
		return 0, false
	}
}

// inspectLock shows what a lock holds: all environments and platforms, or those
// asked for.
func (a *app) inspectLock(path, platform string, environments []string) error {
	lock, path, err := a.readLock(path, environments)
	if err != nil {
		return err
	}
	if lock.Format == lockfile.FormatUV || lock.Format == lockfile.FormatPylock {
		environments = nil // it has those that were asked for
	}
	if environments = splitNames(environments); len(environments) > 0 {
		var only []*lockfile.Environment
		for _, name := range environments {
			env, err := lock.Environment(name)
			if err != nil {
				return aboutLock(err, path)
			}
			only = append(only, env)
		}
		lock.Environments = only
	}
	format := lock.Format.String()
	if lock.Version > 0 {
		format += fmt.Sprintf(" %d", lock.Version)
	}
	report := lockinfo.Describe(lock, format, a.known())
	if platform != "" {
		has := platformNames(lock)
		if len(has) > 0 && !slices.Contains(has, platform) {
			return api.Errorf(api.ExitUsage, "%s has nothing for the platform %q\nnext: --platform with one of %s", path, platform, strings.Join(has, ", "))
		}
		for i := range report.Environments {
			e := &report.Environments[i]
			var kept []lockinfo.Platform
			for _, p := range e.Platforms {
				if p.Name == platform || p.Subdir == platform {
					kept = append(kept, p)
				}
			}
			e.Platforms = kept
		}
	}
	if a.json {
		return a.printJSON(report)
	}
	return lockText(plain.Writer{W: a.stdout}, report)
}

// platformNames are the names and subdirs of a lock's Linux platforms, sorted.
func platformNames(lock *lockfile.Lock) []string {
	var has []string
	for _, env := range lock.Environments {
		for _, p := range env.Platforms {
			has = append(has, p.Name, p.Subdir)
		}
	}
	slices.Sort(has)
	return slices.Compact(has)
}

// lockText is a Report for people.
func lockText(out io.Writer, r *lockinfo.Report) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "lock\t%s\nformat\t%s\n\n", r.Digest, r.Format)
	fmt.Fprintln(w, "ENVIRONMENT\tPLATFORM\tCONDA\tPYPI\tARCHIVES\tFILES")
	for _, e := range r.Environments {
		for _, p := range e.Platforms {
			size := sizesText(p.Bytes, p.UnknownSizes)
			files := countText(p.Files)
			if p.Estimated {
				files = "about " + files
			}
			fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%s\n", e.Name, platformText(p), p.Conda, p.PyPI, size, files)
		}
		if len(e.Other) > 0 {
			fmt.Fprintf(w, "%s\t(not for hpcenv: %s)\t\t\t\t\n", e.Name, strings.Join(e.Other, ", "))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, e := range r.Environments {
		for _, p := range e.Platforms {
			if err := platformDetail(out, e, p); err != nil {
				return err
			}
		}
		for _, x := range e.Warnings {
			fmt.Fprintf(out, "warning: %s: %s\n", e.Name, x)
		}
	}
	for _, x := range r.Warnings {
		fmt.Fprintln(out, "warning:", x)
	}
	return nil
}

// sizesText is a size in bytes that leaves out what is not known.
func sizesText(bytes int64, unknown int) string {
	switch {
	case unknown == 0:
		return bytesText(bytes)
	case bytes == 0:
		return fmt.Sprintf("%d of unknown size", unknown)
	}
	return fmt.Sprintf("%s and %d of unknown size", bytesText(bytes), unknown)
}

func platformText(p lockinfo.Platform) string {
	if p.Name != p.Subdir {
		return p.Name + " (" + p.Subdir + ")"
	}
	return p.Name
}

func platformDetail(out io.Writer, e lockinfo.Environment, p lockinfo.Platform) error {
	if len(p.Requirements)+len(p.Stack)+len(p.Trees)+len(p.Unsupported)+len(p.Warnings) == 0 {
		return nil
	}
	fmt.Fprintf(out, "\n%s, %s\n", e.Name, platformText(p))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, c := range p.Stack {
		fmt.Fprintf(w, "  %s\t%s\tfrom %s\n", c.Name, c.Package, c.Origin)
	}
	for _, q := range p.Requirements {
		what, by := "needs", strings.Join(q.Packages, ", ")
		if q.If {
			what = "if there"
		}
		if n := len(q.Packages); n > 6 {
			by = strings.Join(q.Packages[:6], ", ") + fmt.Sprintf(" and %d more", n-6)
		} else if n == 0 {
			by = "the lock's platform"
		}
		fmt.Fprintf(w, "  %s\t%s\tby %s\n", what, q.Spec, by)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, t := range p.Trees {
		fmt.Fprintf(out, "  from its source tree: %s\n", t)
	}
	for _, u := range p.Unsupported {
		fmt.Fprintf(out, "  cannot be installed: %s\n", u)
	}
	for _, x := range p.Warnings {
		fmt.Fprintf(out, "  warning: %s\n", x)
	}
	return nil
}

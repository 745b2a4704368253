package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/internal/membound"
)

// prepareFlags are what prepare was asked for.
type prepareFlags struct {
	environments, platforms []string
	all, dryRun, verbose    bool
	offline                 bool
	lock                    string
}

func (a *app) prepareCmd() *cobra.Command {
	var f prepareFlags
	cmd := &cobra.Command{
		Use:   "prepare [PATH]",
		Short: "Fetch and build what a lock names, for every architecture of the cluster",
		Long: `Fetch and build the environments that a lock names, so that jobs start in them at
once. PATH is a lock or a directory with one; without it, the nearest
lock upwards counts. What is there already is not touched.

A uv.lock or pylock.toml names no environments and no Python. What is wanted of it is
said with --extra, --group, --no-dev, --package and --python, or with -e in one word
that stands for all of it and is the environment's name from then on:
-e extra=gpu,group=test or -e python=3.12,no-dev (-e is repeatable for such a lock,
too). all-extras, all-groups, all-packages (every member of the workspace),
only-groups (not the project itself) and no-default-groups are such items, too. --all means the default and each extra by itself. The Python is the one that
.python-version asks for, else the newest that the lock takes, of those that the site
lists (interpreters: in the daemon's configuration; for a store of your own in
~/.config/hpcenv/interpreters.yaml).`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := onePath(args, f.lock)
			if err != nil {
				return err
			}
			return a.prepare(cmd.Context(), path, f)
		},
	}
	fl := cmd.Flags()
	fl.StringArrayVarP(&f.environments, "environment", "e", nil, "environment of the lock (repeatable, or names with commas; default: what the kinds of node get, as hpcenv plan shows)")
	a.choice.add(fl)
	fl.BoolVar(&f.all, "all", false, "all environments of the lock")
	fl.StringSliceVar(&f.platforms, "platform", nil, "platform, e.g. linux-aarch64 (repeatable, or names with commas; default: those of the cluster's nodes)")
	fl.BoolVar(&f.dryRun, "dry-run", false, "say what would be done and what it would take of the store, and do nothing")
	fl.BoolVar(&f.offline, "offline", false, "ask nothing over the network; what is missing is an error that names it")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "name the packages to fetch (with --dry-run)")
	fl.StringVar(&f.lock, "lock", "", "the same as PATH")
	fl.StringVar(&a.delivery, "delivery", "", "in a store of one's own: make a tree, an image (one squashfs file) or both (default: HPCENV_DELIVERY, then tree)")
	a.addFrozen(cmd)
	fl.BoolVar(&a.json, "json", false, "print one JSON object on stdout, {\"error\": …} if it failed; on stderr errors only")
	return cmd
}

func (a *app) prepare(ctx context.Context, path string, f prepareFlags) error {
	if f.all && len(f.environments) > 0 {
		return api.Errorf(api.ExitUsage, "--all and --environment exclude each other\nnext: leave one of them out")
	}
	membound.Set()
	req, err := a.request(path, f.environments, f.all)
	if err != nil {
		return err
	}
	req.Platforms, req.DryRun = f.platforms, f.dryRun
	req.Offline = f.offline
	d, err := a.described(req)
	if err != nil {
		return err
	}
	svc, err := a.writer(f.dryRun)
	if e := (*api.Error)(nil); errors.As(err, &e) && e.Code == api.ExitUsage {
		return err // it was not about the daemon
	}
	if err != nil {
		return a.withoutDaemon(ctx, req, err)
	}
	if err := a.bring(svc); err != nil {
		return err
	}
	reqs, err := a.planned(ctx, svc, req, d)
	if err != nil {
		return err
	}
	var results []*api.PrepareResult
	for _, one := range reqs {
		r, err := a.prepareOne(ctx, svc, one, f)
		if err != nil {
			return err
		}
		results = append(results, r)
	}
	result := together(results)
	result.Notes = append(a.notes, result.Notes...)
	if a.json {
		if req.DryRun {
			result.BytesFetched = 0 // what would be fetched is no fact
		}
		return a.printJSON(result)
	}
	return a.prepared(ctx, svc, req, result, f.verbose)
}

// prepareOne sends one request and shows how it goes.
func (a *app) prepareOne(ctx context.Context, svc api.Service, req *api.PrepareRequest, f prepareFlags) (*api.PrepareResult, error) {
	if !a.takenAsIs() {
		if err := a.checkTrees(req); err != nil {
			return nil, err
		}
	}
	show := showAll
	if f.dryRun {
		show = showDry
	}
	head := header(req.Lock)
	if a.headed {
		head = ""
	}
	shown := newProgress(a.stderr, head, show)
	report := shown.report
	if a.json {
		report = nil
	}
	result, err := svc.Prepare(ctx, req, report)
	shown.close()
	if err != nil {
		if ctx.Err() != nil {
			return nil, a.interrupted(svc)
		}
		return nil, aboutLock(err, req.LockPath)
	}
	return result, nil
}

// interrupted is the error after Ctrl-C.
func (a *app) interrupted(svc api.Service) error {
	if _, remote := svc.(*api.Client); remote {
		return api.Errorf(api.ExitFailed, "interrupted; hpcenvd goes on with the work\nnext: hpcenv prepare shows how far it is")
	}
	return api.Errorf(api.ExitFailed, "interrupted; what was fetched is kept\nnext: hpcenv prepare goes on from there")
}

// prepared prints how it ended, for people.
func (a *app) prepared(ctx context.Context, svc api.Service, req *api.PrepareRequest, r *api.PrepareResult, verbose bool) error {
	for _, s := range r.Skipped {
		fmt.Fprintln(a.stderr, s)
	}
	for _, n := range r.Notes {
		fmt.Fprintln(a.stderr, "note:", n)
	}
	var files int
	var bytes int64
	for _, e := range r.Environments {
		files += e.Files
		bytes += e.Bytes
	}
	if req.DryRun {
		return a.dryRun(r, verbose)
	}
	fmt.Fprintf(a.stderr, "ready in %s: kept %d, new %d; %s files, %s\n", secondsText(r.Seconds), r.PackagesKept, r.PackagesNew, countText(files), bytesText(bytes))
	a.costs(r)
	_, err := fmt.Fprintf(a.stderr, "next: %s\n", a.next(ctx, svc, req, r))
	return err
}

// fromHere names a lock as one would type it in this directory.
func (a *app) fromHere(lock string) string {
	at := lock
	if found, ok, err := project.LockIn(filepath.Dir(lock)); err == nil && ok && found == lock {
		at = filepath.Dir(lock)
	}
	wd, err := os.Getwd()
	if err != nil {
		return at
	}
	if rel, err := filepath.Rel(wd, at); err == nil && !strings.HasPrefix(rel, "../../..") {
		return rel
	}
	return at
}

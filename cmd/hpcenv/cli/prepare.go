package cli

import (
	"context"
	"errors"
	"fmt"
	"github.com/hpcenv/hpcenv/internal/shellword"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/internal/membound"
)

// prepareFlags are what prepare was asked for.
type prepareFlags struct {
	environments, platforms []string
	all, dryRun, json       bool
}

func (a *app) prepareCmd() *cobra.Command {
	var f prepareFlags
	cmd := &cobra.Command{
		Use:   "prepare [PATH]",
		Short: "Fetch and build what a lock names, for every architecture of the cluster",
		Long: `Fetch and build the environments that a lock names, so that jobs start in them at
once. PATH is a pixi.lock or a directory with one; without it, the nearest
pixi.lock upwards counts. What is there already is not touched.`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := ""
			if len(args) > 0 {
				path = args[0]
			}
			return a.prepare(cmd.Context(), path, f)
		},
	}
	fl := cmd.Flags()
	fl.StringArrayVarP(&f.environments, "environment", "e", nil, "environment of the lock (repeatable; default: default)")
	fl.BoolVar(&f.all, "all", false, "all environments of the lock")
	fl.StringArrayVar(&f.platforms, "platform", nil, "platform, e.g. linux-aarch64 (repeatable; default: those of the cluster's nodes)")
	fl.BoolVar(&f.dryRun, "dry-run", false, "say what would be done and do nothing")
	fl.BoolVar(&f.json, "json", false, "print one JSON object on stdout and nothing on stderr")
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
	req.Environments, req.All, req.Platforms, req.DryRun = f.environments, f.all, f.platforms, f.dryRun
	svc, err := a.writer()
	if err != nil {
		return err
	}
	shown := newProgress(a.stderr, header(req.Lock), false)
	report := shown.report
	if f.json {
		report = nil
	}
	result, err := svc.Prepare(ctx, req, report)
	shown.close()
	if err != nil {
		if ctx.Err() != nil {
			return a.interrupted(svc)
		}
		return err
	}
	result.Notes = append(a.notes, result.Notes...)
	if f.json {
		return a.printJSON(result)
	}
	return a.prepared(ctx, svc, req, result)
}

// interrupted is the error after Ctrl-C.
func (a *app) interrupted(svc api.Service) error {
	if _, remote := svc.(*api.Client); remote {
		return api.Errorf(api.ExitFailed, "interrupted; hpcenvd goes on with the work\nnext: hpcenv prepare shows how far it is")
	}
	return api.Errorf(api.ExitFailed, "interrupted; what was fetched is kept\nnext: hpcenv prepare goes on from there")
}

// prepared prints how it ended, for people.
func (a *app) prepared(ctx context.Context, svc api.Service, req *api.PrepareRequest, r *api.PrepareResult) error {
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
		_, err := fmt.Fprintf(a.stderr, "dry run, nothing was done: %d packages kept, %d to fetch, %s\n", r.PackagesKept, r.PackagesNew, bytesText(r.BytesFetched))
		return err
	}
	fmt.Fprintf(a.stderr, "ready in %s: kept %d, new %d; %s files, %s\n", secondsText(r.Seconds), r.PackagesKept, r.PackagesNew, countText(files), bytesText(bytes))
	_, err := fmt.Fprintf(a.stderr, "next: %s\n", a.next(ctx, svc, req, r))
	return err
}

// next is the command to go on with: sbatch where there is Slurm, else run.
func (a *app) next(ctx context.Context, svc api.Service, req *api.PrepareRequest, r *api.PrepareResult) string {
	name := ""
	if len(r.Environments) > 0 && r.Environments[0].Name != "default" {
		name = r.Environments[0].Name
	}
	where := a.fromHere(req.LockPath)
	if _, remote := svc.(*api.Client); !remote {
		if _, err := exec.LookPath("sbatch"); errors.Is(err, exec.ErrNotFound) {
			cmd := "hpcenv run"
			if where != "." {
				cmd += " --lock " + shellword.Quote(where)
			}
			if name != "" {
				cmd += " -e " + shellword.Quote(name)
			}
			return cmd + " -- COMMAND"
		}
	}
	cmd := "sbatch --env-lock=" + shellword.Quote(where)
	if name != "" {
		cmd += " --env-name=" + shellword.Quote(name)
	}
	return cmd + " job.sh"
}

// fromHere names a lock as one would type it in this directory.
func (a *app) fromHere(lock string) string {
	at := lock
	if filepath.Base(lock) == "pixi.lock" {
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

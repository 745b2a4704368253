package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/daemon/service"
	"github.com/hpcenv/hpcenv/envs/bundle"
	"github.com/hpcenv/hpcenv/internal/plain"
)

type bundleFlags struct {
	environments, platforms []string
	all                     bool
	lock, out               string
}

func (a *app) bundleCreateCmd() *cobra.Command {
	var f bundleFlags
	cmd := &cobra.Command{
		Use:   "create [LOCK] -o FILE",
		Short: "Write environments of a lock, with all their packages, into one file",
		Long: `Write environments of a lock, with all their packages, into one file. LOCK is a
lock or a directory with one; without it, the nearest lock upwards counts.

The first environment and platform is what pixi-unpack and conda find in the file; all
of them are what hpcenv bundle load makes. A uv.lock or pylock.toml gets the Pythons that
are listed here; the cluster must list the same ones. The same lock gives the same bytes. Projects
that are used from their source trees are not in the file.`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := onePath(args, f.lock)
			if err != nil {
				return err
			}
			return a.bundleCreate(cmd.Context(), path, f)
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "output", "o", "environment.tar", "the file to write; one that is there is replaced")
	fl.StringArrayVarP(&f.environments, "environment", "e", nil, "environment of the lock (repeatable, or names with commas; default: default)")
	fl.BoolVar(&f.all, "all", false, "all environments of the lock")
	fl.StringSliceVar(&f.platforms, "platform", nil, "platform, e.g. linux-aarch64 (repeatable, or names with commas; default: all of the lock's for Linux)")
	fl.StringVar(&f.lock, "lock", "", "the same as LOCK")
	a.addFrozen(cmd)
	a.choice.add(fl)
	fl.BoolVar(&a.json, "json", false, "print one JSON object on stdout, {\"error\": …} if it failed; on stderr errors only")
	return cmd
}

// bundleFacts are what bundle create prints with --json.
type bundleFacts struct {
	File       string           `json:"file"`
	Bytes      int64            `json:"bytes"`
	SHA256     string           `json:"sha256"`
	LockDigest string           `json:"lock_digest"`
	Contents   []bundle.Content `json:"contents"`
	Packages   int              `json:"packages"`
	// Foreign: pixi-unpack and conda can make the first of the contents.
	Foreign bool `json:"foreign"`
	// Trees are the projects of the lock that the file does not have.
	Trees   []string `json:"source_trees,omitempty"`
	Skipped []string `json:"skipped,omitempty"`
}

func (a *app) bundleCreate(ctx context.Context, path string, f bundleFlags) error {
	if f.all && len(f.environments) > 0 {
		return api.Errorf(api.ExitUsage, "--all and --environment exclude each other\nnext: leave one of them out")
	}
	if err := writable(f.out); err != nil { // before anything is fetched for it
		return err
	}
	req, err := a.request(path, f.environments, f.all)
	if err != nil {
		return err
	}
	pythons, err := a.bundlePythons(req)
	if err != nil {
		return err
	}
	if !a.takenAsIs() {
		if err := a.checkTrees(req); err != nil {
			return err
		}
	}
	lock := req.LockPath
	pr := bundle.Project{LockName: filepath.Base(lock), Dir: filepath.Dir(lock), Lock: req.Lock}
	plan, err := bundle.NewPlan(pr, pythons, req.Environments, req.All, f.platforms)
	if err != nil {
		return aboutLock(err, lock)
	}
	if err := plan.AddProjectFiles(filepath.Dir(lock)); err != nil {
		return err
	}
	downloads, done, err := a.downloads(ctx, f.out, pr.Dir)
	if err != nil {
		return err
	}
	shown := newProgress(a.stderr, header(pr.Lock), showAll)
	if a.json {
		shown = newProgress(io.Discard, "", showAll)
	}
	paths, err := fetchAll(ctx, downloads, plan.Sources(), shown)
	shown.close()
	if err == nil {
		err = a.bundleWrite(ctx, f.out, plan, paths)
	}
	if err != nil {
		if ctx.Err() != nil {
			return api.Errorf(api.ExitFailed, "interrupted; what was fetched is kept\nnext: the same command goes on from there")
		}
		return aboutLock(err, lock)
	}
	return done()
}

// writable refuses the name of a file that cannot be written.
func writable(out string) error {
	const next = "\nnext: -o FILE, a file in a directory that is there"
	if st, err := os.Stat(out); err == nil && !st.Mode().IsRegular() {
		return api.Errorf(api.ExitUsage, "the bundle cannot be written: %s is no ordinary file%s", out, next)
	}
	dir := filepath.Dir(out)
	if st, err := os.Stat(dir); err != nil {
		return &api.Error{Code: api.ExitUsage, Message: fmt.Sprintf("the bundle cannot be written: %v%s", err, next)}
	} else if !st.IsDir() {
		return api.Errorf(api.ExitUsage, "the bundle cannot be written: %s is no directory%s", dir, next)
	}
	return nil
}

// downloads is where archives come from: a store of the user's own, which keeps
// them, or a cluster's, beside which what it lacks is fetched into a folder next to
// the file that is written. done removes that folder.
func (a *app) downloads(ctx context.Context, out, project string) (d *service.Downloads, done func() error, err error) {
	c, err := a.conf()
	if err != nil {
		return nil, nil, err
	}
	own, err := a.own(c)
	if err != nil {
		return nil, nil, err
	}
	if !c.HasDaemon() {
		d, err = service.OpenDownloads("", c.Store, own, project)
		return d, func() error { return nil }, err
	}
	if svc, err := a.writer(false); c.Store == "" && err == nil {
		// A daemon that does not answer is none that is needed here.
		if st, err := svc.Status(ctx); err == nil {
			c.Store = st.Store
		}
	}
	parts := out + ".parts"
	d, err = service.OpenDownloads(c.Store, parts, own, project)
	return d, func() error { return os.RemoveAll(parts) }, err
}

// fetching is how many archives are fetched at one time.
const fetching = 8

// fetchAll fetches what is missing and returns the archives' files by sha256.
func fetchAll(ctx context.Context, d *service.Downloads, sources []cache.Source, shown progress) (map[string]string, error) {
	var mu sync.Mutex
	paths := map[string]string{}
	now := api.Event{Type: api.EventPlan, PackagesTotal: len(sources)}
	var missing []cache.Source
	for _, s := range sources {
		path, err := d.Kept(s)
		if err != nil {
			return nil, err
		}
		if path == "" {
			missing = append(missing, s)
			now.BytesTotal += s.Size
			continue
		}
		paths[s.SHA256] = path
		now.PackagesDone++
	}
	shown.report(now)
	tell := func(kind string, src cache.Source, done, total int64) { // with mu held
		e := now
		e.Type, e.Package, e.Done, e.Total = kind, src.Name, done, total
		shown.report(e)
	}
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(fetching)
	for _, src := range missing {
		group.Go(func() error {
			path, err := d.Fetch(inner, src, func(done, total int64) {
				mu.Lock()
				defer mu.Unlock()
				tell(api.EventFetch, src, done, total)
			})
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			paths[src.SHA256] = path
			now.PackagesDone++
			now.BytesDone += src.Size
			tell(api.EventFetched, src, src.Size, src.Size)
			return nil
		})
	}
	err := group.Wait()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return paths, err
}

// bundleWrite writes the bundle, which appears whole or not at all, and says what
// it is.
func (a *app) bundleWrite(ctx context.Context, out string, plan *bundle.Plan, paths map[string]string) error {
	temp := filepath.Join(filepath.Dir(out), fmt.Sprintf(".%s.%d", filepath.Base(out), os.Getpid()))
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	h := sha256.New()
	err = plan.Write(ctx, io.MultiWriter(f, h), func(_ context.Context, src cache.Source) (io.ReadCloser, int64, error) {
		return openArchive(paths[src.SHA256])
	})
	if err == nil {
		err = f.Sync()
	}
	st, serr := f.Stat()
	if err = errors.Join(err, serr, f.Close()); err == nil {
		err = os.Rename(temp, out)
	}
	if err != nil {
		if rerr := os.Remove(temp); rerr != nil && !errors.Is(rerr, os.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
		if errors.Is(err, cache.ErrIntegrity) {
			err = fmt.Errorf("%w\nnext: remove that file; the same command then fetches it again", err)
		}
		return err
	}
	facts := bundleFacts{
		File: out, Bytes: st.Size(), SHA256: hex.EncodeToString(h.Sum(nil)), LockDigest: plan.Digest(), Contents: plan.Contents,
		Packages: len(plan.Sources()), Trees: treesText(plan.Trees), Skipped: plan.Skipped, Foreign: plan.Foreign,
	}
	if a.json {
		return a.printJSON(facts)
	}
	return a.bundleWritten(facts)
}

func openArchive(path string) (io.ReadCloser, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	st, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, st.Size(), nil
}

func (a *app) bundleWritten(b bundleFacts) error {
	w := plain.Writer{W: a.stderr}
	for _, s := range b.Skipped {
		fmt.Fprintln(w, s)
	}
	packages := fmt.Sprintf("%d packages", b.Packages)
	if b.Packages == 1 {
		packages = "1 package"
	}
	fmt.Fprintf(w, "%s: %s, %s, sha256 %s\n", b.File, packages, bytesText(b.Bytes), b.SHA256)
	wide := 0
	for _, c := range b.Contents {
		wide = max(wide, len(c.Environment))
	}
	for i, c := range b.Contents {
		who := "hpcenv"
		if i == 0 && b.Foreign {
			who = "hpcenv, pixi-unpack, conda"
		}
		fmt.Fprintf(w, "  %-*s  %-14s for %s\n", max(wide, 12), c.Environment, c.Platform, who)
	}
	if !b.Foreign {
		fmt.Fprintln(w, "note: its Python is an archive of python-build-standalone, no conda package, so that only hpcenv can make it")
	}
	if len(b.Trees) > 0 {
		fmt.Fprintf(w, "note: used from its source tree, and not in the file: %s; bring the project's directory, too\n", strings.Join(b.Trees, ", "))
	}
	_, err := fmt.Fprintf(w, "next: hpcenv bundle load %s, on the cluster\n", filepath.Base(b.File))
	return err
}

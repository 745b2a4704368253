package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/bundle"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/internal/membound"
	"github.com/hpcenv/hpcenv/internal/shellword"
)

type loadFlags struct {
	platforms []string
	project   string
}

func (a *app) bundleLoadCmd() *cobra.Command {
	var f loadFlags
	cmd := &cobra.Command{
		Use:   "load FILE",
		Short: "Make the environments of a bundle, or of a pack of pixi-pack, without the network",
		Long: `Make the environments of a bundle without the network. FILE is what hpcenv bundle create
wrote: its environments have the ids that prepare gives them. Or it is a pack of
pixi-pack, or its folder; a pack has no lock, so one is derived from its channel.

What is loaded into the cluster's store is readable by everyone there.`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.bundleLoad(cmd.Context(), args[0], f)
		},
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.platforms, "platform", nil, "these platforms of the bundle only (repeatable, or names with commas)")
	fl.StringVar(&f.project, "project", "", "write the lock, with the manifest and scripts that came with it, to this directory")
	fl.BoolVar(&a.json, "json", false, "print one JSON object on stdout, {\"error\": …} if it failed; on stderr errors only")
	return cmd
}

func (a *app) bundleLoad(ctx context.Context, file string, f loadFlags) (err error) {
	membound.Set()
	if st, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return api.Errorf(api.ExitUsage, "%s: there is no such bundle\nnext: give the file that hpcenv bundle create or pixi-pack wrote", file)
	} else if err == nil && !st.Mode().IsRegular() && !st.IsDir() {
		// It is read at many places, more than once.
		return api.Errorf(api.ExitUsage, "%s is neither a file nor a directory\nnext: write the bundle to a file first", file)
	}
	b, err := bundle.Open(file)
	if err != nil {
		return notBundle(err, file)
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	platforms, err := narrowed(b, file, f.platforms)
	if err != nil {
		return err
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	req := &api.PrepareRequest{Lock: b.Project.Lock, LockPath: path, Environments: b.Environments(), Platforms: platforms, Offline: true}
	if err := a.fitPythons(b, file); err != nil {
		return err
	}
	if f.project != "" {
		if req.LockPath, err = unpackProject(b, f.project); err != nil {
			return err
		}
		a.frozen = true // lock and manifest were compared when the bundle was made
		from, err := a.request(req.LockPath, req.Environments, false)
		if err != nil {
			return err
		}
		req.Activations = from.Activations
	}
	svc, err := a.writer(false)
	if err != nil {
		return err
	}
	shown := newProgress(a.stderr, header(req.Lock), showAll)
	report := func(e api.Event) {
		// Nothing is fetched; what is taken in is told of by telling.
		if e.Type == api.EventFetch || e.Type == api.EventFetched || e.Type == api.EventPlan && e.Environment == "" {
			return
		}
		shown.report(e)
	}
	held := telling(b, shown)
	if a.json {
		report, held = nil, b.Archive
	}
	result, err := prepareHeld(ctx, svc, req, held, report)
	shown.close()
	if err != nil {
		if ctx.Err() != nil {
			return api.Errorf(api.ExitFailed, "interrupted; what was taken in is kept\nnext: the same command goes on from there")
		}
		return aboutLock(err, file)
	}
	a.loadNotes(b, f.project)
	result.Notes = append(a.notes, result.Notes...)
	if a.json {
		return a.printJSON(result)
	}
	if f.project == "" {
		req.LockPath = a.keptLock(ctx, svc, result.LockDigest, req.LockPath)
	}
	return a.prepared(ctx, svc, req, result, false)
}

// notBundle is the error about a file that could not be opened as a bundle; a lock is
// told that it is one.
func notBundle(err error, file string) error {
	if data, rerr := readLockSized(file); rerr == nil && !bytes.Contains(data[:min(len(data), 512)], []byte{0}) { // no tar, nor anything else but text
		if format, derr := lockfile.Detect(data); derr == nil {
			return api.Errorf(api.ExitUsage, "%s is a lock (%s), not a bundle: it names packages and does not hold them\nnext: hpcenv prepare %s fetches them; where there is no network, hpcenv bundle create %s -o FILE elsewhere, then hpcenv bundle load FILE here",
				file, format, shellword.Quote(file), shellword.Quote(file))
		}
	}
	return aboutLock(aboutFile(err, file), file)
}

// readLockSized reads a file that is no larger than locks are.
func readLockSized(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxLock {
		return nil, fmt.Errorf("%s is no lock", file)
	}
	return os.ReadFile(file)
}

// maxLock bounds the bytes of what may be a lock.
const maxLock = 64 << 20

// telling gives the archives of a bundle, and says every few seconds how many it gave.
func telling(b *bundle.Bundle, shown progress) api.Held {
	n, last := 0, time.Now()
	return func(sha256 string) (io.ReadCloser, int64, error) {
		if time.Since(last) > 5*time.Second {
			last = time.Now()
			shown.report(api.Event{Type: api.EventNote, Text: fmt.Sprintf("taken in: %d archives", n)})
		}
		n++
		return b.Archive(sha256)
	}
}

// loadNotes says what the user may not expect.
func (a *app) loadNotes(b *bundle.Bundle, project string) {
	if len(b.Trees) > 0 {
		text := "used from its source tree, which no bundle has: " + strings.Join(treesText(b.Trees), ", ") + "; "
		if project == "" {
			text += "jobs need the lock in the project's directory"
			a.elsewhere = true
		} else {
			text += "bring it to " + project + ", from where these paths count"
		}
		a.notes = append(a.notes, text)
	}
	if !b.Derived {
		return
	}
	by := "pixi-pack"
	if b.PackVersion != "" {
		by += " " + b.PackVersion
	}
	a.notes = append(a.notes, fmt.Sprintf("a pack of %s has no lock; one was derived from its channel (sha256 %s), and its environment is called %s",
		by, short(b.Digest), bundle.DerivedEnvironment))
}

// narrowed are the platforms that are asked for.
func narrowed(b *bundle.Bundle, file string, only []string) ([]string, error) {
	has := b.Platforms()
	if len(only) == 0 {
		return has, nil
	}
	for _, p := range only {
		if !slices.Contains(has, p) {
			return nil, api.Errorf(api.ExitUsage, "%s has nothing for %q\nnext: --platform with one of %s", file, p, strings.Join(has, ", "))
		}
	}
	return only, nil
}

// prepareHeld is Prepare with archives that this process holds.
func prepareHeld(ctx context.Context, svc api.Service, req *api.PrepareRequest, held api.Held, report func(api.Event)) (*api.PrepareResult, error) {
	s, ok := svc.(interface {
		PrepareHeld(context.Context, *api.PrepareRequest, api.Held, func(api.Event)) (*api.PrepareResult, error)
	})
	if !ok {
		return nil, api.Errorf(api.ExitFailed, "archives cannot be handed to %T", svc)
	}
	return s.PrepareHeld(ctx, req, held, report)
}

// keptLock is the lock in the store, which a job or hpcenv run can name; other if
// the store's place is not known.
func (a *app) keptLock(ctx context.Context, svc api.Service, digest, other string) string {
	c, err := a.conf()
	if err != nil {
		return other
	}
	if c.Store == "" { // the daemon knows it; in a store of one's own Slurm would be asked
		if st, err := svc.Status(ctx); err == nil {
			c.Store = st.Store
		}
	}
	if c.Store == "" {
		return other
	}
	return filepath.Join(c.Store, "locks", digest, "pixi.lock")
}

// aboutFile puts a bundle's path before an error that does not name it.
func aboutFile(err error, file string) error {
	if strings.Contains(err.Error(), file) {
		return err
	}
	return fmt.Errorf("%s: %w", file, err)
}

// unpackProject writes the lock and what came with it to a directory, and returns
// the lock's path. A file that is there with other bytes is an error; nothing is
// written then.
func unpackProject(b *bundle.Bundle, dir string) (lock string, err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	files := maps.Clone(b.Project.Files)
	if files == nil {
		files = map[string][]byte{}
	}
	files[b.Project.LockName] = b.Project.Lock
	for _, name := range slices.Sorted(maps.Keys(files)) {
		have, err := root.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		if !bytes.Equal(have, files[name]) {
			return "", api.Errorf(api.ExitFailed, "%s is there and differs from the bundle's; nothing was written\nnext: name another directory with --project", filepath.Join(dir, name))
		}
		delete(files, name)
	}
	for name, data := range files {
		if parent := filepath.Dir(name); parent != "." {
			if err := root.MkdirAll(parent, 0o777); err != nil {
				return "", err
			}
		}
		if err := root.WriteFile(name, data, 0o666); err != nil {
			return "", err
		}
	}
	return filepath.Abs(filepath.Join(dir, b.Project.LockName))
}

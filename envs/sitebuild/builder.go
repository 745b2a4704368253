package sitebuild

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/linkscript"
	"github.com/hpcenv/hpcenv/envs/materialize"
)

// Builder sees to it that environments have what the site builds for them.
type Builder struct {
	// Declared in the site's configuration, checked.
	Declared []*Declaration
	// Runner runs the tasks as jobs of the build account.
	Runner linkscript.Runner
	// Fetcher gets the sources.
	Fetcher *cache.Fetcher
	// Delivery is how overlays are published ("" = as trees), and Images makes images;
	// nil = the host's mksquashfs.
	Delivery image.Delivery
	Images   *image.Tool
}

// Ensure builds what applies to a published environment and is not built, once for
// everybody: who comes meanwhile waits. report is told how it goes. A build that fails
// is no error, but a note, now and whenever the environment is prepared: it is tried
// again once its declaration has changed, or after Retry. Errors are the context's, and
// those of the store.
func (b *Builder) Ensure(ctx context.Context, store *cache.Store, meta *materialize.Meta, report func(string)) (notes []string, err error) {
	builds, err := b.applying(store, meta)
	if err != nil {
		return []string{"site builds: " + err.Error() + "; next: tell the administrator"}, nil
	}
	rec, err := b.read(store, meta)
	if err != nil {
		return nil, err
	}
	if len(builds) == 0 && len(rec.Builds) == 0 {
		return nil, nil
	}
	if _, private := store.Group(); private && len(builds) > 0 {
		return []string{fmt.Sprintf("site builds (%s) are not made for environments that only a group can read", builds[0].Name)}, nil
	}
	if todo, err := reconcile(store, rec, builds, meta.Platform); err != nil {
		return nil, err
	} else if !todo {
		return failures(store, rec, meta), nil
	}
	release, err := store.Lock(ctx, lockName(meta.ID, meta.Platform), func() {
		report(fmt.Sprintf("site builds for %s: another preparation is at them, this one waits", meta.Platform))
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	if rec, err = b.read(store, meta); err != nil {
		return nil, err
	}
	if _, err := reconcile(store, rec, builds, meta.Platform); err != nil {
		return nil, err
	}
	// Submissions see from now on that something is missing.
	if err := rec.Save(store, meta.ID, meta.Platform); err != nil {
		return nil, err
	}
	for i := range rec.Builds {
		if rec.Builds[i].State != Pending {
			continue
		}
		if rec.Builds[i], err = b.build(ctx, store, builds[i], report); err != nil {
			return nil, err
		}
		if err := rec.Save(store, meta.ID, meta.Platform); err != nil {
			return nil, err
		}
	}
	return failures(store, rec, meta), nil
}

// Announce notes which builds an environment that is about to be published will get, so
// that no submission takes it for complete before Ensure is through.
func (b *Builder) Announce(ctx context.Context, store *cache.Store, meta *materialize.Meta) (err error) {
	if _, private := store.Group(); private {
		return nil
	}
	builds, err := b.applying(store, meta)
	if errors.Is(err, ErrDeclaration) {
		return nil // Ensure tells it
	}
	if err != nil || len(builds) == 0 {
		return err
	}
	release, err := store.Lock(ctx, lockName(meta.ID, meta.Platform), nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	rec, err := b.read(store, meta)
	if err != nil {
		return err
	}
	if todo, err := reconcile(store, rec, builds, meta.Platform); err != nil || !todo {
		return err
	}
	return rec.Save(store, meta.ID, meta.Platform)
}

// Missing are notes about what Ensure would build, for who may start nothing.
func (b *Builder) Missing(store *cache.Store, meta *materialize.Meta) ([]string, error) {
	builds, err := b.applying(store, meta)
	if err != nil {
		return []string{"site builds: " + err.Error() + "; next: tell the administrator"}, nil
	}
	rec, err := b.read(store, meta)
	if err != nil {
		return nil, err
	}
	if _, err := reconcile(store, rec, builds, meta.Platform); err != nil {
		return nil, err
	}
	return failures(store, rec, meta), nil
}

// Retry makes failed builds of an environment ones that Ensure tries again: that of a
// name, or with "" all. It returns how many there were.
func (b *Builder) Retry(ctx context.Context, store *cache.Store, id, platform, name string) (n int, err error) {
	release, err := store.Lock(ctx, lockName(id, platform), nil)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, release()) }()
	rec, err := Read(store.Root(), id, platform)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", cache.ErrStore, err)
	}
	for i := range rec.Builds {
		if e := &rec.Builds[i]; (e.State == Failed || e.State == NotRun) && (name == "" || e.Name == name) {
			e.State, e.Problem = Pending, ""
			n++
		}
	}
	if n == 0 {
		return 0, nil
	}
	return n, rec.Save(store, id, platform)
}

func lockName(id, platform string) string { return "site-build-" + id + "-" + platform }

func (b *Builder) applying(store *cache.Store, meta *materialize.Meta) ([]*Build, error) {
	if store.Format().PrefixRoot == "" {
		return nil, nil // a user's own store: no build account, and no path that all nodes have
	}
	return Applying(b.Declared, store, meta)
}

func (b *Builder) read(store *cache.Store, meta *materialize.Meta) (*Record, error) {
	rec, err := Read(store.Root(), meta.ID, meta.Platform)
	if err != nil {
		return nil, fmt.Errorf("%w: what was built for environment %s: %w", cache.ErrStore, meta.ID, err)
	}
	return rec, nil
}

// reconcile makes the record's entries those of the builds, in their order, and tells
// whether it has to be written. What was built of the same declaration, or failed, stays.
func reconcile(store *cache.Store, rec *Record, builds []*Build, platform string) (todo bool, err error) {
	now := make([]Entry, 0, len(builds))
	for _, build := range builds {
		old := rec.Entry(build.Name)
		keep := old != nil && old.Declaration == build.Digest() && (old.State == Built || old.State == Failed)
		if keep && old.State == Built {
			if keep, err = Published(store, old.Overlay, platform); err != nil {
				return false, err
			}
		}
		if keep {
			now = append(now, *old)
			continue
		}
		now = append(now, build.Entry(Pending))
		todo = true
	}
	same := slices.EqualFunc(rec.Builds, now, func(a, b Entry) bool { return a.Name == b.Name && a.State == b.State && a.Declaration == b.Declaration })
	rec.Builds = now
	return todo || !same, nil
}

// failures are notes about what is not there.
func failures(store *cache.Store, rec *Record, meta *materialize.Meta) (notes []string) {
	for _, e := range rec.Builds {
		if e.State == Built {
			continue
		}
		text := Problem(e, store.Root(), meta.Platform)
		if e.State == Failed || e.State == NotRun {
			text += "; next: " + Next(e, meta.ID)
		}
		notes = append(notes, text)
	}
	return notes
}

// Problem is what to tell of a build that is not there, on a host where the store is at
// root.
func Problem(e Entry, root, platform string) string {
	text := fmt.Sprintf("site build %s for %s %s", e.Name, platform, map[string]string{Failed: "FAILED", NotRun: "was not run", Pending: "is not made"}[e.State])
	if e.Problem != "" {
		text += ": " + inShort(e)
	}
	if e.Log != "" {
		text += "; log: " + filepath.Join(root, e.Log)
	}
	return text + "; the environment can be used without it"
}

// maxShort is how long a problem may be where the log is named, too: every launch tells it.
const maxShort = 300

// inShort is a problem in one line; what a log holds in full is cut.
func inShort(e Entry) string {
	line := strings.Join(strings.FieldsFunc(e.Problem, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
	if runes := []rune(line); e.Log != "" && len(runes) > maxShort {
		return strings.TrimRight(string(runes[:maxShort]), " ;") + " …"
	}
	return line
}

// Next is what to do about a build of an environment that failed, or never came to run.
func Next(e Entry, id string) string {
	if e.State == NotRun {
		return "an administrator mends that; then hpcenv prepare tries it again"
	}
	return fmt.Sprintf("an administrator reads the log, mends what it tells of, and runs hpcenv admin builds --retry %.8s %s", id, e.Name)
}

// build makes one overlay. What goes wrong with it is in the Entry.
func (b *Builder) build(ctx context.Context, store *cache.Store, build *Build, report func(string)) (Entry, error) {
	say := func(format string, args ...any) {
		report(fmt.Sprintf("site build %s for %s: %s", build.Name, build.Platform, fmt.Sprintf(format, args...)))
	}
	e := build.Entry(Pending)
	scratch, err := store.TempDir("site-build")
	if err != nil {
		return e, err
	}
	log, err := b.attempt(ctx, store, build, scratch, &e, say)
	err = errors.Join(err, os.RemoveAll(scratch))
	if ctx.Err() != nil {
		return e, context.Cause(ctx)
	}
	switch {
	case err == nil:
	case errors.Is(err, linkscript.ErrCannotRun), errors.Is(err, cache.ErrFetch):
		e.State, e.Overlay, e.Problem = NotRun, "", err.Error()
	case errors.Is(err, ErrRefused):
		e.State, e.Overlay, e.Problem = Failed, "", err.Error()
	default:
		return e, err
	}
	if log != "" || e.Problem != "" {
		e.Log = LogPath(build.Name, build.Environment, build.Platform)
		if err := SaveLog(store, e.Log, strings.TrimSpace(build.about(e)+log+"\n"+e.Problem)); err != nil {
			return e, err
		}
	}
	if e.State == Built {
		say("built, %s; log: %s", filepath.Join(build.Root, e.Overlay), filepath.Join(store.Root(), e.Log))
	}
	return e, nil
}

// about is the head of a log.
func (b *Build) about(e Entry) string {
	return fmt.Sprintf("site build %s for %s of environment %s (%s %s)\nconduit %q, system %q, MPI %q, compiler %q\nprobe %q answered:\n%s\noverlay %s\n\n",
		b.Name, b.Platform, b.Environment, b.Wrapper.Name, b.Wrapper.Version, b.Conduit, b.System, b.MPI, b.Compiler, b.Probe, e.Identity, e.Overlay)
}

// attempt goes as far as it comes; log is what the job printed.
func (b *Builder) attempt(ctx context.Context, store *cache.Store, build *Build, scratch string, e *Entry, say func(string, ...any)) (log string, err error) {
	archives, err := build.Archives()
	if err != nil {
		return "", err
	}
	var sources []string
	for _, src := range archives {
		path, _, err := store.Fetch(ctx, b.Fetcher, src, nil)
		if err != nil {
			return "", err
		}
		sources = append(sources, path)
	}
	if len(build.Probe) > 0 {
		say("asking a node what it compiles with")
		o, err := build.Ask(ctx, b.Runner, scratch)
		if err != nil {
			return "", err
		}
		if o.Failed != "" {
			e.State, e.Problem = Failed, fmt.Sprintf("the probe %q failed: %s", build.Probe, o.Failed)
			return o.Output, nil
		}
		e.Identity = o.Output
	}
	id := build.OverlayID(e.Identity)
	there, err := Published(store, id, build.Platform)
	if err != nil {
		return "", err
	}
	if there {
		e.State, e.Overlay = Built, id
		return "it was built before, of the same\n", nil
	}
	say("building on a node of its kind")
	o, err := build.Run(ctx, b.Runner, scratch, e.Identity, sources)
	if err != nil {
		return "", err
	}
	if o.Failed != "" {
		e.State, e.Problem = Failed, o.Failed
		return o.Output, nil
	}
	e.State, e.Overlay = Built, id
	e.Log = LogPath(build.Name, build.Environment, build.Platform) // described with it
	return o.Output, b.publish(ctx, store, build, *e, o.Changes)
}

package wrapper

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/activation"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/envs/sitebuild"
	"github.com/hpcenv/hpcenv/hooks/prepared"
)

// resolved is an environment that is in the store.
type resolved struct {
	// store is where it lies: the store, or a group's part of it.
	store string
	// group is the only one that may read it; "" = everybody may.
	group    string
	meta     *materialize.Meta
	manifest *activation.Manifest
	digest   string
	// trees are the environment's local source trees.
	trees []lockfile.SourceTree
	// built is what the site built for it.
	built *sitebuild.Record
	// overlay is the directory of what the user's own projects add; "" = nothing.
	overlay string
}

// resolve finds the environment in the store, or has it prepared.
func (o Options) resolve(ctx context.Context) (*resolved, error) {
	r := &resolved{store: o.Store}
	if raw := o.Request.Activations[o.Environment]; len(raw) > 0 {
		r.manifest = new(activation.Manifest)
		if err := json.Unmarshal(raw, r.manifest); err != nil {
			return nil, fmt.Errorf("activation of environment %s of %s: %w", o.Environment, o.Request.LockPath, err)
		}
		sum := sha256.Sum256(raw)
		r.digest = hex.EncodeToString(sum[:])
	}
	if o.Store != "" {
		found, err := o.fromStore(r)
		if err != nil {
			return r, err
		}
		if found {
			return r, o.addOverlay(r)
		}
	}
	if err := o.checkTrees(); err != nil {
		return r, err
	}
	if err := o.prepare(ctx, r); err != nil {
		return r, err
	}
	return r, o.addOverlay(r)
}

// fromStore looks for a lock that is prepared already; everything missing or
// made by another linker just means that the service is asked.
func (o Options) fromStore(r *resolved) (bool, error) {
	whole := prepared.Store{Root: o.Store}
	found, err := o.fromPart(r, whole)
	if found || err != nil {
		return found, err
	}
	parts, err := whole.Parts()
	if err != nil {
		return false, storeError(o.Store, err)
	}
	for _, part := range parts {
		found, err := o.fromPart(r, part)
		if found || err != nil {
			return found, err
		}
	}
	return false, nil
}

// fromPart is fromStore for the store itself, or for one group's part of it.
func (o Options) fromPart(r *resolved, files prepared.Store) (bool, error) {
	sum := sha256.Sum256(o.Request.Lock)
	env, err := files.Environment(hex.EncodeToString(sum[:]), o.Environment)
	var unknown *prepared.UnknownEnvironmentError
	switch {
	case errors.As(err, &unknown):
		return false, nil // the service says so in full
	case errors.Is(err, fs.ErrPermission) && files.Group != "":
		return false, nil // the storage knows less of this user's groups
	case err != nil:
		return false, storeError(o.Store, err)
	case env == nil, o.LinkScripts != "" && env.Scripts != o.LinkScripts,
		o.Pythons != "" && env.Pythons != "" && env.Pythons != o.Pythons:
		return false, nil
	}
	r.meta, err = files.Published(env, o.Platform)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, storeError(o.Store, err)
	}
	built, err := files.SiteBuilds(env.ID, o.Platform)
	if err != nil {
		return false, storeError(o.Store, err)
	}
	if built.Pending() {
		return false, nil // the service waits for it
	}
	r.store, r.group, r.trees, r.built = files.Root, files.Group, env.Trees, built
	return true, nil
}

// prepare asks the service.
func (o Options) prepare(ctx context.Context, r *resolved) error {
	svc, err := o.Service(ctx)
	if err != nil {
		return fmt.Errorf("%s: environment %q is not prepared for %s; %w", o.Request.LockPath, o.Environment, o.Platform, err)
	}
	req := o.Request
	req.Environments, req.All, req.Platforms, req.DryRun = []string{o.Environment}, false, []string{o.Platform}, false
	report := o.Report
	if report == nil {
		report = func(api.Event) {}
	}
	res, err := svc.Prepare(ctx, &req, report)
	if err != nil {
		return err
	}
	for _, n := range res.Notes {
		fmt.Fprintln(o.Stderr, "hpcenv: note:", n)
	}
	id, group := "", ""
	for _, e := range res.Environments {
		if e.Platform == o.Platform && e.Name == o.Environment {
			id = e.ID
			if e.Group != nil {
				group = strconv.Itoa(*e.Group)
			}
		}
	}
	if id == "" {
		msg := fmt.Sprintf("%s: environment %q has nothing for this host's platform, %s", o.Request.LockPath, o.Environment, o.Platform)
		if len(res.Skipped) > 0 {
			msg += " (" + strings.Join(res.Skipped, "; ") + ")"
		}
		return api.Errorf(api.ExitNoFit, "%s\nnext: %s; or name another environment with -e", msg, lockfile.FormatOf("", o.Request.Lock).AddPlatform(o.Platform))
	}
	if r.store == "" {
		st, err := svc.Status(ctx)
		if err != nil {
			return err
		}
		r.store = st.Store
	}
	files := prepared.Store{Root: r.store, Patient: true}.Part(group)
	r.store, r.group = files.Root, files.Group
	if r.meta, err = files.Meta(id, o.Platform); err != nil {
		return storeError(r.store, err)
	}
	if r.built, err = files.SiteBuilds(id, o.Platform); err != nil {
		return storeError(r.store, err)
	}
	sum := sha256.Sum256(o.Request.Lock)
	env, err := files.Environment(hex.EncodeToString(sum[:]), o.Environment)
	if err != nil {
		return storeError(r.store, err)
	}
	if env != nil {
		r.trees = env.Trees
	}
	return nil
}

func storeError(store string, err error) error {
	return api.Errorf(api.ExitUnreachable, "store %s: %v\nnext: is it mounted on this host, and at this path? HPCENV_STORE or /etc/hpcenv/hpcenv.conf (store = PATH) names it", store, err)
}

// attached tells whether the prefix is there for programs of this host.
func attached(prefix string) (bool, error) {
	err := prepared.Store{}.Attached(prefix)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

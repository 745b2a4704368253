package wrapper

import (
	"errors"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/editable"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/project"
)

// addOverlay writes what the user's own projects add to the environment.
func (o Options) addOverlay(r *resolved) error {
	wish := editable.Wish{Lock: o.Request.LockPath, Trees: r.trees, Editable: o.Editable}
	prefixes := map[string]string{"": r.meta.Prefix}
	a, err := wish.Apply(r.meta.ID, prefixes, func(name string) string { return getenv(o.Env, name) })
	if err != nil || a == nil {
		return o.aboutTrees(err)
	}
	printNotes(o.Stderr, a.Notes)
	r.overlay = a.Dir
	return nil
}

// checkTrees refuses projects that cannot be used from their source trees before
// anything is prepared for them. What is wrong with the lock itself is for the
// preparation to say.
func (o Options) checkTrees() error {
	if python := project.OpenPython("", o.Request.Lock); python != nil {
		_, err := editable.Wish{Lock: o.Request.LockPath, Trees: python.Trees(o.Environment)}.Projects()
		return o.aboutTrees(err)
	}
	lock, err := lockfile.Parse(o.Request.Lock)
	if err != nil {
		return nil
	}
	env, err := lock.Environment(o.Environment)
	if err != nil {
		return nil
	}
	p, err := env.Platform(o.Platform)
	if err != nil {
		return nil
	}
	wish := editable.Wish{Lock: o.Request.LockPath, Trees: lockfile.SourceTrees(p), Editable: o.Editable}
	_, err = wish.Projects()
	return o.aboutTrees(err)
}

// aboutTrees gives an error about source trees its exit code.
func (o Options) aboutTrees(err error) error {
	if !errors.Is(err, editable.ErrRefused) {
		return err
	}
	return api.Errorf(api.ExitUsage, "%s: environment %s: %v", o.Request.LockPath, o.Environment, err)
}

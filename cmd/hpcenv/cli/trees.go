package cli

import (
	"errors"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/editable"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/project"
)

// checkTrees refuses what jobs could not use of the lock's local source trees, all
// of it at once. They are prepared only when a job or command is started, but a
// user who prepares wants to know now. What is wrong with the lock itself is for
// the preparation to say.
func (a *app) checkTrees(req *api.PrepareRequest) error {
	if python := project.OpenPython("", req.Lock); python != nil {
		for _, name := range req.Environments {
			wish := editable.Wish{Lock: req.LockPath, Trees: python.Trees(name)}
			if err := refusedTrees(wish, name); err != nil {
				return err
			}
		}
		return nil
	}
	lock, err := lockfile.Parse(req.Lock)
	if err != nil {
		return nil
	}
	names := req.Environments
	if len(names) == 0 {
		names = []string{"default"}
	}
	if req.All {
		names = nil
		for _, env := range lock.Environments {
			names = append(names, env.Name)
		}
	}
	for _, name := range names {
		env, err := lock.Environment(name)
		if err != nil {
			continue
		}
		wish := editable.Wish{Lock: req.LockPath, Trees: lockfile.SourceTrees(env.Platforms...), Editable: a.editable[name]}
		if err := refusedTrees(wish, name); err != nil {
			return err
		}
	}
	return nil
}

// refusedTrees is the error about source trees of an environment that cannot be used.
func refusedTrees(wish editable.Wish, environment string) error {
	_, err := wish.Projects()
	if errors.Is(err, editable.ErrRefused) {
		return api.Errorf(api.ExitUsage, "%s: environment %s: %v", wish.Lock, environment, err)
	}
	return err
}

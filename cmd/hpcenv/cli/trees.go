package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/editable"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/envs/pyenv"
	"github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/envs/satisfy"
)

// checkTrees refuses what jobs could not use of the lock's local source trees, all
// of it at once. They are prepared only when a job or command is started, but a
// user who prepares wants to know now. What is wrong with the lock itself is for
// the preparation to say.
func (a *app) checkTrees(req *api.PrepareRequest) error {
	var faults treeFaults
	if pylock := project.OpenPython("", req.Lock); pylock != nil {
		for _, name := range req.Environments {
			if err := faults.add(editable.Wish{Lock: req.LockPath, Trees: pylock.Trees(name)}, name); err != nil {
				return err
			}
		}
		if faults == nil {
			return nil
		}
		return faults.err(req.LockPath, a.lockFaults(pylock, req.Environments)...)
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
		if err := faults.add(wish, name); err != nil {
			return err
		}
	}
	return faults.err(req.LockPath)
}

// takenAsIs: the user takes locks as they are (--frozen, HPCENV_FROZEN).
func (a *app) takenAsIs() bool { return a.frozen || satisfy.Frozen(a.getenv("HPCENV_FROZEN")) }

// treesText names source trees with their places.
func treesText(trees []lockfile.SourceTree) []string {
	var out []string
	for _, t := range trees {
		out = append(out, fmt.Sprintf("%s (%s)", t.Name, lockfile.RedactURL(t.Location)))
	}
	return out
}

// treeFaults are refusals of source trees, each with the environments that have it.
type treeFaults []struct {
	environments []string
	refused      error
}

// add asks whether the source trees of an environment can be used. The error is that
// they could not be looked at.
func (f *treeFaults) add(wish editable.Wish, environment string) error {
	_, err := wish.Projects()
	if !errors.Is(err, editable.ErrRefused) {
		return err
	}
	for i := range *f {
		if fault := &(*f)[i]; fault.refused.Error() == err.Error() {
			fault.environments = append(fault.environments, environment)
			return nil
		}
	}
	*f = append(*f, struct {
		environments []string
		refused      error
	}{[]string{environment}, err})
	return nil
}

// err is one error for all of them, and for what else is wrong; nil if no tree is
// refused.
func (f treeFaults) err(lock string, others ...string) error {
	if f == nil {
		return nil
	}
	var lines []string
	for _, fault := range f {
		lines = append(lines, fmt.Sprintf("environment %s: %v", strings.Join(fault.environments, ", "), fault.refused))
	}
	return api.Errorf(api.ExitUsage, "%s: %s", lock, strings.Join(append(lines, others...), "\n"))
}

// lockFaults are what is wrong in the lock itself with the environments of a request:
// a user who is refused hears all of it.
func (a *app) lockFaults(lock *project.PythonLock, environments []string) (faults []string) {
	source, err := lock.Source()
	if err != nil {
		return nil // nothing of it could be read
	}
	offer, platforms, err := a.site()
	if err != nil {
		return nil // not known without asking, and so for the preparation to say
	}
	for _, name := range environments {
		wish, err := python.ParseWish(name)
		if err == nil {
			_, err = pyenv.Make(source, wish, platforms, offer)
		}
		if err != nil {
			faults = append(faults, fmt.Sprintf("environment %s: %v", name, err))
		}
	}
	return faults
}

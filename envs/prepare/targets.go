package prepare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// target is one environment for one platform.
type target struct {
	env      string
	subdir   string
	id       string
	platform *lockfile.Platform
	// compiler is the platform whose Python compiles the byte-code of this one;
	// nil = none, and noCompiler says why ("" = there is nothing to compile).
	compiler   *lockfile.Platform
	noCompiler string
	// scripts are the packages whose link scripts are run (materialize.Options).
	scripts []string
}

// wantedPlatforms returns the conda subdirs to prepare for, sorted: those
// asked for, or those of the cluster that the store makes environments for.
func wantedPlatforms(ctx context.Context, deps *Deps, req *Request) (platforms, notes []string, err error) {
	made := deps.Store.Format().Platforms
	if len(req.Platforms) > 0 {
		for _, p := range req.Platforms {
			if !slices.Contains(made, p) {
				return nil, nil, notMade(p, made)
			}
		}
		return slices.Compact(slices.Sorted(slices.Values(req.Platforms))), nil, nil
	}
	found, notes, err := deps.ClusterPlatforms(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("which platforms the cluster has: %w\nnext: name them, e.g. --platform linux-64", err)
	}
	for _, p := range found {
		if slices.Contains(made, p) {
			platforms = append(platforms, p)
		} else {
			notes = append(notes, fmt.Sprintf("the cluster has nodes of %s, for which this store makes no environments", p))
		}
	}
	if len(platforms) == 0 {
		return nil, nil, fmt.Errorf("%w: no node of the cluster tells its architecture\nnext: name platforms, e.g. --platform linux-64", ErrRequest)
	}
	return slices.Compact(slices.Sorted(slices.Values(platforms))), notes, nil
}

// wantedNames returns the environments to prepare, each once, in the order
// asked for; known are those of the lock.
func wantedNames(req *Request, known []string) []string {
	switch {
	case req.All:
		return known
	case len(req.Environments) == 0:
		return []string{"default"}
	}
	var names []string
	for _, n := range req.Environments {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

// choose returns the targets of a request and a line for each wanted platform
// that the lock lacks. All that cannot be installed is named in one error.
// lacking says why an environment does not have a platform, if that is known.
func choose(lock *lockfile.Lock, names, platforms []string, lacking func(name, subdir string) string) (targets []target, skipped []string, err error) {
	var faults []error
	for _, name := range names {
		env, err := lock.Environment(name)
		if err != nil {
			return nil, nil, err
		}
		for _, subdir := range platforms {
			p, err := env.Platform(subdir)
			var missing *lockfile.MissingPlatformError
			if errors.As(err, &missing) {
				skipped = append(skipped, skippedLine(name, subdir, lacking(name, subdir)))
				continue
			}
			if err == nil {
				err = p.Validate()
			}
			if err != nil {
				faults = append(faults, fmt.Errorf("environment %q: %w", name, err))
				continue
			}
			t := target{env: name, subdir: subdir, platform: p}
			t.compiler, t.noCompiler = chooseCompiler(env, p, hostSubdir())
			targets = append(targets, t)
		}
	}
	if len(faults) > 0 {
		return nil, nil, errors.Join(faults...)
	}
	if len(targets) == 0 {
		return nil, nil, noPlatform(lock.Format, names, platforms, func(name string) []string {
			env, err := lock.Environment(name)
			if err != nil {
				return nil
			}
			return env.Subdirs()
		}, lacking)
	}
	return targets, skipped, nil
}

// skippedLine says that an environment does not have a platform; why may be "".
func skippedLine(env, subdir, why string) string {
	if why != "" {
		return fmt.Sprintf("environment %q: not for %s, whose nodes cannot run it: %s", env, subdir, why)
	}
	return fmt.Sprintf("environment %q: the lock has no packages for %s; nodes of that platform cannot run it", env, subdir)
}

// noPlatform is the error for a request of which nothing is in the lock.
func noPlatform(format lockfile.Format, names, platforms []string, subdirs func(name string) []string, lacking func(name, subdir string) string) error {
	var has, whys []string
	for _, n := range names {
		for _, p := range platforms {
			if why := lacking(n, p); why != "" {
				whys = append(whys, why)
			}
		}
		in := strings.Join(subdirs(n), ", ")
		if in == "" {
			in = "no Linux platform"
		}
		has = append(has, fmt.Sprintf("%q has %s", n, in))
	}
	if len(whys) > 0 {
		return fmt.Errorf("%w: wanted %s, but %s: %s\nnext: change the lock so that it can be had there, have a Python for that platform offered, or name another platform",
			ErrNoPlatform, strings.Join(platforms, ", "), strings.Join(has, "; "), strings.Join(whys, "; "))
	}
	return fmt.Errorf("%w: wanted %s, but %s\nnext: %s",
		ErrNoPlatform, strings.Join(platforms, ", "), strings.Join(has, "; "), format.AddPlatform(platforms[0]))
}

package bundle

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/prepare"
)

// Project is a lock with the files that belong to it.
type Project struct {
	// LockName is the lock's file name, Lock its bytes.
	LockName string
	Lock     []byte
	// Dir is the lock's absolute directory, to which paths in it are relative; only
	// to write a bundle.
	Dir string
	// Files beside the lock, by path relative to it: the manifest, its scripts.
	Files map[string][]byte
}

// Plan is what a bundle holds.
type Plan struct {
	// Contents in the order asked for. The first is what pixi-unpack and conda see.
	Contents []Content
	// Skipped: one line per environment and platform that was asked for and is not
	// in the lock.
	Skipped []string
	// Trees are the local source trees, each once: a bundle does not hold them. They
	// are the user's own, and must lie beside the lock where it is used.
	Trees []lockfile.SourceTree

	// Foreign: pixi-unpack, conda and mamba can make the first content, too. They
	// cannot where its Python is no conda package.
	Foreign bool

	project Project
	pythons *Pythons // of a lock that names no Python, what was taken
	digest  string
	// first are the packages of the first content.
	first *lockfile.Platform
	// members by path, sorted.
	members []member
}

// member is an archive in a bundle.
type member struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	source cache.Source
}

// NewPlan says what a bundle of environments (none = default; all = every one) for
// platforms (conda subdirs; none = all for Linux that the lock has) holds. pythons are
// for locks that name no Python; others do not look at it. What cannot be installed is
// an error, as in prepare; so is a lock that has nothing of what was asked for.
func NewPlan(project Project, pythons *Pythons, environments []string, all bool, platforms []string) (*Plan, error) {
	if err := passable(project.Lock); err != nil {
		return nil, fmt.Errorf("%w: %w", lockfile.ErrLock, err)
	}
	lock, err := parse(project.Lock, pythons, environments, all)
	if err != nil {
		return nil, err
	}
	lock.lock.Resolve(project.Dir)
	if !safeName(project.LockName) {
		project.LockName = "pixi.lock"
	}
	p := &Plan{project: project, digest: lock.lock.Digest, pythons: lock.pythons}
	targets, err := p.choose(lock, platforms)
	if err != nil {
		return nil, err
	}
	var chosen []*lockfile.Platform
	for _, t := range targets {
		chosen = append(chosen, t.platform)
	}
	p.Trees = lockfile.SourceTrees(chosen...)
	return p, p.fill(targets)
}

// passable refuses a file of a project that tells a secret.
func passable(data []byte) error {
	line := prepare.CredentialInLock(data)
	if line == 0 {
		return nil
	}
	return fmt.Errorf("line %d: a URL holds a credential, and a bundle is passed on\nnext: take it out of the channel's URL in the manifest, keep it with `pixi auth login` or in ~/.netrc, and run %s", line, lockfile.FormatOf("", data).Relock())
}

// fill finds the members.
func (p *Plan) fill(targets []target) error {
	p.first = targets[0].platform
	p.Foreign = p.first.Python == nil
	have, paths := map[string]bool{}, map[string]string{}
	// In the channel each name is there once; elsewhere each content.
	add := func(at string, src cache.Source) error {
		if at == "" {
			if have[src.SHA256] {
				return nil
			}
			at = path.Join(archivesDir, src.SHA256+"."+string(src.Format))
		}
		if sha, taken := paths[at]; taken {
			if sha == src.SHA256 {
				return nil
			}
			return fmt.Errorf("%w: two packages of environment %s would be %s, and one channel cannot have both", lockfile.ErrLock, p.Contents[0], at)
		}
		have[src.SHA256], paths[at] = true, src.SHA256
		p.members = append(p.members, member{Path: at, SHA256: src.SHA256, source: src})
		return nil
	}
	for i, t := range targets {
		for _, a := range archivesOf(t.platform) {
			if a.err != nil {
				return fmt.Errorf("environment %s: %w", p.Contents[i], a.err)
			}
			at := a.path
			if i > 0 {
				at = ""
			}
			if err := add(at, a.source); err != nil {
				return err
			}
		}
	}
	for _, t := range targets {
		sources, err := prepare.CompilerSources(t.environment, t.platform)
		if err != nil {
			return err
		}
		for _, src := range sources {
			if err := add("", src); err != nil {
				return err
			}
		}
	}
	slices.SortFunc(p.members, func(a, b member) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

type target struct {
	environment *lockfile.Environment
	platform    *lockfile.Platform
}

// choose fills in Contents and Skipped.
func (p *Plan) choose(lock *parsed, platforms []string) (targets []target, err error) {
	var faults []error
	var absent error
	for _, name := range lock.names {
		env, err := lock.lock.Environment(name)
		if err != nil {
			return nil, err
		}
		wanted := unique(platforms)
		if len(wanted) == 0 {
			wanted = env.Subdirs()
		}
		if len(wanted) == 0 {
			absent = &lockfile.MissingPlatformError{Environment: name, Subdir: "Linux", Skipped: env.Skipped}
		}
		for _, subdir := range wanted {
			pl, err := env.Platform(subdir)
			var missing *lockfile.MissingPlatformError
			if errors.As(err, &missing) {
				absent = err
				why := lock.lacking(name, subdir)
				if why == "" {
					why = "the lock has no packages for " + subdir
				} else {
					why = "not for " + subdir + ": " + why
					absent = fmt.Errorf("%w: %s", err, why)
				}
				p.Skipped = append(p.Skipped, fmt.Sprintf("environment %q: %s", name, why))
				continue
			}
			if err == nil {
				err = pl.Validate()
			}
			if err != nil {
				faults = append(faults, fmt.Errorf("environment %q: %w", name, err))
				continue
			}
			p.Contents = append(p.Contents, Content{Environment: name, Platform: subdir})
			targets = append(targets, target{env, pl})
		}
	}
	switch {
	case len(faults) > 0:
		return nil, errors.Join(faults...)
	case len(targets) == 0:
		return nil, absent
	}
	return targets, nil
}

func unique(names []string) (out []string) {
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// locked is an archive that a platform needs, with its place in pixi-pack's layout.
type locked struct {
	path   string
	source cache.Source
	err    error
}

// A Python of its own has none: it lies where further archives do.
func archivesOf(p *lockfile.Platform) []locked {
	var out []locked
	if p.Python != nil {
		src, err := prepare.StandaloneSource(p.Python)
		out = append(out, locked{"", src, err})
	}
	for _, c := range p.Conda {
		src, err := prepare.Source(c)
		out = append(out, locked{path.Join(channelDir, c.Subdir, c.FileName), src, err})
	}
	for _, w := range p.Installed() {
		src, err := wheelSource(w)
		out = append(out, locked{path.Join(pypiDir, w.FileName), src, err})
	}
	return out
}

func wheelSource(w *lockfile.PyPIPackage) (cache.Source, error) {
	if w.Kind == lockfile.PyPIWheel && !safeName(w.FileName) {
		return cache.Source{}, fmt.Errorf("%w: the wheel of %s (line %d) cannot be called %q", lockfile.ErrLock, w.Name, w.Line, w.FileName)
	}
	return prepare.WheelSource(w)
}

// Sources are the archives that a bundle holds, each once.
func (p *Plan) Sources() []cache.Source {
	out := make([]cache.Source, 0, len(p.members))
	for _, m := range p.members {
		out = append(out, m.source)
	}
	return out
}

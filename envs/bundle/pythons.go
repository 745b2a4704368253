package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	manifests "github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/envs/pyenv"
	"github.com/hpcenv/hpcenv/envs/python"
)

// Pythons completes a lock that names no Python (uv.lock, pylock.toml): its
// environments are called by the texts of wishes.
type Pythons struct {
	// Offer is what a site lists.
	Offer *pyenv.Offer
	// Platforms that environments are made for: all of them decide which Python one
	// gets.
	Platforms []string
}

// parsed is a lock with the environments that are asked for.
type parsed struct {
	lock  *lockfile.Lock
	names []string
	// made of each name; nil for a lock that names its environments.
	made map[string]*pyenv.Made
	// pythons are what of the Pythons was taken.
	pythons *Pythons
}

// parse reads a lock; names none = default, all = every one.
func parse(data []byte, pythons *Pythons, names []string, all bool) (*parsed, error) {
	open := manifests.OpenPython("", data)
	if open == nil {
		lock, err := lockfile.Parse(data)
		if err != nil {
			return nil, err
		}
		return &parsed{lock: lock, names: environmentNames(lock, names, all)}, nil
	}
	names, err := open.Names(names, all)
	if err != nil {
		return nil, err
	}
	source, err := open.Source()
	if err != nil {
		return nil, err
	}
	if pythons == nil {
		pythons = &Pythons{}
	}
	lock, made, err := pyenv.MakeAll(source, names, pythons.Platforms, pythons.Offer)
	if err != nil {
		return nil, err
	}
	return &parsed{lock: lock, names: names, made: made, pythons: taken(pythons, made)}, nil
}

// environmentNames are the environments that are asked for, each once.
func environmentNames(lock *lockfile.Lock, names []string, all bool) []string {
	switch {
	case all:
		names = nil
		for _, e := range lock.Environments {
			names = append(names, e.Name)
		}
	case len(names) == 0:
		names = []string{DerivedEnvironment}
	}
	return unique(names)
}

// lacking says why an environment does not have a platform; "" = that is all.
func (p *parsed) lacking(name, subdir string) string {
	if m := p.made[name]; m != nil {
		return m.Lacking[subdir]
	}
	return ""
}

// taken is what of the Pythons was taken, in their order: with it alone, the same is
// made.
func taken(p *Pythons, made map[string]*pyenv.Made) *Pythons {
	used := map[string]bool{}
	for _, m := range made {
		for _, i := range m.Offer.Interpreters {
			used[i.Identity()] = true
		}
	}
	offer := &pyenv.Offer{Glibc: cmp.Or(p.Offer.Glibc, pyenv.DefaultGlibc)}
	for _, i := range p.Offer.Interpreters {
		if used[i.Identity()] {
			offer.Interpreters = append(offer.Interpreters, i)
			used[i.Identity()] = false
		}
	}
	return &Pythons{Offer: offer, Platforms: slices.Sorted(slices.Values(p.Platforms))}
}

// listHead tells people what the list of a bundle is.
const listHead = "# The Pythons of this bundle's environments, as `interpreters:` of a site lists them.\n"

// list is the offer as a file.
func (p *Pythons) list() ([]byte, error) {
	data, err := p.Offer.File()
	if err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	return append([]byte(listHead), data...), nil
}

// PythonError says that a site gives an environment another Python than it was
// bundled with, or none, or other wheels. It wraps python.ErrInterpreter.
type PythonError struct {
	Content Content
	// Bundled is the Python that the bundle has; Given what the site gives, nil = none,
	// and Why says why.
	Bundled python.Interpreter
	Given   *python.Interpreter
	Why     error
	// Glibc that wheels may ask for in the bundle and here, where that makes the
	// difference.
	Glibc [2]string
}

func (e *PythonError) Error() string {
	text := fmt.Sprintf("environment %s was bundled with Python %s (sha256 %.8s)", e.Content, e.Bundled.String(), e.Bundled.SHA256)
	if e.Glibc[0] != e.Glibc[1] {
		return fmt.Sprintf("environment %s was bundled with wheels for glibc %s, and here wheels for glibc %s are taken", e.Content, e.Glibc[0], e.Glibc[1])
	}
	if e.Given == nil {
		return text + ", and here it gets none: " + strings.Join(strings.Fields(firstOf(e.Why)), " ")
	}
	return fmt.Sprintf("%s, and here it gets %s (sha256 %.8s)", text, e.Given.String(), e.Given.SHA256)
}

func (e *PythonError) Unwrap() error { return python.ErrInterpreter }

// firstOf is an error without its example and next steps.
func firstOf(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	text, _, _ = strings.Cut(text, "; next: ")
	return text
}

// Fits says whether a site that has these Pythons makes of the bundle's environments
// what the bundle has packages for; the error is a *PythonError. Locks that name their
// own Python fit everywhere.
func (b *Bundle) Fits(site *Pythons) error {
	open := manifests.OpenPython("", b.Project.Lock)
	if b.Pythons == nil || open == nil {
		return nil
	}
	source, err := open.Source()
	if err != nil {
		return err
	}
	for _, c := range b.Contents {
		names := []string{c.Environment}
		_, ours, err := pyenv.MakeAll(source, names, b.Pythons.Platforms, b.Pythons.Offer)
		if err != nil {
			return err
		}
		bundled := interpreterOf(ours[c.Environment], c.Platform)
		if bundled == nil {
			return fmt.Errorf("%w: it has no Python for environment %s", ErrBundle, c)
		}
		_, made, err := pyenv.MakeAll(source, names, site.Platforms, site.Offer)
		if err != nil && !errors.Is(err, python.ErrInterpreter) {
			return err
		}
		if err != nil {
			return &PythonError{Content: c, Bundled: *bundled, Why: err}
		}
		given := interpreterOf(made[c.Environment], c.Platform)
		if given == nil {
			why := made[c.Environment].Lacking[c.Platform]
			if why == "" {
				why = "no environments are made for " + c.Platform
			}
			return &PythonError{Content: c, Bundled: *bundled, Why: errors.New(why)}
		}
		if given.Identity() != bundled.Identity() {
			return &PythonError{Content: c, Bundled: *bundled, Given: given}
		}
		if !slices.Equal(wheelsOf(ours[c.Environment], c.Platform), wheelsOf(made[c.Environment], c.Platform)) {
			return &PythonError{Content: c, Bundled: *bundled, Given: given, Glibc: [2]string{b.Pythons.Offer.Glibc, cmp.Or(site.Offer.Glibc, pyenv.DefaultGlibc)}}
		}
	}
	return nil
}

// wheelsOf are the digests of what an environment installs on its Python, in the lock's
// order.
func wheelsOf(m *pyenv.Made, subdir string) (out []string) {
	p, err := m.Lock.Environments[0].Platform(subdir)
	if err != nil {
		return nil // interpreterOf found it
	}
	for _, w := range p.Installed() {
		out = append(out, w.SHA256)
	}
	return out
}

// interpreterOf is the Python that an environment got for a platform; nil = none.
func interpreterOf(m *pyenv.Made, subdir string) *python.Interpreter {
	for i := range m.Offer.Interpreters {
		if x := &m.Offer.Interpreters[i]; x.Platform == subdir {
			if _, err := m.Lock.Environments[0].Platform(subdir); err == nil {
				return x
			}
		}
	}
	return nil
}

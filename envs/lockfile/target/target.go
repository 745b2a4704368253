// Package target makes one lock out of a lock that lists files for many targets
// and names no Python (uv.lock, pylock.toml).
//
// Enters: such a lock, read (Source), and what is wanted of it: selection,
// platforms, glibc, the interpreters of the site, .python-version. Leaves: a
// lockfile.Lock with one environment, called by the selection's text, and the
// interpreter of each platform. Nothing here does I/O.
package target

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/lockfile/pylock"
	"github.com/hpcenv/hpcenv/envs/lockfile/uvlock"
	"github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/envs/python/tag"
	"github.com/hpcenv/hpcenv/envs/python/version"
)

// Parse reads a uv.lock or pylock.toml, whichever the content is. pyproject is the
// pyproject.toml of the member that will be asked for (or else the one beside the
// lock), nil if there is none; a pylock.toml does not need it. The error wraps
// lockfile.ErrLock.
func Parse(data, pyproject []byte) (Source, error) {
	format, err := lockfile.Detect(data)
	if err != nil {
		return nil, err
	}
	switch format {
	case lockfile.FormatUV:
		lock, err := uvlock.Parse(data)
		if err != nil {
			return nil, err
		}
		options, err := uvlock.Defaults(pyproject)
		if err != nil {
			return nil, fmt.Errorf("%w: pyproject.toml: %w", lockfile.ErrLock, err)
		}
		return &uv{file{format, uvlock.Version, data}, lock, options}, nil
	case lockfile.FormatPylock:
		lock, err := pylock.Parse(data)
		if err != nil {
			return nil, err
		}
		return &pep751{file{format, 1, data}, lock}, nil
	}
	return nil, fmt.Errorf("%w: a %s names its own targets", lockfile.ErrLock, format)
}

// Source is a lock that lists files for many targets.
type Source interface {
	// Requires is the lock's requires-python; empty = any.
	Requires() version.Set
	// Choose returns the packages of a selection for a target; the errors are
	// those of the lock's own Select.
	Choose(*python.Target, python.Selection) ([]*lockfile.PyPIPackage, error)

	// Extras that can be asked for, sorted: of the project beside the lock, or else
	// of all members.
	Extras() []string
	// Member is the directory of a member of the workspace, relative to the lock;
	// false if the lock has no such member.
	Member(name string) (dir string, ok bool)
	// MemberAt is the member in a directory relative to the lock; "" = none.
	MemberAt(dir string) (name string)

	lock(*lockfile.Environment) *lockfile.Lock
}

// file is what a lock is known by.
type file struct {
	format  lockfile.Format
	version int
	data    []byte
}

func (f file) lock(env *lockfile.Environment) *lockfile.Lock {
	sum := sha256.Sum256(f.data)
	return &lockfile.Lock{Format: f.format, Version: f.version, Digest: hex.EncodeToString(sum[:]), Environments: []*lockfile.Environment{env}}
}

type uv struct {
	file
	contents *uvlock.Lock
	options  uvlock.Options
}

type pep751 struct {
	file
	contents *pylock.Lock
}

func (s *uv) Extras() []string { return s.contents.Extras() }

func (s *uv) Member(name string) (string, bool) { return s.contents.Member(name) }

func (s *uv) MemberAt(dir string) string { return s.contents.MemberAt(dir) }

func (s *pep751) Extras() []string { return slices.Sorted(slices.Values(s.contents.Extras)) }

// Member and MemberAt: a pylock.toml has none.
func (s *pep751) Member(string) (string, bool) { return "", false }
func (s *pep751) MemberAt(string) string       { return "" }

func (s *uv) Requires() version.Set { return s.contents.RequiresPython }

func (s *uv) Choose(t *python.Target, selection python.Selection) ([]*lockfile.PyPIPackage, error) {
	return s.contents.Select(t, selection, s.options)
}

func (s *pep751) Requires() version.Set { return s.contents.RequiresPython }

func (s *pep751) Choose(t *python.Target, selection python.Selection) ([]*lockfile.PyPIPackage, error) {
	return s.contents.Select(t, selection)
}

// Want is what is wanted of a lock.
type Want struct {
	Selection python.Selection
	// Platforms as conda subdirs; one Python version is taken for all of them.
	Platforms []string
	// Glibc that packages may ask for.
	Glibc tag.Glibc
	// Interpreters of the site.
	Interpreters []python.Interpreter
	// Python that the project asks for (.python-version); the zero value asks
	// nothing.
	Python python.Request
}

// Made is a lock for some targets.
type Made struct {
	// Lock has one environment.
	Lock *lockfile.Lock
	// Interpreters by platform, in the order of the environment's platforms.
	Interpreters []python.Interpreter
}

// Make chooses interpreters and packages. The error wraps python.ErrInterpreter,
// python.ErrSelection or lockfile.ErrLock; what is missing on several platforms
// is told of all of them.
func Make(source Source, want Want) (*Made, error) {
	selection, err := want.Selection.Canonical()
	if err != nil {
		return nil, err
	}
	platforms := slices.Compact(slices.Sorted(slices.Values(want.Platforms)))
	interpreters, err := python.Choose(want.Interpreters, platforms, want.Python, source.Requires())
	if err != nil {
		return nil, err
	}
	env := &lockfile.Environment{Name: selection.String()}
	var trouble []error
	for _, i := range interpreters {
		t, err := python.NewTarget(i.Platform, i.Version, i.FreeThreaded, want.Glibc)
		if err != nil {
			return nil, err
		}
		packages, err := source.Choose(t, selection)
		if err != nil {
			trouble = append(trouble, err)
			continue
		}
		env.Platforms = append(env.Platforms, &lockfile.Platform{Name: i.Platform, Subdir: i.Platform, PyPI: packages})
	}
	if len(trouble) > 0 && errors.Is(trouble[0], python.ErrSelection) {
		return nil, trouble[0] // the same on every platform
	}
	if err := errors.Join(trouble...); err != nil {
		return nil, err
	}
	return &Made{Lock: source.lock(env), Interpreters: interpreters}, nil
}

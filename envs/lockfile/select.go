package lockfile

import (
	"fmt"
	"slices"
	"strings"
)

// UnknownEnvironmentError says that a lock has no environment of a name. It
// wraps ErrLock.
type UnknownEnvironmentError struct {
	Name string
	// Known are the names there are, sorted.
	Known []string
}

func (e *UnknownEnvironmentError) Error() string {
	known := "it has no environments at all"
	if len(e.Known) > 0 {
		known = "it has " + strings.Join(e.Known, ", ")
	}
	return fmt.Sprintf("the lock has no environment %q; %s", e.Name, known)
}

func (e *UnknownEnvironmentError) Unwrap() error { return ErrLock }

// Environment returns the environment of a name; the error is an
// *UnknownEnvironmentError.
func (l *Lock) Environment(name string) (*Environment, error) {
	known := make([]string, 0, len(l.Environments))
	for _, env := range l.Environments {
		if env.Name == name {
			return env, nil
		}
		known = append(known, env.Name)
	}
	return nil, &UnknownEnvironmentError{Name: name, Known: known}
}

// MissingPlatformError says that an environment of a lock has no packages for
// a conda subdir. It wraps ErrLock.
type MissingPlatformError struct {
	Environment, Subdir string
	// Known are the subdirs that it has packages for, sorted; Skipped are the
	// lock's names of those that are not Linux.
	Known, Skipped []string
}

func (e *MissingPlatformError) Error() string {
	known := "it has packages for no Linux platform"
	if len(e.Known) > 0 {
		known = "it has them for " + strings.Join(e.Known, ", ")
	}
	if len(e.Skipped) > 0 {
		known += " (and, not for Linux, " + strings.Join(e.Skipped, ", ") + ")"
	}
	return fmt.Sprintf("environment %q of the lock has no packages for %s; %s; next: lock it for that platform, too (pixi: add it to `platforms` of the manifest, then `pixi lock`; conda-lock: `-p`)",
		e.Environment, e.Subdir, known)
}

func (e *MissingPlatformError) Unwrap() error { return ErrLock }

// Subdirs are the conda subdirs that the environment has packages for, sorted,
// each once.
func (e *Environment) Subdirs() []string {
	var out []string
	for _, p := range e.Platforms {
		out = append(out, p.Subdir)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Platform returns the platform for a conda subdir; the error is a
// *MissingPlatformError. A lock of version 7 may have several platforms of one
// subdir: the one that is called like the subdir is taken (it asks the least
// of a node), else the first by name.
func (e *Environment) Platform(subdir string) (*Platform, error) {
	var found *Platform
	for _, p := range e.Platforms { // sorted by name
		if p.Subdir == subdir && (found == nil || p.Name == subdir) {
			found = p
		}
	}
	if found == nil {
		return nil, &MissingPlatformError{Environment: e.Name, Subdir: subdir, Known: e.Subdirs(), Skipped: e.Skipped}
	}
	return found, nil
}

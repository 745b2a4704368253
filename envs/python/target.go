package python

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/hpcenv/hpcenv/envs/python/marker"
	"github.com/hpcenv/hpcenv/envs/python/tag"
	"github.com/hpcenv/hpcenv/envs/python/version"
)

// ErrTarget is the class of errors about a target that packages cannot be chosen
// for.
var ErrTarget = errors.New("no target for Python packages")

// Target is what packages are chosen for.
type Target struct {
	// Subdir is the conda name of the platform: linux-64, linux-aarch64, ….
	Subdir string
	// Version of CPython, complete: "3.12.4".
	Version version.Version
	// FreeThreaded: built without the global interpreter lock.
	FreeThreaded bool
	// Glibc that the packages may ask for: what the environment or the nodes
	// have, never what the building host has.
	Glibc tag.Glibc

	minor   int
	machine string
}

// machines by conda's name of the platform.
var machines = map[string]string{
	"linux-64": "x86_64", "linux-aarch64": "aarch64", "linux-ppc64le": "ppc64le",
	"linux-s390x": "s390x", "linux-riscv64": "riscv64", "linux-armv7l": "armv7l", "linux-32": "i686",
}

// Machine is what platform tags of wheels call the machine of a conda subdir; "" of
// one that is not Linux.
func Machine(subdir string) string { return machines[subdir] }

// NewTarget checks and completes a target. The error wraps ErrTarget.
func NewTarget(subdir, pythonVersion string, freeThreaded bool, glibc tag.Glibc) (*Target, error) {
	machine, ok := machines[subdir]
	if !ok {
		return nil, fmt.Errorf("%w: platform %q: only Linux has Python environments here (linux-64, linux-aarch64, …)", ErrTarget, subdir)
	}
	v, err := version.Parse(pythonVersion)
	if err != nil {
		return nil, fmt.Errorf("%w: Python %q: %w", ErrTarget, pythonVersion, err)
	}
	parts := v.Release(0)
	minor := 0
	if len(parts) == 3 {
		minor, err = strconv.Atoi(parts[1])
	}
	if len(parts) != 3 || parts[0] != "3" || err != nil || v.IsPostrelease() {
		return nil, fmt.Errorf("%w: Python %q: expected a whole version of Python 3, like 3.12.4", ErrTarget, pythonVersion)
	}
	if freeThreaded && minor < 13 {
		return nil, fmt.Errorf("%w: Python %s: builds without the global interpreter lock began with 3.13", ErrTarget, v)
	}
	return &Target{Subdir: subdir, Version: v, FreeThreaded: freeThreaded, Glibc: glibc, minor: minor, machine: machine}, nil
}

// String names the target in messages: "Python 3.12.4 on linux-64 with glibc
// 2.28".
func (t *Target) String() string {
	free := ""
	if t.FreeThreaded {
		free = " (free-threaded)"
	}
	return fmt.Sprintf("Python %s%s on %s with glibc %s", t.Version, free, t.Subdir, t.Glibc)
}

// Environment returns what markers are evaluated with, without extras and
// groups.
func (t *Target) Environment() *marker.Environment {
	full := t.Version.Public()
	return &marker.Environment{
		ImplementationName: "cpython", ImplementationVersion: full,
		OSName: "posix", SysPlatform: "linux", PlatformSystem: "Linux",
		PlatformMachine: t.machine, PlatformPythonImplementation: "CPython",
		PythonFullVersion: full, PythonVersion: strings.Join(t.Version.Release(2)[:2], "."),
	}
}

// Tags returns the wheel tags that the target takes.
func (t *Target) Tags() *tag.Set {
	return tag.Supported(tag.CPython{Minor: t.minor, FreeThreaded: t.FreeThreaded}, tag.LinuxPlatforms(t.machine, t.Glibc))
}

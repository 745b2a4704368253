package requirement

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/envs/python/tag"
)

// older are platform tags of before tags named glibc (PEP 600).
var older = map[string]string{"manylinux1": "manylinux_2_5", "manylinux2010": "manylinux_2_12", "manylinux2014": "manylinux_2_17"}

// ofWheel are the specs that the platform tags of a wheel stand for on a
// platform: the oldest glibc that one of them takes. If none is for the platform's
// machine, or none for a Linux with glibc, it is what the first one is for, which
// no node of the platform has. A name that is no wheel's asks nothing: whoever
// installs it refuses it.
func ofWheel(file, subdir string) []string {
	w, err := tag.ParseWheelName(file)
	if err != nil {
		return nil
	}
	machine := python.Machine(subdir)
	var glibc [2]int // the oldest so far
	found, other := false, ""
	for _, platform := range w.Platforms {
		system, on := splitPlatform(platform)
		v, isGlibc := glibcOf(system)
		switch {
		case platform == "any" || system == "linux" && on == machine:
			return nil
		case isGlibc && on == machine:
			if !found || slices.Compare(v[:], glibc[:]) < 0 {
				found, glibc = true, v
			}
		default:
			other = cmp.Or(other, foreign(system, on, isGlibc))
		}
	}
	switch {
	case found:
		return []string{"__glibc >=" + strconv.Itoa(glibc[0]) + "." + strconv.Itoa(glibc[1])}
	case other != "":
		return []string{other}
	}
	return nil
}

// splitPlatform takes a platform tag apart: manylinux_2_17 and x86_64.
func splitPlatform(platform string) (system, machine string) {
	if s, ok := strings.CutSuffix(platform, "_x86_64"); ok {
		return s, "x86_64" // the one machine with a _ in its name
	}
	i := strings.LastIndexByte(platform, '_')
	if i < 0 {
		return platform, ""
	}
	return platform[:i], platform[i+1:]
}

// glibcOf is the version of glibc that a manylinux tag asks.
func glibcOf(system string) (v [2]int, ok bool) {
	if s, old := older[system]; old {
		system = s
	}
	parts := strings.Split(system, "_")
	if len(parts) != 3 || parts[0] != "manylinux" {
		return v, false
	}
	for i := range v {
		n, err := strconv.Atoi(parts[i+1])
		if err != nil || n < 0 {
			return v, false
		}
		v[i] = n
	}
	return v, true
}

// foreign is what a tag asks that is not for the platform.
func foreign(system, machine string, isGlibc bool) string {
	switch {
	case strings.HasPrefix(system, "musllinux"):
		return "__musl"
	case strings.HasPrefix(system, "macosx"):
		return "__osx"
	case strings.HasPrefix(system, "win"):
		return "__win"
	case isGlibc || system == "linux":
		return archspec + " 1 " + cmp.Or(machine, "unknown")
	}
	return "__" + system // a system that no node here is
}

package loader

import (
	"fmt"
	"strings"
)

// Problem is why something does not load.
type Problem string

// Problems.
const (
	// NoLibrary: a library is nowhere to be found.
	NoLibrary Problem = "library not found"
	// NoVersion: a library is there, without a version that is needed.
	NoVersion Problem = "version not found"
	// Unloadable: a file is there that the loader ends at with an error.
	Unloadable Problem = "cannot be loaded"
)

// Verdict on loading a file.
type Verdict struct {
	// Loads: all that it needs is there.
	Loads bool `json:"loads"`
	// Problem, the first that the loader meets.
	Problem Problem `json:"problem,omitempty"`
	// Missing is the name of the library, or the version, or of an unloadable file
	// its path.
	Missing string `json:"missing,omitempty"`
	// In is the library that lacks the version.
	In string `json:"in,omitempty"`
	// Why the file is unloadable.
	Why string `json:"why,omitempty"`
	// Chain of files from the one that was asked for to the one that needs what is
	// missing, each loaded by the one before. Empty: it is itself what is missing.
	Chain []string `json:"chain,omitempty"`
	// Loaded are the libraries that come with it, in the loader's order; those of the
	// program, and what was loaded before, are not among them.
	Loaded []Loaded `json:"loaded,omitempty"`
}

// Loaded library.
type Loaded struct {
	// Name by which it was needed, and where it was found.
	Name string `json:"name"`
	Path string `json:"path"`
}

// String is the verdict in a line.
func (v Verdict) String() string {
	by := ""
	if n := len(v.Chain); n > 0 {
		by = " needs"
		by = v.Chain[n-1] + by + " "
		if n > 1 {
			by = strings.Join(v.Chain[:n-1], " → ") + " → " + by
		}
	}
	switch v.Problem {
	case NoLibrary:
		return by + v.Missing + ", which is not found"
	case NoVersion:
		return by + "version " + v.Missing + " of " + v.In + ", which does not define it"
	case Unloadable:
		return by + v.Missing + ", which cannot be loaded: " + v.Why
	}
	return fmt.Sprintf("loads, with %d libraries", len(v.Loaded))
}

// Shadow is a library that is found elsewhere than it would be.
type Shadow struct {
	Name string `json:"name"`
	// Path where it is found, Instead of the other one.
	Path    string `json:"path"`
	Instead string `json:"instead"`
}

// Shadows compares two verdicts on one file, with and without an LD_LIBRARY_PATH:
// the libraries that the path puts before those that would be found without it.
func Shadows(with, without Verdict) (shadows []Shadow) {
	at := map[string]string{}
	for _, l := range without.Loaded {
		at[l.Name] = l.Path
	}
	for _, l := range with.Loaded {
		if other := at[l.Name]; other != "" && other != l.Path {
			shadows = append(shadows, Shadow{l.Name, l.Path, other})
		}
	}
	return shadows
}

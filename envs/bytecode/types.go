package bytecode

import (
	"errors"

	"github.com/hpcenv/hpcenv/cache"
)

// DriverVersion is part of every compiler's identity. It is raised when the
// driver makes other bytes of the same source; a golden test enforces it.
const DriverVersion = 1

// Error classes.
var (
	// ErrNoSandbox: this host has no sandbox, and package code never runs
	// outside of one.
	ErrNoSandbox = errors.New("no sandbox for compiling byte-code")
	// ErrInterpreter: the Python of these packages does not run here, or is none
	// that makes hash-based byte-code.
	ErrInterpreter = errors.New("python cannot compile byte-code")
)

// Interpreter is the Python that compiles.
type Interpreter struct {
	// Version of the package python, e.g. "3.11.2".
	Version string
	// Packages: python itself first, then those for its own architecture that it
	// needs, in an order that depends on nothing but the packages.
	Packages []*cache.Manifest
}

// Package is a package with the sources that want byte-code. What they become
// depends on the package only, never on the environment.
type Package struct {
	// SHA256 of the archive; Label for messages.
	SHA256, Label string
	Sources       []Source
}

// Source is one file of a package.
type Source struct {
	// Entry as the package has it; its Path is what results are found by.
	Entry cache.Entry
	// Shipped is the compiled file that the package itself has for it.
	Shipped *cache.Entry
}

// Patched is a source whose content is not a package's: its prefix was put in.
// What it becomes is of use for one prefix only and is not kept.
type Patched struct {
	// Label for messages.
	Label   string
	Content func() ([]byte, error)
}

// Kind is how a source got its byte-code.
type Kind byte

const (
	// Compiled by us.
	Compiled Kind = 'c'
	// Headed: shipped, with a new header.
	Headed Kind = 'h'
	// Kept: shipped, and good as it is.
	Kept Kind = 'k'
	// Failed: the source does not compile.
	Failed Kind = 'x'
)

// Row is what became of a source.
type Row struct {
	Kind Kind
	// Source is the sha256 of the source, Shipped that of the compiled file that
	// came with it ("" = none).
	Source, Shipped string
	// Code and Size are the byte-code's digest and size (not for Failed).
	Code string
	Size int64
	// Why is the reason of Failed.
	Why string
}

// Result of a Build.
type Result struct {
	// Tag is in the names of compiled files, e.g. "cpython-311".
	Tag string
	// Rows by package and path. A source whose process died or ran out of memory
	// has none; it is in Lost.
	Rows map[string]map[string]Row
	// Patched, by index: the compiled file, or nil, and then PatchedWhy says why.
	Patched    [][]byte
	PatchedWhy []string
	// Lost: what could not be decided this time, one line each, sorted.
	Lost []string
	// Processes that were started; Compiled, Headed: what was made now.
	Processes, Compiled, Headed int
}

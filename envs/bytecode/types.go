package bytecode

import (
	"errors"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/sandbox"
)

// DriverVersion is part of every compiler's identity. It is raised when the
// driver, or what it runs with, makes other bytes of the same source, or its protocol
// changes (LinkerVersion of envs/materialize is raised with it where bytes change); a golden
// test enforces it.
const DriverVersion = 3

// Error classes.
var (
	// ErrNoSandbox: this host has no sandbox, and package code never runs
	// outside of one.
	ErrNoSandbox = sandbox.ErrNoSandbox
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
type Patched struct {
	// Package (sha256) is one of the packages, and Path of the source in it: its
	// table keeps what is found out. Label for messages.
	Package, Path, Label string
	// ID is the one part of the prefix that other environments of the store have
	// otherwise, IDSize bytes. "" = nothing is known of other prefixes: the source
	// is compiled for this one.
	ID      string
	Content func() ([]byte, error)
}

// PatchedCode is what became of a Patched.
type PatchedCode struct {
	// Code is the compiled file; nil = there is none, and Why says why. Where Why is
	// empty too, it is not known: see Result.Lost, and Known.
	Code []byte
	Why  string
	// Alone: the compiler takes the prefix apart, so that the source is compiled
	// for each prefix.
	Alone bool
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
	// Template: of a patched source, the same for all prefixes but for the id. Code
	// and Why have the stand-in for it; without Code the source does not compile.
	Template Kind = 't'
	// Alone: of a patched source, another for each prefix.
	Alone Kind = 'a'
)

// Row is what became of a source.
type Row struct {
	Kind Kind
	// Source is the sha256 of the source (Template, Alone: with the stand-in), Shipped that of the compiled file that
	// came with it ("" = none).
	Source, Shipped string
	// Code and Size are the byte-code's digest and size (not for Failed, Alone).
	Code string
	Size int64
	// Why is the reason of Failed, and of Template without Code.
	Why string
}

// Result of a Build.
type Result struct {
	// Tag is in the names of compiled files, e.g. "cpython-311".
	Tag string
	// Rows by package and path. A source whose process died or ran out of memory
	// has none; it is in Lost.
	Rows map[string]map[string]Row
	// Patched as the Request has them.
	Patched []PatchedCode
	// Lost: what could not be decided this time, one line each, sorted.
	Lost []string
	// Processes that were started; Compiled, Headed: what was made now.
	Processes, Compiled, Headed int
}

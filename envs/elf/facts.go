package elf

import "errors"

// Extractor is the version of what this package reads. It is part of the key
// under which facts are kept, and is raised when the same content gives others.
const Extractor = 2

// Errors of reading a file. ErrNotELF: it is something else, which is no fault.
// ErrBroken: it begins as an ELF file and then is none that could be loaded.
var (
	ErrNotELF = errors.New("not an ELF file")
	ErrBroken = errors.New("broken ELF file")
)

// Kind of file, by what it is for.
type Kind string

// Kinds. An executable is a program, whether or not it is position-independent;
// a library may be loaded into one; all else (objects, core files) is neither.
const (
	Executable Kind = "executable"
	Library    Kind = "library"
	Other      Kind = "other"
)

// Version that a file needs of a library.
type Version struct {
	Name string `json:"name"`
	// Weak: the file loads without it.
	Weak bool `json:"weak,omitempty"`
}

// Need is what a file needs of one library's versions.
type Need struct {
	Library  string    `json:"library"`
	Versions []Version `json:"versions"`
}

// Facts of one file. They depend on its content alone.
type Facts struct {
	// Machine as `uname -m` says it, where Linux has a name for it, e.g. x86_64,
	// aarch64, ppc64le; else machine-N with ELF's number.
	Machine string `json:"machine"`
	// Class is 32 or 64 (bits).
	Class int `json:"class"`
	// BigEndian tells the byte order.
	BigEndian bool `json:"bigEndian,omitempty"`
	// OSABI is e_ident's byte: 0 = System V, 3 = GNU.
	OSABI byte `json:"osabi,omitempty"`
	Kind  Kind `json:"kind"`
	// Fixed: it has a fixed address (ET_EXEC), so that it is never loaded as a library.
	Fixed bool `json:"fixed,omitempty"`
	// PIE: it is marked as a position-independent program, never loaded as a library.
	PIE bool `json:"pie,omitempty"`
	// Static: it has no dynamic section, or neither needs a library nor names a loader.
	Static bool `json:"static,omitempty"`
	// Dynamic: it has a dynamic section.
	Dynamic bool `json:"dynamic,omitempty"`
	// MaxPage is the largest page size in bytes of a node that can load it: the
	// smallest alignment of its segments. 0: no segment is loaded.
	MaxPage uint64 `json:"maxPage,omitempty"`
	// Interpreter is the loader that a program asks for.
	Interpreter string `json:"interpreter,omitempty"`
	// SOName is the name it has for those that need it.
	SOName string `json:"soname,omitempty"`
	// Needed libraries, in the file's order.
	Needed []string `json:"needed,omitempty"`
	// RPath and RunPath as they are in the file. Where there is a RUNPATH, even an
	// empty one, the loader does not look at RPATH.
	RPath      string `json:"rpath,omitempty"`
	RunPath    string `json:"runpath,omitempty"`
	HasRunPath bool   `json:"hasRunpath,omitempty"`
	// NoDefaultLib: default directories are not searched for what it needs.
	NoDefaultLib bool `json:"nodeflib,omitempty"`
	// NoOpen: dlopen refuses it.
	NoOpen bool `json:"noopen,omitempty"`
	// Needs are the versions it needs, by library.
	Needs []Need `json:"needs,omitempty"`
	// Versioned: it defines versions, those in Defines; what needs another of it
	// does not load. Of a library without versions every version is taken.
	Versioned bool     `json:"versioned,omitempty"`
	Defines   []string `json:"defines,omitempty"`
	// CUDA code it contains: sm_XY runs on GPUs of that compute capability, and of
	// later ones with the same major number; compute_XY (PTX) is compiled by the driver
	// for that capability and all later ones. Sorted.
	CUDA []string `json:"cuda,omitempty"`
	// CUDAProblem says why CUDA code that is there could not be read, or not all of it.
	CUDAProblem string `json:"cudaProblem,omitempty"`
}

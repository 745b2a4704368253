// Package needs is what an environment asks of a node, found in its own files once it
// is made: no package's metadata is believed for it.
//
// Enters: a published prefix, its packages' manifests, the lock's platform. Leaves:
// Needs, kept beside the environment's description (meta/<id>/<platform>.needs.json)
// and read by submissions, by nodes before a launch, and by `hpcenv inspect`.
//
// ELF files are read once per content: facts of a package's files lie in pool/elf, one
// file per package.
package needs

import (
	"github.com/hpcenv/hpcenv/envs/elf"
	"github.com/hpcenv/hpcenv/envs/requirement"
	"github.com/hpcenv/hpcenv/envs/stack"
)

// Version of the form of Needs as JSON; a reader takes no other.
const Version = 1

// Needs of an environment on one platform. Paths are below the prefix, with slashes;
// lists are sorted.
type Needs struct {
	Version int `json:"version"`
	// Extractor is elf.Extractor of the program that read the files.
	Extractor int `json:"extractor"`
	// Locked are the requirements that the packages state, and Stack what they
	// communicate with, both as the lock has them without its manifest.
	Locked []requirement.Requirement `json:"locked,omitempty"`
	Stack  stack.Stack               `json:"stack"`
	// Requirements that the files have beyond that (requirement.Files): "__glibc
	// >=2.34" with the file and the package that set it.
	Requirements []requirement.Requirement `json:"requirements,omitempty"`
	// Page is the largest page size in bytes that all files can be loaded with, and who
	// sets it; nil = no file is loaded.
	Page *Page `json:"page,omitempty"`
	// Libraries that files need and the environment does not have: the node must.
	Libraries []Library `json:"libraries,omitempty"`
	// Runtime are GLIBCXX and CXXABI versions that a file needs and no library of the
	// environment defines.
	Runtime []Runtime `json:"runtime,omitempty"`
	// Copies of libraries of which a process may have one.
	Copies []elf.Copies `json:"copies,omitempty"`
	// Foreign and Broken files.
	Foreign []elf.Foreign `json:"foreign,omitempty"`
	Broken  []elf.Broken  `json:"broken,omitempty"`
	// CUDA code that files contain.
	CUDA []CUDA `json:"cuda,omitempty"`
	// Modules are files that programs open at run time.
	Modules []Module `json:"modules,omitempty"`
	// Prefix is what the loader would find in the prefix, for judging modules without
	// reading it.
	Prefix Prefix `json:"prefix"`
}

// Page is a page size in bytes: nodes with larger pages cannot load File.
type Page struct {
	Size    int    `json:"size"`
	File    string `json:"file"`
	Package string `json:"package"` // "name version"; "" = no package has it (hpcenv made it)
}

// Library that the node must have.
type Library struct {
	// Name as the file has it (libcuda.so.1), and the highest version of it that is
	// needed; "" = any.
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// File that needs it, the first by path, of Files; Package that it is of.
	File    string `json:"file"`
	Files   int    `json:"files"`
	Package string `json:"package"`
	// Module: only modules, or what only they load, need it. A program starts without.
	Module bool `json:"module,omitempty"`
}

// Runtime is a version of the C++ library.
type Runtime struct {
	// Name as the loader knows it: GLIBCXX_3.4.32.
	Name    string `json:"name"`
	File    string `json:"file"`
	Package string `json:"package"`
}

// CUDA code of a file.
type CUDA struct {
	elf.CUDA
	Package string `json:"package"`
}

// Module is a file that a program opens at run time.
type Module struct {
	elf.Module
	Package string `json:"package"`
}

// Prefix is the part of a prefix that a loader can meet when it starts the
// environment's Python (or, without one, opens a module by itself) and opens the
// modules: the names in every directory that it searches, and the facts of every file
// that it may load from there.
type Prefix struct {
	// Program that opens the modules: bin/python3.12; "" = there is none.
	Program string `json:"program,omitempty"`
	// Dirs: names of the files and links in each directory that is searched, in
	// every directory that a closure leads to.
	Dirs map[string][]string `json:"dirs,omitempty"`
	// Links: where symbolic links among them lead, as written.
	Links map[string]string `json:"links,omitempty"`
	// Objects by path: facts of files that some closure loads. A name that is in Dirs
	// and in neither map must be read in the prefix itself if it is ever met.
	Objects map[string]*elf.Facts `json:"objects,omitempty"`
}

// Package requirement is what an environment asks of the node it runs on, each
// demand with the packages that make it, and whether a node has it.
//
// Enters: a platform of a locked environment, what the manifest says beside it,
// and a node's virtual packages. Leaves: requirements (Of), and verdicts on them
// (Check) with their text. No I/O.
//
//	requirement.go  what is asked, what a node has
//	of.go           the requirements of a platform
//	wheel.go        what the tags of wheels ask
//	cuda.go         what the CUDA that packages were built for asks
//	check.go        a verdict
//	text.go         its text
package requirement

import "github.com/hpcenv/hpcenv/envs/cuda"

// Source tells which statement a requirement comes from.
type Source string

// Sources of requirements.
const (
	// Depends of a conda package: the node must have the virtual package.
	Depends Source = "depends"
	// Constrains of a conda package: it binds only a node that has the virtual
	// package.
	Constrains Source = "constrains"
	// Platform of a pixi.lock 7: virtual packages of the lock's platform. What is
	// written there, NAME=VERSION=BUILD, is what the platform has at the least.
	Platform Source = "platform"
	// Manifest: system requirements of the project.
	Manifest Source = "manifest"
	// Wheel: the platform tag of a wheel (glibc, machine).
	Wheel Source = "wheel"
	// Files of the environment, once it is made: one of them needs it (File).
	Files Source = "files"
	// CUDA that packages were built for, whatever they state: "cuda-driver 12.9" asks
	// for a driver that runs CUDA 12.9, by minor-version compatibility too,
	// "cuda-compute 12.9" for GPUs that it has code for. They bind a node with a driver
	// for CUDA alone.
	CUDA Source = "cuda"
)

// Requirement is one demand.
type Requirement struct {
	// Spec is a match spec over a virtual package as it was written, e.g.
	// "__glibc >=2.17,<3.0.a0"; of a wheel and a manifest the equivalent spec.
	Spec   string `json:"spec"`
	Source Source `json:"source"`
	// Packages that ask for it as "name version", sorted; none of a manifest or
	// platform.
	Packages []string `json:"packages,omitempty"`
	// More packages that ask for it, too, which a short form left out.
	More int `json:"more,omitempty"`
	// File that asks, below the prefix; of the source Files alone.
	File string `json:"file,omitempty"`
	// Compat is the version of cuda-compat in the environment, of what asks for a
	// driver: where that can be used, an older driver does.
	Compat string `json:"compat,omitempty"`
}

// Short is the requirement with at most so many of its packages.
func (r Requirement) Short(packages int) Requirement {
	if n := len(r.Packages); n > packages {
		r.Packages, r.More = r.Packages[:packages:packages], r.More+n-packages
	}
	return r
}

// Virtual is a virtual package of a node (CEP 30, CEP 46).
type Virtual struct {
	// Name is __cuda, __glibc, __linux, __unix, __archspec or __cuda_arch.
	Name string `json:"name"`
	// Version and Build as the standard has them; for __archspec the build is the
	// microarchitecture's name. Version "" = the node has it in an unknown version
	// (assumed by Slurm's GRES): it satisfies every spec, and verdicts say so.
	Version string `json:"version,omitempty"`
	Build   string `json:"build,omitempty"`
}

// Node is what requirements are judged against.
type Node struct {
	// Virtuals by name.
	Virtuals map[string]Virtual
	// Ancestors of the node's microarchitecture, itself included: what a package
	// built for one of them may rely on.
	Ancestors []string
	// Driver is the version of the GPUs' driver, for texts; "" = none or unknown.
	Driver string
	// GPUs are the models of the node's GPUs, as short as people name them; nil = not
	// known.
	GPUs []string
	// CUDA is the table that says what drivers and GPUs are good for; nil = the
	// program's own.
	CUDA *cuda.Table
	// Assumed: nothing was read on the node; what is not in Virtuals is unknown,
	// not absent.
	Assumed bool
}

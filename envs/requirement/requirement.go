// Package requirement is what an environment asks of the node it runs on, each
// demand with the package that makes it, and whether a node has it.
//
// Enters: a platform of a locked environment, what the manifest says beside it,
// and a node's virtual packages. Leaves: requirements, and verdicts on them. No
// I/O.
package requirement

// Source tells which statement a requirement comes from.
type Source string

// Sources of requirements.
const (
	// Depends of a conda package: the node must have the virtual package.
	Depends Source = "depends"
	// Constrains of a conda package: it binds only a node that has the virtual
	// package.
	Constrains Source = "constrains"
	// Platform of a pixi.lock 7: virtual packages of the lock's platform.
	Platform Source = "platform"
	// Manifest: system requirements of the project.
	Manifest Source = "manifest"
	// Wheel: the platform tag of a wheel (glibc, machine).
	Wheel Source = "wheel"
)

// Requirement is one demand.
type Requirement struct {
	// Spec is a match spec over a virtual package as it was written, e.g.
	// "__glibc >=2.17,<3.0.a0"; of a wheel and a manifest the equivalent spec.
	Spec   string `json:"spec"`
	Source Source `json:"source"`
	// Packages that ask for it as "name version", sorted; "" of a manifest or
	// platform.
	Packages []string `json:"packages,omitempty"`
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
	// Assumed: nothing was read on the node; what is not in Virtuals is unknown,
	// not absent.
	Assumed bool
}

// Package stack says what the programs of an environment communicate and compute
// with, read from its packages, never from its name.
//
// Enters: a platform of a locked environment, and the manifest's system
// requirements. Leaves: its parts (UCX, GASNet-EX, MPI, NCCL, CUDA …), and the
// family that all nodes of a job must share. No I/O.
//
//	stack.go     what a stack is
//	parts.go     which packages are which part
//	networks.go  which networks a part drives
//	of.go        the stack of a platform
package stack

import "strings"

// Family is the communication stack that the nodes of one job must have in common.
//
// What decides is what speaks on the wire. A program of one family cannot talk to
// one of another, whatever library both call: so an MPI that sends through the
// environment's UCX is of the family UCX, and one that sends through its
// libfabric of the family libfabric; MPI is the family of those that bring a
// transport of their own or take the site's. GASNet-EX comes before all, since
// what has it starts over MPI or UCX and then sends through GASNet-EX. Two
// environments of one family must have the same MPI, too, if they have one
// (Stack.MPI): implementations do not talk to one another over any wire.
type Family string

// The families. None: the environment brings nothing to communicate with, so it
// mixes with nothing but itself.
const (
	None      Family = ""
	UCX       Family = "UCX"
	GASNet    Family = "GASNet-EX"
	MPI       Family = "MPI"
	Libfabric Family = "libfabric"
)

// Part is one part of what an environment communicates or computes with.
type Part struct {
	// Name is UCX, UCC, libfabric, GASNet-EX, MPI, NCCL or CUDA.
	Name string `json:"part"`
	// Package with version and build (conda) as name-version-build.
	Package string `json:"package"`
	// Origin is the channel, or PyPI, or a file.
	Origin string `json:"origin"`
}

// Stack of one environment on one platform.
type Stack struct {
	// Family decides what may run together.
	Family Family `json:"family,omitempty"`
	// Package that decides it, for messages: "ucx 1.18.0".
	Package string `json:"package,omitempty"`
	// Networks that the family drives natively with these packages, by the names of
	// facts.Network.Kind; over every other network it runs over TCP.
	Networks []string `json:"networks,omitempty"`
	// MPI is the implementation with its major version, "openmpi 5", or "site" for
	// packages that stand for the site's own; "" = there is none.
	MPI string `json:"mpi,omitempty"`
	// Remarks for people, e.g. that UCX from a wheel has no RDMA.
	Remarks []string `json:"remarks,omitempty"`
	// GPU: the environment cannot do without one (a __cuda in depends of a package,
	// in the lock's platform or in the manifest's system requirements); GPUPackage is
	// who says so.
	GPU        bool   `json:"gpu,omitempty"`
	GPUPackage string `json:"gpu_package,omitempty"`
	// UsesGPU: it would use a GPU if there were one (CUDA among its parts), or needs
	// one.
	UsesGPU bool `json:"uses_gpu,omitempty"`
}

// Wheel tells that what decides the family comes from PyPI.
func (s *Stack) Wheel() bool {
	name, _, _ := strings.Cut(s.Package, " ")
	for _, p := range parts {
		if matches(p.pypi, name) && !matches(p.conda, name) {
			return true
		}
	}
	return false
}

// Version of the package that decides the family; "" = none does.
func (s *Stack) Version() string {
	_, version, _ := strings.Cut(s.Package, " ")
	return version
}

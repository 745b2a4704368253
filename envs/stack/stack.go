// Package stack says what the programs of an environment communicate and compute
// with, read from its packages, never from its name.
//
// Enters: a platform of a locked environment. Leaves: its parts (UCX, GASNet-EX,
// MPI, NCCL, CUDA …), and the family that all nodes of a job must share.
package stack

// Family is the communication stack that the nodes of one job must have in common.
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
	// Remarks for people, e.g. that UCX from a wheel has no RDMA.
	Remarks []string `json:"remarks,omitempty"`
	// GPU: the environment cannot do without one (a __cuda in depends of a package,
	// or the manifest's system requirements); GPUPackage is who says so.
	GPU        bool   `json:"gpu,omitempty"`
	GPUPackage string `json:"gpu_package,omitempty"`
	// UsesGPU: it would use a GPU if there were one (CUDA among its parts).
	UsesGPU bool `json:"uses_gpu,omitempty"`
}

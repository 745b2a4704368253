// Package facts reads what a node is: architecture and microarchitecture, page
// size, glibc, kernel, networks, GPUs, MPI.
//
// Enters: a root directory, so that recorded trees are read by the very readers
// that read a live node. Leaves: Facts. Nothing is executed, and a device that
// cannot be read is that device's problem alone.
package facts

// Version of the form of Facts as JSON.
const Version = 1

// Facts of one node.
type Facts struct {
	Version int `json:"version"`
	// Machine as uname -m says; Platform its conda subdir, "" if hpcenv serves none.
	Machine  string `json:"machine"`
	Platform string `json:"platform"`
	CPU      CPU    `json:"cpu"`
	// PageSize in bytes; 0 = not known.
	PageSize int `json:"page_size"`
	// Glibc as major.minor; "" = none (musl) or not known, then Problems says why.
	Glibc string `json:"glibc"`
	// Kernel release as uname -r says.
	Kernel string `json:"kernel"`
	// Squashfs are the compressors with which the kernel can mount an image; nil =
	// no squashfs.
	Squashfs []string `json:"squashfs,omitempty"`
	// Networks beside the loopback, the fastest first.
	Networks []Network `json:"networks,omitempty"`
	// GPU is nil on a node without a usable one.
	GPU *GPU `json:"gpu,omitempty"`
	// MPI and PMI that the site offers on the node.
	MPI []Library `json:"mpi,omitempty"`
	PMI []Library `json:"pmi,omitempty"`
	// Problems: one line for each thing that could not be read.
	Problems []string `json:"problems,omitempty"`
}

// CPU is a processor by archspec's names.
type CPU struct {
	// Name of the microarchitecture (zen4, neoverse_v2), or of the generic family.
	Name string `json:"name"`
	// Vendor as archspec has it.
	Vendor string `json:"vendor,omitempty"`
	// Ancestors of Name, itself first.
	Ancestors []string `json:"ancestors,omitempty"`
	// Level of x86-64 (1 to 4); 0 elsewhere.
	Level int `json:"level,omitempty"`
	// Because says why it is no newer one.
	Because string `json:"because,omitempty"`
}

// Kinds of networks.
const (
	InfiniBand  = "infiniband"
	RoCE        = "roce"
	EFA         = "efa"
	Slingshot10 = "slingshot-10"
	Slingshot11 = "slingshot-11"
	OmniPath    = "omni-path"
	Ethernet    = "ethernet"
)

// Network is one device, or one port of it.
type Network struct {
	// Kind is one of the constants above.
	Kind string `json:"kind"`
	// Device as the kernel names it (mlx5_0, cxi0, eth0), and its port if it has
	// several.
	Device string `json:"device"`
	Port   int    `json:"port,omitempty"`
	// Active: the link is up, and the device nodes can be used.
	Active bool `json:"active"`
	// Rate in Gbit/s; 0 = not known.
	Rate float64 `json:"rate,omitempty"`
	// Problem says why it is not Active, or what could not be read.
	Problem string `json:"problem,omitempty"`
}

// GPU is what a node computes with beside its processors.
type GPU struct {
	// Vendor is nvidia or amd.
	Vendor string `json:"vendor"`
	// Driver version, e.g. 535.104.05.
	Driver string `json:"driver"`
	// CUDA is the newest that the driver serves, major.minor; "" = not known.
	CUDA string `json:"cuda,omitempty"`
	// Compute is the lowest compute capability, e.g. 9.0; "" = not known.
	Compute string `json:"compute,omitempty"`
	// Models with their number.
	Models []Model `json:"models,omitempty"`
	// Problem of the driver as a whole.
	Problem string `json:"problem,omitempty"`
}

// Model of GPU.
type Model struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// Library is an MPI or PMI on the node.
type Library struct {
	// Name is openmpi, mpich, cray-mpich, pmi2, pmix …
	Name string `json:"name"`
	// Path of the library or of the directory that has it.
	Path    string `json:"path"`
	Version string `json:"version,omitempty"`
}

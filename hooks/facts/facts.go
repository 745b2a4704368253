// Package facts reads what a node is: architecture and microarchitecture, page
// size, glibc, kernel, host identifier, networks, GPUs, MPI.
//
// Enters: a root directory, so that recorded trees are read by the very readers
// that read a live node (Read). Leaves: Facts, the virtual packages that they
// amount to (Virtuals), and the record that a node keeps of them (Save, Load).
// Nothing is executed, and a device that cannot be read is that device's problem
// alone.
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
	// Squashfs is whether the kernel can mount images.
	Squashfs Squashfs `json:"squashfs"`
	// HostID is what gethostid() gives, 8 hex digits; "" = not known, or nothing that
	// another node could have (it comes from the name service).
	HostID string `json:"host_id,omitempty"`
	// Networks beside the loopback: fabrics before Ethernet, each the fastest first.
	Networks []Network `json:"networks,omitempty"`
	// GPU is nil on a node without a usable one.
	GPU *GPU `json:"gpu,omitempty"`
	// MPI and PMI that the site offers on the node.
	MPI []Library `json:"mpi,omitempty"`
	PMI []Library `json:"pmi,omitempty"`
	// Problems: one line for each thing that could not be read.
	Problems []string `json:"problems,omitempty"`
	// Overrides are the fields that the site's own file replaced (OverrideFile).
	Overrides []string `json:"overrides,omitempty"`
}

// Squashfs is how the kernel serves images.
type Squashfs struct {
	// Mounts is Yes, No or Unknown.
	Mounts string `json:"mounts"`
	// Compressors that it reads (gzip, lz4, lzma, lzo, xz, zstd), sorted; nil with
	// Mounts Yes = it does not tell which.
	Compressors []string `json:"compressors,omitempty"`
}

// Answers where the third one is honest.
const (
	Yes     = "yes"
	No      = "no"
	Unknown = "unknown"
)

// CPU is a processor by archspec's names.
type CPU struct {
	// Name of the microarchitecture (zen4, neoverse_v2), or of the generic family
	// (x86_64_v3, aarch64); "" = not known.
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
	// Barred: the link is up, and programs cannot use it all the same. Missing or Closed.
	Barred string `json:"barred,omitempty"`
}

// Why programs cannot use a network whose link is up.
const (
	// Missing: it has no device node.
	Missing = "no device node"
	// Closed: users may not open its device node.
	Closed = "device node closed"
)

// GPU is what a node computes with beside its processors.
type GPU struct {
	// Vendor is nvidia or amd.
	Vendor string `json:"vendor"`
	// Driver version, e.g. 535.104.05.
	Driver string `json:"driver"`
	// CUDA is the newest that the driver serves, major.minor; "" = not known, or
	// no CUDA.
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
	// Name is openmpi, mpich, cray-mpich, pmi, pmi2, pmix, pals; slurm/NAME is what
	// srun --mpi=NAME takes.
	Name string `json:"name"`
	// Path of the library or of the directory that has it.
	Path    string `json:"path"`
	Version string `json:"version,omitempty"`
}

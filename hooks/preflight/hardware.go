package preflight

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/hooks/facts"
)

// hardware is what a library of the node stands for: a driver, a device, a service. A
// node without it need not have the library, and a module that needs the library is
// expected not to load there.
type hardware struct {
	// what it is, for messages.
	what string
	// libraries by the beginning of their names up to .so.
	libraries []string
	// present tells that the node has it; nil = no node needs it for what hpcenv is for.
	present func(*Input) bool
	// fabric: what it means is said with the transports.
	fabric bool
	// source of the statement.
	source string
}

// lacking is what is known of libraries that nodes may lack, as of 2026-11.
var lacking = []hardware{
	{
		what: "an NVIDIA driver", libraries: []string{"libcuda", "libnvidia-ml", "libnvidia-ptxjitcompiler", "libnvcuvid", "libnvidia-encode", "libcudadebugger"},
		present: vendor("nvidia"),
		source:  "NVIDIA's driver packages install them; nothing else may",
	},
	{
		what: "GDRCopy", libraries: []string{"libgdrapi"}, present: hasDevice("/dev/gdrdrv"),
		source: "NVIDIA/gdrcopy: the library talks to /dev/gdrdrv of its kernel module",
	},
	{
		what: "an AMD GPU driver", libraries: []string{"libhsa-runtime64", "libamdhip64", "librocm_smi64", "libamd_smi", "librocm-core", "librccl"},
		present: vendor("amd"),
		source:  "ROCm's packages, which are used with the driver amdgpu",
	},
	{
		what: "a Level Zero driver", libraries: []string{"libze_loader", "libze_intel_gpu"}, present: vendor("intel"),
		source: "oneapi-src/level-zero: the loader comes with Intel's GPU driver",
	},
	{
		what: "a Gaudi driver", libraries: []string{"libhl-thunk", "libSynapse", "libhlml"}, present: hasDevice("/dev/accel/accel0"),
		source: "Habana's driver; UCX's module gaudi",
	},
	{
		what: "an RDMA adapter", libraries: []string{"libibverbs", "librdmacm", "libmlx5", "libmlx4", "libefa", "libibumad", "libibmad", "libnl-3", "libnl-route-3"},
		present: network(facts.InfiniBand, facts.RoCE, facts.EFA, facts.Slingshot10), fabric: true,
		source: "linux-rdma/rdma-core: user space of the kernel's RDMA devices, and libnl which it needs",
	},
	{
		what: "a Slingshot 11 adapter", libraries: []string{"libcxi"}, present: network(facts.Slingshot11), fabric: true,
		source: "HewlettPackard/shs-libcxi: user space of /dev/cxi*",
	},
	{
		what: "an Omni-Path adapter", libraries: []string{"libpsm2", "libpsm_infinipath", "libopasadb", "libopamgt"}, present: network(facts.OmniPath), fabric: true,
		source: "cornelisnetworks/opa-psm2: user space of /dev/hfi1_*",
	},
	{
		what: "a Gemini or Aries network", libraries: []string{"libugni", "libudreg", "libalpslli", "libalpsutil", "libwlm_detect"}, present: hasDevice("/dev/kgni0"), fabric: true,
		source: "Cray XE and XC systems",
	},
	{
		what: "XPMEM", libraries: []string{"libxpmem"}, present: hasDevice("/dev/xpmem"),
		source: "openucx/xpmem: the library talks to /dev/xpmem of its kernel module",
	},
	{
		what: "NVIDIA's HPC-X", libraries: []string{"libhcoll", "libocoms", "libsharp", "libsharp_coll", "libmxm", "libfca"},
		source: "offloads that come with NVIDIA's networks: programs run without",
	},
	{
		what: "a parallel file system's library", libraries: []string{"liblustreapi", "libpvfs2", "libgpfs", "libdaos"},
		source: "MPI-IO's drivers for file systems: without, files are written as on any other",
	},
	{
		what: "a launcher's library", libraries: []string{"libpmi", "libpmi2", "libslurm", "libslurmfull", "libtorque", "liblsf", "libbat", "liblsbstream", "libflux-core", "libpals", "libmunge"},
		source: "MPI and PMIx have a module for each launcher and each way to authenticate; pmi.go tells whether the one in use is served",
	},
	{
		what: "a display", libraries: []string{"libGL", "libEGL", "libGLX", "libGLdispatch", "libOpenGL", "libGLESv2", "libGLU", "libgbm", "libdrm", "libvulkan",
			"libX11", "libXext", "libXrender", "libX11-xcb", "libxcb", "libwayland-client", "libasound", "libpulse", "libjack"},
		source: "libraries of graphics and sound, which conda-forge leaves to the system (its CDTs): programs that draw need them",
	},
	{
		what: "FUSE", libraries: []string{"libfuse3", "libfuse"},
		source: "openucx/ucx: libucs_fuse shows a process's state as files, for people who look for it",
	},
}

// lackingOf is what a library stands for; nil = nothing in particular.
func lackingOf(library string) *hardware {
	stem, _, _ := strings.Cut(library[strings.LastIndexByte(library, '/')+1:], ".so")
	for i := range lacking {
		if slices.Contains(lacking[i].libraries, stem) {
			return &lacking[i]
		}
	}
	return nil
}

// expected: the node need not have it.
func (h *hardware) expected(in *Input) bool {
	return h != nil && (h.present == nil || !h.present(in))
}

func vendor(name string) func(*Input) bool {
	return func(in *Input) bool { return in.Facts.GPU != nil && in.Facts.GPU.Vendor == name }
}

func network(kinds ...string) func(*Input) bool {
	return func(in *Input) bool {
		return slices.ContainsFunc(in.Facts.Networks, func(n facts.Network) bool { return slices.Contains(kinds, n.Kind) })
	}
}

func hasDevice(path string) func(*Input) bool {
	return func(in *Input) bool {
		_, err := os.Stat(filepath.Join(in.Root, "/", path))
		return err == nil // one that cannot be looked at is none that programs can use
	}
}

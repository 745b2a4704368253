package facts

import (
	"context"
	"path"
	"slices"
	"strings"
)

// libraryNames are looked for by name: directories of libraries have thousands of
// files, and listing them would take longer than all else.
var libraryNames = []struct {
	file, name string
	pmi        bool
}{
	{"libmpi.so.40", "openmpi", false}, // Open MPI 4 and 5
	{"libmpi.so.20", "openmpi", false}, // Open MPI 2 and 3
	{"libmpi.so.12", "mpich", false},   // the common ABI of MPICH, MVAPICH and Intel MPI
	{"libmpich.so.12", "mpich", false}, // Debian's
	{"libmpi_cray.so.12", "cray-mpich", false},
	{"libmpi_gnu.so.12", "cray-mpich", false},
	{"libpmi.so.0", "pmi", true},
	{"libpmi2.so.0", "pmi2", true},
	{"libpmix.so.2", "pmix", true},
}

// mpiSubdirs of the usual directories in which distributions put an MPI.
var mpiSubdirs = []string{"", "/openmpi/lib", "/mpich/lib", "/mvapich2/lib", "/slurm"}

// versionTrees are directories with one subdirectory per version.
var versionTrees = []struct {
	dir, below, file, name string
	pmi                    bool
}{
	{"/opt/cray/pe/mpich", "", "", "cray-mpich", false},
	{"/opt/cray/pe/pmi", "/lib", "libpmi2.so.0", "pmi2", true},
	{"/opt/cray/pe/pals", "/lib", "libpals.so.0", "pals", true},
	{"/opt/pmix", "/lib", "libpmix.so.2", "pmix", true},
}

// readMPI looks for MPI and PMI where distributions, Cray and Slurm put them.
// That there is none is no problem.
func readMPI(_ context.Context, h host) part {
	var found libraries
	// First those that tell their version: the usual directories link to them.
	for _, v := range versionTrees {
		versions, err := h.list(v.dir)
		if err != nil {
			found.problems = append(found.problems, err.Error())
			continue
		}
		for _, n := range versions {
			at := path.Join(v.dir, n, v.below, v.file)
			if n == "" || n[0] < '0' || n[0] > '9' || !h.exists(at) {
				continue // "default" is a link to one of them
			}
			found.add(h.tree, Library{Name: v.name, Path: at, Version: n}, v.pmi)
		}
	}
	dirs := append(libraryDirs(h.machine), "/usr/local/lib", "/opt/cray/pe/lib64", "/opt/openmpi/lib", "/opt/mpich/lib")
	for _, d := range dirs {
		for _, sub := range mpiSubdirs {
			if sub != "" && !h.exists(d+sub) {
				continue
			}
			for _, l := range libraryNames {
				if file := d + sub + "/" + l.file; h.exists(file) {
					found.add(h.tree, Library{Name: l.name, Path: file}, l.pmi)
				}
			}
		}
	}
	for _, dir := range slurmDirs(h.machine) {
		plugins, err := h.list(dir)
		if err != nil {
			found.problems = append(found.problems, err.Error())
			continue
		}
		for _, p := range plugins {
			if name, ok := strings.CutPrefix(p, "mpi_"); ok && strings.HasSuffix(name, ".so") {
				found.add(h.tree, Library{Name: "slurm/" + strings.TrimSuffix(name, ".so"), Path: dir + "/" + p}, true)
			}
		}
	}
	return part{problems: found.problems, set: func(f *Facts) { f.MPI, f.PMI = found.mpi, found.pmi }}
}

// slurmDirs are where Slurm's plugins are.
func slurmDirs(machine string) []string {
	dirs := []string{"/usr/lib64/slurm", "/usr/lib/slurm", "/usr/local/lib/slurm", "/opt/slurm/lib/slurm"}
	if a, ok := abis[machine]; ok {
		dirs = append(dirs, "/usr/lib/"+a.triplet+"/slurm-wlm", "/usr/lib/"+a.triplet+"/slurm")
	}
	return dirs
}

// libraries without those that two paths lead to.
type libraries struct {
	mpi, pmi []Library
	problems []string
	seen     []string
}

func (l *libraries) add(t tree, lib Library, pmi bool) {
	at, err := t.resolve(lib.Path)
	if err != nil {
		at = lib.Path
	}
	key := lib.Name + " " + at
	if slices.Contains(l.seen, key) {
		return
	}
	l.seen = append(l.seen, key)
	if pmi {
		l.pmi = append(l.pmi, lib)
	} else {
		l.mpi = append(l.mpi, lib)
	}
}

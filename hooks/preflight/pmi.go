package preflight

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// protocol is how an MPI's processes find one another when srun starts them.
type protocol struct {
	// mpi is how stack.Stack.MPI begins.
	mpi string
	// pmix, pmi: it takes PMIx, and PMI-1 or PMI-2 as Slurm's pmi2 serves them.
	pmix, pmi bool
	// variables: with one of these set, it finds its way by itself.
	variables []string
	// source of the statement.
	source string
}

// served is what is known of MPIs, as of 2026-11.
var served = []protocol{
	{"openmpi", true, false, nil, "Open MPI 5 starts over PMIx alone, and conda-forge builds Open MPI 4 with PMIx and without Slurm's PMI"},
	{"mpich", true, true, []string{"PMI_PORT"}, "MPICH has PMI-1 and PMI-2 built in; builds with PMIx exist"},
	{"impi", false, true, []string{"I_MPI_PMI_LIBRARY", "PMI_PORT"}, "Intel MPI: PMI-2, or a library of the site that I_MPI_PMI_LIBRARY names"},
}

// launchers start processes of an MPI by themselves: srun starts the launcher's own
// daemons, which need no PMI.
var launchers = []string{"prted", "orted", "hydra_pmi_proxy", "hydra_bstrap_proxy", "mpirun", "mpiexec", "mpiexec.hydra", "prterun", "prun"}

// pmi: srun serves what the environment's MPI asks for. Without, each process takes
// itself for the only one, and the program runs many times instead of once. Nobody can
// know before whether the program uses MPI, so that this is a warning.
//
// Slurm's plugins leave their variables before task_init (Slurm 22.05): PMIX_NAMESPACE
// and PMIX_RANK, or PMI_FD and PMI_RANK; without one, nothing. SLURM_STEP_NUM_TASKS is
// of steps of srun alone, and is not in the batch script's.
func pmi(_ context.Context, in *Input) ([]Finding, error) {
	if in.Needs == nil || slices.Contains(launchers, path.Base(in.Command)) {
		return nil, nil
	}
	tasks, _ := in.lookup("SLURM_STEP_NUM_TASKS")
	n, err := strconv.Atoi(tasks)
	if err != nil || n < 2 {
		return nil, nil // not a step, or one of a single task
	}
	i := slices.IndexFunc(served, func(s protocol) bool { return strings.HasPrefix(in.Needs.Stack.MPI, s.mpi) })
	if i < 0 {
		return nil, nil
	}
	s := &served[i]
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { _, ok := in.lookup(name); return ok })
	}
	pmix, pmi := has("PMIX_NAMESPACE", "PMIX_RANK"), has("PMI_FD", "PMI_RANK")
	if s.pmix && pmix || s.pmi && pmi || has(s.variables...) {
		return []Finding{{ID: "pmi", Level: Fits, Evidence: "srun serves the PMI that " + in.Needs.Stack.MPI + " asks for"}}, nil
	}
	wants, option := "PMIx", "pmix"
	if s.pmi {
		wants, option = "PMI-2", "pmi2"
	}
	gives := "no PMI"
	if pmix {
		gives = "PMIx"
	} else if pmi {
		gives = "PMI-2"
	}
	f := Finding{ID: "pmi", Level: Warn, Act: User,
		Evidence: fmt.Sprintf("srun started %d tasks with %s, and %s finds its other processes through %s: a program that uses MPI would run %d times by itself", n, gives, in.Needs.Stack.MPI, wants, n),
		Next:     "srun --mpi=" + option + " (srun --mpi=list shows what the site has), or the environment's mpirun"}
	if offered := in.offered(); len(offered) > 0 && !slices.ContainsFunc(offered, func(name string) bool { return strings.HasPrefix(name, option) }) {
		f.Next = fmt.Sprintf("start it with the environment's mpirun: Slurm on %s has %s for --mpi, and no %s", in.name(), strings.Join(offered, ", "), option)
	}
	return []Finding{f}, nil
}

// offered are what srun --mpi= takes on the node; none = not known.
func (in *Input) offered() (names []string) {
	if in.Facts == nil {
		return nil
	}
	for _, l := range in.Facts.PMI {
		if name, ok := strings.CutPrefix(l.Name, "slurm/"); ok {
			names = append(names, name)
		}
	}
	return names
}

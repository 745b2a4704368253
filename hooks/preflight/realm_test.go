package preflight_test

import (
	"testing"

	"github.com/hpcenv/hpcenv/envs/elf"
	"github.com/hpcenv/hpcenv/envs/stack"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/preflight"
)

// TestGASNet: the wrapper that the site must build.
func TestGASNet(t *testing.T) {
	gex := stack.Stack{Family: stack.GASNet, Package: "realm-gex-wrapper 25.11"}
	w := stacked(t, gex)
	w.want("gasnet", preflight.Unfit, "REALM_GASNETEX_WRAPPER is not set, and librealm_gex_wrapper.so does not exist on n7", "site build of realm-gex-wrapper")
	w.env["REALM_GASNETEX_WRAPPER"] = ""
	w.want("gasnet", preflight.Unfit, "REALM_GASNETEX_WRAPPER is empty", "site build")
	w.env["REALM_GASNETEX_WRAPPER"] = "/site/nothing.so"
	w.want("gasnet", preflight.Unfit, "REALM_GASNETEX_WRAPPER=/site/nothing.so, and /site/nothing.so does not exist on n7")

	culprit := randomLibrary()
	w = stacked(t, gex)
	w.lib("/site/wrapper.so", culprit)
	w.lib("/site/good.so")
	w.env["REALM_GASNETEX_WRAPPER"] = "/site/wrapper.so"
	w.want("gasnet", preflight.Unfit, "/site/wrapper.so needs "+culprit)
	w.env["REALM_GASNETEX_WRAPPER"] = "/site/good.so"
	w.want("gasnet", preflight.Fits)

	w = stacked(t, gex)
	w.lib("lib/librealm_gex_wrapper.so")
	w.want("gasnet", preflight.Fits)
	w.in.Needs.Stack = condaUCX
	w.none("gasnet")
}

// TestFilesOfVariables: what the user names for Legate and Realm is there.
func TestFilesOfVariables(t *testing.T) {
	culprit := randomLibrary()
	w := stacked(t, condaUCX)
	w.lib("lib/realm_ucp_bootstrap_mpi.so")
	w.lib("/site/good.so")
	w.lib("/site/bad.so", culprit)
	w.none("mpi-wrapper")
	w.env["LEGATE_MPI_WRAPPER"] = "" // the default
	w.none("mpi-wrapper")
	w.env["LEGATE_MPI_WRAPPER"] = "/site/no.so"
	w.want("mpi-wrapper", preflight.Unfit, "LEGATE_MPI_WRAPPER=/site/no.so, and /site/no.so does not exist on n7", "unset")
	w.env["LEGATE_MPI_WRAPPER"] = "/site/bad.so"
	w.want("mpi-wrapper", preflight.Unfit, culprit)
	w.env["LEGATE_MPI_WRAPPER"] = "/site/good.so"
	w.want("mpi-wrapper", preflight.Fits)

	w.env["REALM_UCP_BOOTSTRAP_PLUGIN"] = "/site/no.so"
	w.none("bootstrap") // not looked at by Realm
	w.env["REALM_UCP_BOOTSTRAP_MODE"] = "plugin"
	w.want("bootstrap", preflight.Unfit, "REALM_UCP_BOOTSTRAP_PLUGIN=/site/no.so, and /site/no.so does not exist")
	w.env["REALM_UCP_BOOTSTRAP_PLUGIN"] = "/site/good.so"
	w.want("bootstrap", preflight.Fits)

	w.in.Needs.Modules = nil // no Realm: the variables are of something else
	w.env["LEGATE_MPI_WRAPPER"], w.env["REALM_UCP_BOOTSTRAP_PLUGIN"] = "/site/no.so", "/site/no.so"
	w.none("mpi-wrapper")
	w.none("bootstrap")
}

// TestHostID: equal identifiers in one job.
func TestHostID(t *testing.T) {
	w := stacked(t, condaUCX)
	w.lib("lib/realm_ucp_bootstrap_mpi.so")
	w.survey()
	w.in.MultiNode = true
	w.none("host-id")
	w.in.SameHost = []string{"n8", "n9"}
	w.in.Facts.HostID = "007f0101"
	w.want("host-id", preflight.Unfit, "has the host identifier 007f0101 of n8, n9", "/etc/hostid")
	w.in.MultiNode = false
	w.none("host-id")
	w.in.MultiNode = true
	w.in.Needs.Stack = stack.Stack{Family: stack.GASNet}
	w.want("host-id", preflight.Warn)
	w.in.Needs.Stack, w.in.Needs.Modules = condaUCX, nil
	w.want("host-id", preflight.Fits)
}

// TestCopies: libraries of which a process must have one.
func TestCopies(t *testing.T) {
	w := stacked(t, condaUCX)
	w.survey()
	w.none("copies")
	c := elf.Copies{Library: "libucp", Files: []string{"lib/libucp.so.0", "lib/site/libucp.so.0"}}
	w.in.Needs.Copies = []elf.Copies{c}
	w.want("copies", preflight.Fits, "apart")
	w.env["LD_LIBRARY_PATH"] = prefix + "/lib/site"
	w.want("copies", preflight.Fits)
	w.env["LD_LIBRARY_PATH"] = prefix + "/lib/:" + prefix + "/lib/site"
	w.want("copies", preflight.Warn, "leads to 2 different copies of libucp (lib/libucp.so.0 and lib/site/libucp.so.0)", "unset LD_LIBRARY_PATH")
	c.By, c.Program = "lib/libx.so", "bin/python3.12"
	w.in.Needs.Copies = []elf.Copies{c}
	w.want("copies", preflight.Warn, "lib/libx.so looks for it where more than one is, through the search path of bin/python3.12", "pixi tree")
}

// TestPMI: what srun leaves in a task's variables with each --mpi (Slurm 22.05), against
// what MPIs ask for.
func TestPMI(t *testing.T) {
	w := stacked(t, condaUCX)
	w.survey()
	plugins := map[string][]string{"none": nil, "pmi2": {"PMI_FD", "PMI_RANK", "PMI_SIZE", "PMI_JOBID"}, "pmix": {"PMIX_NAMESPACE", "PMIX_RANK", "PMIX_SERVER_URI41"}}
	for _, c := range []struct {
		mpi, plugin, tasks, command string
		warns                       bool
		words                       []string
	}{
		{"openmpi 5", "none", "4", "python", true, []string{"srun started 4 tasks with no PMI", "openmpi 5", "PMIx", "run 4 times", "srun --mpi=pmix"}},
		{"openmpi 5", "pmi2", "4", "python", true, []string{"with PMI-2", "PMIx"}},
		{"openmpi 5", "pmix", "4", "python", false, nil},
		{"openmpi 5", "none", "1", "python", false, nil},
		{"openmpi 5", "none", "", "python", false, nil}, // the batch script
		{"openmpi 5", "none", "4", "/x/bin/prted", false, nil},
		{"mpich 4", "none", "2", "", true, []string{"mpich 4", "PMI-2", "srun --mpi=pmi2"}},
		{"mpich 4", "pmi2", "2", "", false, nil}, {"mpich 4", "pmix", "2", "", false, nil},
		{"impi_rt 2021", "none", "2", "", true, nil}, {"impi_rt 2021", "pmix", "2", "", true, []string{"with PMIx"}},
		{"site", "none", "2", "", false, nil}, {"", "none", "2", "", false, nil},
	} {
		w.in.Needs.Stack.MPI, w.in.Command = c.mpi, c.command
		w.env = map[string]string{}
		if c.tasks != "" {
			w.env["SLURM_STEP_NUM_TASKS"] = c.tasks
		}
		for _, v := range plugins[c.plugin] {
			w.env[v] = "1"
		}
		found := w.found("pmi")
		if c.warns {
			w.want("pmi", preflight.Warn, c.words...)
		} else if len(found) > 0 && found[0].Level != preflight.Fits {
			t.Errorf("%+v: %v", c, found)
		}
	}
	w.in.Needs.Stack.MPI, w.in.Command = "openmpi 5", ""
	w.env = map[string]string{"SLURM_STEP_NUM_TASKS": "2"}
	w.in.Facts.PMI = []facts.Library{{Name: "slurm/none"}, {Name: "slurm/pmi2"}, {Name: "pmix"}}
	w.want("pmi", preflight.Warn, "mpirun: Slurm on n7 has none, pmi2 for --mpi, and no pmix")
	w.in.Facts.PMI = []facts.Library{{Name: "slurm/pmix_v4"}}
	w.want("pmi", preflight.Warn, "srun --mpi=pmix")
}

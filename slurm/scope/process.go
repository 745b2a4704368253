package scope

import (
	"fmt"
	"os"
	"strings"
)

// Submission is a command that submits, as far as it says where a job can land.
type Submission struct {
	// Program is sbatch, salloc or srun.
	Program string
	// Args is its argument vector with its own name first; nil = it cannot be read.
	Args []string
	// Env is its environment, Dir its working directory.
	Env []string
	Dir string
	// Component of a heterogeneous job, from 0.
	Component int
	// Recorded is what contrib/slurm/cli_filter.lua wrote down for this component; nil =
	// nothing, then Args, Env and the script are read.
	Recorded Record
}

// Record of a cli_filter: the options as Slurm itself understood them.
type Record []request

// Script returns the argument of sbatch that is the job script, args with the program's
// own name first; "" = there is none (standard input, --wrap), or the arguments are not
// understood. An option that is not known is taken to have an argument.
func Script(args []string) string {
	if len(args) == 0 {
		return ""
	}
	ways := segments("sbatch", args[1:])
	segs := ways[len(ways)-1]
	last := segs[len(segs)-1]
	if _, wrapped := find(flat(segs), "wrap"); wrapped || last.doubt != "" || len(last.rest) == 0 {
		return ""
	}
	return last.rest[0]
}

// FromProcess returns where the component of the submission that the process pid is
// making can land: pid is a sbatch, salloc or srun of the caller's own account, of which
// the caller is a child, so that environment and working directory are the caller's. It
// reads /proc, the job script and files of nodes, asks nobody, and never fails: what
// cannot be read makes the Scope wider.
func FromProcess(pid int, program string, component int, c *Cluster) *Scope {
	s := Submission{Program: program, Env: os.Environ(), Component: component}
	if data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && len(data) > 0 {
		s.Args = strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
	}
	dir, err := os.Getwd()
	if err != nil {
		s.Args = nil // no relative path can be followed
	}
	s.Dir = dir
	s.Recorded = recordOf(pid, program)
	return Of(s, c)
}

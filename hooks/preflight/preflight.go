// Package preflight tells before a launch whether a node can run an environment: what
// was found, what is needed, which package and file need it, what to do, and who must.
//
// Enters: what the environment needs (envs/needs), the node's facts and the record of
// its GPUs, the variables of the process. Leaves: a Report, a list of findings whose
// worst is the verdict. It reads the node's own files below a root (libraries,
// ld.so.cache) and of the prefix what needs does not have; it executes nothing, writes
// nothing and talks to nobody.
//
// Each check is small and stands alone (checks.go lists them); one that cannot be made
// says so and keeps nothing from running.
package preflight

import (
	"github.com/hpcenv/hpcenv/envs/cuda"
	"github.com/hpcenv/hpcenv/envs/needs"
	"github.com/hpcenv/hpcenv/envs/requirement"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/gpu"
)

// Level of a finding, and of a report.
type Level string

// Levels, from the least to the worst.
const (
	// Fits: as it should be.
	Fits Level = "fits"
	// Unknown: it could not be looked at. A launch goes on.
	Unknown Level = "unknown"
	// Warn: it will run, worse than it could; the user is told once per node.
	Warn Level = "warn"
	// Unfit: the environment cannot run on this node; the user's side has to change.
	// The launch is refused (exit 3), and nothing becomes of the node.
	Unfit Level = "does not fit"
	// Unhealthy: the node is not as it should be; the site's side has to change. The
	// launch is refused (exit 3), and the node's health check is told.
	Unhealthy Level = "node unhealthy"
)

// Who must act on a finding.
const (
	User          = "user"
	Administrator = "administrator"
)

// Finding is the outcome of one check about one thing.
type Finding struct {
	// ID is a fixed word for the check: glibc, page-size, cuda-driver, gpu-lost,
	// transports …
	ID    string `json:"id"`
	Level Level  `json:"level"`
	// Evidence is what was found and what is needed, to be read behind the node's name:
	// "has driver 520.61.05, needs >= 525.60.13 (cuda-version 12.9, cupy 13.4.1)". It
	// names the packages and the files itself.
	Evidence string `json:"evidence"`
	// Packages that need it, as "name version", and the file; for programs.
	Packages []string `json:"packages,omitempty"`
	File     string   `json:"file,omitempty"`
	// Next is what to do, Act who must: User or Administrator. "" with Fits.
	Next string `json:"next,omitempty"`
	Act  string `json:"act,omitempty"`
}

// Input of the checks.
type Input struct {
	// Node is Slurm's name for it.
	Node string
	// Root is where the node's files are; "" = /.
	Root string
	// Facts of the node.
	Facts *facts.Facts
	// GPU is the record of its GPUs; nil = there is none, and GPUProblem says why (""
	// = the node has no GPUs). Granted are the indices of the GPUs that the step may
	// use; nil = all, or not known; empty = none of them is to be judged by itself.
	GPU        *gpu.Record
	GPUProblem string
	Granted    []int
	// WantsGPU: the job was given GPUs.
	WantsGPU bool
	// Needs of the environment; nil = they are not known (made by an earlier release),
	// and only what concerns the node alone is checked.
	Needs *needs.Needs
	// CUDA is the table of drivers and GPUs (selection.Rules.CUDA); nil = the program's.
	CUDA *cuda.Table
	// Prefix is where the environment is for processes of this node.
	Prefix string
	// Override looks up the CONDA_OVERRIDE_ variables of the submission, which stand for
	// what the node has (facts.Virtuals); nil = nothing is overridden.
	Override func(string) (string, bool)
	// Manifest are requirements of the project beside those of the packages.
	Manifest []requirement.Requirement
	// Env looks up a variable of the process that is to run, after activation; nil =
	// there are none.
	Env func(string) (string, bool)
	// MultiNode: the step, or the job, has more than one node.
	MultiNode bool
	// SameHost are nodes of the job that have the same host identifier as this one.
	SameHost []string
	// Command is what the step starts, its path or name; "" = not known.
	Command string
	// Script: it is the script of the job. It may set variables, and load modules, before
	// it starts the environment's programs: what hangs on that is not refused.
	Script bool

	// process is made by the first check that wants it.
	process *process
}

// Report of the checks, in the order in which they are listed.
type Report struct {
	Findings []Finding `json:"findings"`
	// Elsewhere are the modules (paths below the prefix) that do not load on this node and
	// are not meant to, since they are for hardware that it does not have.
	Elsewhere []string `json:"elsewhere,omitempty"`
}

// Level is the worst of the findings'; Fits if there is none.
func (r *Report) Level() Level {
	worst := Fits
	for _, f := range r.Findings {
		if rank(f.Level) > rank(worst) {
			worst = f.Level
		}
	}
	return worst
}

// At returns the findings that are at least as bad as level, the worst first.
func (r *Report) At(level Level) []Finding {
	var out []Finding
	for i := len(levels) - 1; i >= rank(level); i-- {
		for _, f := range r.Findings {
			if f.Level == levels[i] {
				out = append(out, f)
			}
		}
	}
	return out
}

var levels = [...]Level{Fits, Unknown, Warn, Unfit, Unhealthy}

func rank(l Level) int {
	for i, known := range levels {
		if known == l {
			return i
		}
	}
	return len(levels) - 1 // what nobody knows is taken seriously
}

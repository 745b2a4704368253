// Package selection decides which environment each kind of node gets. It is a pure
// function: no I/O, no clock, the same answer for the same input in any order.
//
// Enters: the environments of a lock with what they ask of a node, the kinds of
// node, the user's wish, the project's order and the site's rules. Leaves: a Plan
// with a reason for every decision, or an error that lists the candidates.
//
// The names of environments mean nothing, except default as the last tie-break.
//
// What fits a kind is ordered by the manifest's order, the rules, and whether the
// fabric is used; what comes first, but for its name, are the kind's leaders. The
// nodes of a job share one wire: the communication stack, and the MPI if there is
// one. Of the wires that have a leader on every kind the job takes the only one, or
// the one with default everywhere; if there is none, what the rules name for mixed
// jobs; else nothing, and the error shows the table.
//
//	selection.go  environments and kinds      kind.go, oflock.go  where they come from
//	input.go      what is asked               judge.go            does it fit, and how well
//	rules.go      the table, site over default; rulecheck.go, ruleread.go, match.go, phrase.go
//	option.go     deciding on one wire        select.go, plan.go  Select, SelectLater
//	refusal.go    why there is no plan        words.go            reasons and warnings
//	pinned.go     what travels with a job; pinread.go; decide.go  what a node does with it
//	network.go    variables per network
package selection

import (
	"github.com/hpcenv/hpcenv/envs/requirement"
	"github.com/hpcenv/hpcenv/envs/stack"
)

// Environment of a lock, as selection sees it.
type Environment struct {
	Name string `json:"name"`
	// Explicit: it is taken only when named (without the default feature).
	Explicit bool `json:"explicit,omitempty"`
	// Rank is its place in the manifest's `[tool.hpcenv] environments`, from 1; 0 =
	// not listed.
	Rank int `json:"rank,omitempty"`
	// Platforms it is locked for; of several with one subdir the first that fits is
	// taken, unless only a later one uses the GPU that a node has.
	Platforms []Candidate `json:"platforms"`
}

// Candidate is an environment on one platform of the lock.
type Candidate struct {
	// Platform is the lock's name, Subdir the conda subdir.
	Platform string `json:"platform"`
	Subdir   string `json:"subdir"`
	// Requirements that a node must fulfil, and what it communicates with.
	Requirements []requirement.Requirement `json:"requirements,omitempty"`
	Stack        stack.Stack               `json:"stack"`
	// Alignment in bytes of the most narrowly laid out program or library, which a
	// node's pages must not exceed, and the package it is from; 0 = not known.
	Alignment        int    `json:"alignment,omitempty"`
	AlignmentPackage string `json:"alignment_package,omitempty"`
	// Problem: why it cannot be made at all.
	Problem string `json:"problem,omitempty"`
}

// Kind of node: nodes with equal facts as far as selection looks.
type Kind struct {
	// Digest identifies it: 16 hex digits over the other fields but Label.
	Digest string `json:"digest"`
	// Subdir is the conda subdir; "" = a machine that hpcenv does not serve.
	Subdir string `json:"subdir"`
	// Virtuals of the node, by name; Ancestors of its microarchitecture.
	Virtuals  []requirement.Virtual `json:"virtuals,omitempty"`
	Ancestors []string              `json:"ancestors,omitempty"`
	// PageSize in bytes, 0 = not known.
	PageSize int `json:"page_size,omitempty"`
	// Networks that are active, by facts.Network.Kind, in the order of
	// facts.NetworkKinds: fabrics before Ethernet.
	Networks []string `json:"networks,omitempty"`
	// GPU: it has a usable one. Driver is its driver's version.
	GPU    bool   `json:"gpu,omitempty"`
	Driver string `json:"driver,omitempty"`
	// Models of its GPUs, as people call them (H100), sorted.
	Models []string `json:"models,omitempty"`
	// Assumed: nothing was read on such nodes; Slurm's features and GRES stand in.
	Assumed bool `json:"assumed,omitempty"`
	// Label for people: "x86-64 H100 InfiniBand".
	Label string `json:"label"`
}

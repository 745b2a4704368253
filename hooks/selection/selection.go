// Package selection decides which environment each kind of node gets. It is a pure
// function: no I/O, no clock, the same answer for the same input in any order.
//
// Enters: the environments of a lock with what they ask of a node, the kinds of
// node, the user's wish, the project's order and the site's rules. Leaves: a Plan
// with a reason for every decision, or an error that lists the candidates.
//
// The names of environments mean nothing, except default as the last tie-break.
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
	// Networks that are active, by facts.Network.Kind, the fastest first.
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

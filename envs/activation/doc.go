// Package activation describes what activating an environment changes, as
// data: a Patch.
//
// Enters: a prefix's tree (FromTree), the pinned part of a project's manifest
// (Manifest), and the environment variables of a process as "NAME=value"
// strings. Leaves: a Patch that holds only set and unset, with final values,
// which a caller applies, hands to Slurm, or renders for a shell (Render).
//
// An activation has two layers. The common layer (PATH, CONDA_PREFIX, the
// project's identity) is equal on every node, because a prefix has one path
// everywhere. The platform layer (variables that packages declare, what
// activate.d and the project's scripts compute, [activation.env]) may differ
// between architectures. The environment carries how to undo each of them
// (HPCENV_UNDO), so that a step on a node of another architecture replaces the
// platform layer only, and a step with another environment replaces both;
// what a user's script changed meanwhile stays.
//
// Undoing is by data, never by deactivate.d: these scripts come from another
// environment than the one that is being activated, on a node that may not have
// it, and what they would restore is in the record already. Static lists them for
// those who want to look.
//
// No package or user code runs here except in RunScripts.
package activation

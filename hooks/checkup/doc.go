// Package checkup looks at one node for a person: what it is, where that is known
// from and how old it is, and what the checks before a launch say of an environment
// there.
//
// Enters: the node's records of its facts and its GPUs if it keeps any, else its
// files and its GPU driver, asked by a child program as the user who runs this; the
// variables of the process; the files of a store. Leaves: a Host, and for an
// environment the report of package preflight. Nothing is written, no code of the
// environment runs, root is never needed.
package checkup

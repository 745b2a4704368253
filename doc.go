// Package hpcenv gives every node of a Slurm job the locked environment that
// fits that node.
//
// The rooms of the house, and the one direction in which imports point:
//
//	cmd → daemon → {slurm, hooks} → envs → cache
//
// daemon/api (wire types and the client) is a leaf: hooks and cmd may use it,
// and it imports nothing of this module but types (internal/making), which it has in
// common with the store's descriptions of environments.
package hpcenv

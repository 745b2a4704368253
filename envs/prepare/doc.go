// Package prepare is the engine that goes from a lock's bytes to published
// environments.
//
// Enters: a Request (the lock, which environments, which platforms) and Deps
// (the store, how archives are fetched, which platforms the cluster has,
// which Pythons the site offers to locks that name none).
// Leaves: the environments in the store, the lock and its index under
// locks/<digest>/, and a Result that says what was there and what is new.
//
//	run.go       the order of the steps
//	fast.go      the same request again: three small reads, no parsing
//	wishes.go    locks that name neither environments nor a Python: wishes instead
//	targets.go   which environments for which platforms, and what forbids them
//	index.go     what is kept with a lock
//	packages.go  what is missing: fetched once, published with one sync
//	local.go     packages that lie in files
//	link.go      one materialization per id and platform
//	progress.go  one stream of events
//
// Everything may be stopped at any time: what was published stays, and the next
// run goes on from there.
package prepare

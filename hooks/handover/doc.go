// Package handover is what a submission leaves for the daemon, and the names that
// administrators give to environments: the forms in which they lie in a store.
//
// Enters: the pin of a submission. Leaves: a lease at the daemon, over its socket, or a
// file of inbox/ which it takes in later. Submitting never waits longer than a moment for
// it, and never fails for it.
package handover

// Package prepared finds what a store holds prepared, by reading its files: no
// daemon, no index, nothing written. Submissions, nodes and the launcher without
// SPANK all look here.
//
// What needed a credential lies in parts of the store that are groups' own; they are
// looked at as stores of their own, those of this process's groups only.
//
// Enters: a store's root, a lock's digest, an environment's name or id. Leaves: ids
// and platforms, what is known of a published environment (materialize.Meta), pinned
// activations, and whether a prefix is there for programs of this host.
package prepared

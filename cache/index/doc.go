// Package index is a cache, in SQLite on the daemon's own disk, of what is costly to ask
// of the store: which environments there are, how big they are, what is in them, when
// they were last used, and who asked for what.
//
// Enters: rows about what was published, used and asked for. Leaves: answers in
// milliseconds. The store is the truth: whatever was lost with the index is read from it
// again (Reconcile), but for what it does not hold, which Lost names: when environments
// were last used, and who asked for what. Until an index was compared with the store it
// says so (Reconciled), and nothing is collected by it.
//
// The file lies on local disk, never on NFS or Lustre, whose locks SQLite cannot rest on.
// One process uses it.
package index

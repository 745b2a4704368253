// Package cache is the content-addressed package store of a cluster or of one
// user: it fetches archives, verifies them, unpacks them into files by content
// and publishes one manifest per package.
//
// Enters: a Source (where an archive lies and what its digests are) and an
// Interpreter that knows one kind of package. Leaves: a Manifest, whose entries
// name pool files by digest. The package knows nothing of environments, conda
// or Slurm.
//
// Layout and rules: see Store. Everything becomes visible by one rename; a
// reader never sees a part, and after a kill at any instant the store is valid.
package cache

// Package cache is the content-addressed package store of a cluster or of one
// user: it fetches archives, verifies them, unpacks them into files by content
// and publishes one manifest per package.
//
// Enters: a Source (where an archive lies and what its digests are) and an
// Interpreter that knows one kind of package. Leaves: a Manifest, whose entries
// name pool files by digest. The package knows nothing of environments, conda
// or Slurm.
//
// The way of a package: Store.Fetch (or ImportArchive, for bytes that a client
// brings) puts a verified archive into archives/; Store.Stage unpacks it, files
// going to pool/ under their digest; a Batch makes many packages durable with
// one sync and publishes their manifests. Ensure and EnsureAll do all of it, so
// that of several processes that want one package, one works and the others
// wait. A Linker then gives files their names in an environment.
//
// Where an archive is asked for, and what that host is shown, is package remote's to
// say (mirrors, credentials, buckets, registries); one transfer serves all: it
// resumes, keeps to the host policy, and verifies before anything is seen. What a
// credential opened for some users lies in a part of the store of its own
// (Store.Private), and a user's own store takes such content only if not everybody may
// look into it.
//
// Everything becomes visible by one rename; a reader never sees a part, and
// after a kill or a power cut at any instant the store is valid and the next
// call goes on from what was complete. Locks spare double work, no rule of
// validity rests on them. Only the store's owner writes.
package cache

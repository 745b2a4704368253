// Package uvlock reads uv.lock files and chooses from them.
//
// Enters: the bytes of a uv.lock (version 1, any revision); a target (platform,
// Python, glibc) and a selection (extras, groups, member). Leaves: the packages
// to install, each with the one file that fits the target best, or one error
// that names everything that cannot be had.
//
// A uv.lock holds the packages of all platforms and Pythons at once, so reading
// one is not enough: the graph is walked from the project along the
// dependencies whose markers hold. Nothing is solved: each dependency names the
// one entry that it means. Where the lock declares extras or groups that
// exclude one another, its markers ask which of them are active; those are
// found in a first walk.
//
//	model.go      what a lock says
//	parse.go      the file to the model
//	sources.go    where an entry comes from
//	resolve.go    dependencies to entries
//	roots.go      where a walk begins: members, extras, groups
//	walk.go       the walk
//	conflicts.go  what excludes one another, and how markers ask for it
//	deliver.go    an entry to its file
//	defaults.go   what the lock leaves to pyproject.toml
//
// Nothing here does I/O.
package uvlock

// Package project reads what lies around a lock: where the lock itself is, and
// the part of the project's manifest (pixi.toml, [tool.pixi] of
// pyproject.toml) that activation needs.
//
// Enters: a directory or a file name of the submitting user. Leaves: the path
// of a lock (FindLock), a Project (Load), and the activation.Manifest of an
// environment (Project.Activation) with the contents of its scripts, in a
// canonical form that is pinned by digest (Canonical).
//
//	find.go        the nearest lock, by name
//	notlock.go     files that are no lock, by content
//	wish.go        what lies beside a uv.lock or pylock.toml and decides what is meant
//	toml.go        TOML to an ordered tree with line numbers
//	manifest.go    the tree to a Project
//	platforms.go   the platforms of a workspace, and what [target] matches
//	activation.go  features, targets and scripts merged for an environment
//	canonical.go   the bytes that are pinned
//
// Dependencies in a manifest are not looked at: the lock has the answer.
package project

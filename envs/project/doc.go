// Package project reads what lies around a lock: where the lock itself is, and
// the project's manifest (pixi.toml, [tool.pixi] of pyproject.toml).
//
// Enters: a directory or a file name of the submitting user. Leaves: the path
// of a lock (FindLock), a Project (Load), and of each of its environments the
// activation.Manifest (Project.Activation) with the contents of its scripts, in
// a canonical form that is pinned by digest (Canonical), its platforms,
// channels, what it asks of packages and machines, and its tasks.
//
//	find.go        the lock of a directory, or the nearest upwards
//	notlock.go     files that are no locks
//	wish.go        what lies beside a uv.lock or pylock.toml and decides what is meant
//	manifest.go    Load and the types behind a Project
//	read.go        the tree of a file to a Project
//	workspace.go   channels, indexes, system requirements
//	platforms.go   platforms, and what [target] matches
//	activation.go  features, targets and scripts merged for an environment
//	conda.go       the conda packages that an environment asks for
//	pypi.go        its Python packages, pyproject.toml's included
//	tasks.go       its tasks, as written
//	canonical.go   the bytes that are pinned
//
// Nothing is chosen here: whether a lock has what a manifest asks for is said by
// package satisfy, what a task does by package task.
package project

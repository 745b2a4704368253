// Package lockfile reads lock files into one domain type.
//
// Enters: the bytes of a pixi.lock (versions 6 and 7). Leaves: a Lock, whose
// packages are complete (what the file leaves out is derived from an entry's
// location), and the canonical record of each package.
//
//	reader.go      YAML to a plain tree with line numbers; duplicate keys fail here
//	block.go       the same tree, faster, for what is written as pixi writes
//	decode.go      typed reading of that tree
//	version.go     the version number and what to do about others
//	model_v6.go    what version 6 looks like; frozen
//	model_v7.go    what version 7 looks like; frozen
//	convert.go     entries and references to the domain type, with convert_v6.go
//	               and convert_v7.go for what the versions do differently
//	derive.go      what follows from a location
//	location.go    URLs and paths, credentials
//	select.go      the environment and platform that was asked for
//	check.go       what must hold before a platform can be installed
//	record.go      the canonical record
//
// Nothing here reads a file or the network, and nothing is solved: a lock is
// taken as it is (as pixi does with --frozen) or refused.
//
// Platforms that are not Linux are read and checked like the others, and then
// passed over.
package lockfile

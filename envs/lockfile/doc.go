// Package lockfile reads lock files into one domain type.
//
// Enters: the bytes of a pixi.lock (versions 4 to 7), of a conda-lock.yml
// (version 1) or of an @EXPLICIT list; which of them, their content tells, never
// a name (Detect). Leaves: a Lock (Parse), whose packages are complete (what the
// file leaves out is derived from an entry's location), and the canonical record
// of each conda package. A uv.lock and a pylock.toml are recognized; readers of
// their own choose from them what a target needs, and make PyPIPackages of it.
//
//	format.go      what kind of lock a file is, and what is none
//	parse.go       the one door
//	reader.go      YAML to a plain tree with line numbers; duplicate keys fail here
//	block.go       the same tree, faster, for what is written as pixi writes
//	decode.go      typed reading of that tree
//	fields.go      the keys that versions have in common
//	version.go     the version number and what to do about others
//	model_vN.go    what version N looks like; frozen. convert_vN.go: what it means
//	explicit.go    lists of URLs
//	convert.go     what all of them do to make entries the domain type
//	derive.go      what follows from the location of a conda archive
//	pypi.go        Python packages; pypi_location.go: what follows from a location
//	location.go    URLs and paths, credentials
//	select.go      the environment and platform that was asked for
//	check.go       what must hold before a platform can be installed
//	record.go      the canonical record
//
// Nothing here reads a file or the network, and nothing is solved: a lock is
// taken as it is (as pixi does with --frozen) or refused.
//
// Platforms that are not Linux are read and checked like the others, and kept
// apart.
package lockfile

// Package image makes a prefix one file: a squashfs image, and checks such files.
//
// Enters: a finished tree on this host (package materialize stages it) and the file
// to write. Leaves: the file, verified, and a Record of it: its size, sha256,
// superblock, and what made it.
//
//	types.go       deliveries, the Record, errors
//	tool.go        mksquashfs: where it is, its version and libzstd's
//	build.go       one run of it, bounded in memory and processors
//	superblock.go  the first 96 bytes of an image, read without trusting them
//	check.go       is this open file the image of that Record?
//	room.go        is there room, before anything is made?
//	stripe.go      laying the file over the servers of Lustre
//	flush.go       onto the disk while it is made
//	read*.go       what an image holds, read without mounting it
//	unpack.go      the tree again
//
// An image's bytes depend on the tree digest, mksquashfs, libzstd and the recorded
// options alone: owners, times and modes are not those of the tree's files but fixed
// (root; 1980-01-02; 0555, and 0444 for files that nobody executes), hard links are
// separate files whose blocks are shared, and neither the number of processors nor
// memory decides anything. A whole image belongs to root inside, whoever built it.
//
// What is not here: where images lie, when they are made and by whom (packages cache,
// materialize and prepare), and how they are mounted.
package image

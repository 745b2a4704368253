// Package stack generates a set of conda packages that looks like a real Python
// stack to a file system, for benchmarks.
//
// Enters: a Spec (how many files and packages, of what sizes). Leaves: a folder
// with .conda archives by subdir and a Channel that lists them. The same Spec
// gives the same bytes. It shares no code with what reads and links packages.
//
//	spec.go     what is generated, and the size distribution
//	shape.go    packages, directories and which file lies where
//	content.go  what is in the files
//	archive.go  the .conda container
//	channel.go  all of it on disk, once
//	measure.go  what a finished tree is like, against the Spec
package stack

// Package trace holds the file operations of a process, as far as they are about
// files below one directory (the prefix of an environment).
//
// Enters: the output of strace, or a trace that was written. Leaves: a Trace with
// paths relative to the prefix, which package replay carries out on another copy.
//
//	trace.go    operations
//	format.go   the written form
//	strace.go   what strace says of a process
//	line.go     one line of strace
package trace

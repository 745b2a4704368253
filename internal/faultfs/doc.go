// Package faultfs is a file system for tests: a directory, shown at another
// place by FUSE, where operations are slow or fail as those of real servers do.
// It is for tests only.
//
// Enters: a directory and rules. Leaves: a mount point that obeys them, and how
// often each operation was asked for.
package faultfs

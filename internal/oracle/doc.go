// Package oracle compares hpcenv's prefixes with those of rattler, the library
// below pixi.
//
// Enters: a lock file whose packages are archives on this machine. Leaves: the
// list of differences between what the two make of it, at one and the same
// prefix path. Both read the same lock; nothing is compared that one of the two
// told the other.
//
// Lock files are compared too (CompareLocks): every field of every entry that the
// two read in a lock, and what they read in the lock that rattler writes from it.
//
// rattler is driven through its Python binding (py-rattler), which lives in a
// virtual environment that contrib/setup/oracle.sh makes. One Python process
// takes all jobs, so that hundreds of installs take seconds.
//
// What may differ is written down in Allowed (prefixes) and AllowedLocks, entry by
// entry, with its reason; the tests (build tag oracle) fail for a difference that is not there and for
// an entry that nothing needs any more.
package oracle

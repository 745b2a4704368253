// Package watch prepares locks when they change: those that an administrator names, by
// path, directory or pattern.
//
// Enters: the names, and the files that they stand for. Leaves: prepared environments, and
// for each lock what came of it.
//
// The files are others' and are believed as little as a request. What is opened is a
// regular file in the end, never through a link, of bounded size; nothing that lies beside
// a lock counts (no manifest is read), and nothing that a lock names is opened. A lock is
// taken once it has not changed for a moment, so that a writer is not met half way.
package watch

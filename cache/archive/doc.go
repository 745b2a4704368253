// Package archive reads package archives without writing anything: .conda (a
// ZIP of zstd-compressed tars, read through its central directory), .tar.bz2,
// .tar.gz, .tar.zst, and .whl (a ZIP of the files themselves).
//
// Enters: the archive's bytes and Limits. Leaves: one call of a Visitor per
// member, in the archive's order, with a checked name; of a wheel the list of
// its members, whose contents may then be read in any order and at once. The
// package opens no file and follows no link, so that no archive can reach beyond
// its reader. Nothing is final before Read has returned nil (of a wheel: before
// every content was read to its end): only then are the checksums of the
// containers known to be right and the archive known to be whole.
package archive

import "errors"

var (
	// ErrIntegrity: the archive is truncated, damaged, or lacks a part.
	ErrIntegrity = errors.New("integrity check failed")
	// ErrUnsafe: the archive tries what could harm a store or a host.
	ErrUnsafe = errors.New("refused as unsafe")
)

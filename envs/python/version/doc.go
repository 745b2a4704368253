// Package version knows the versions of Python packages and interpreters, and
// the clauses that choose among them (PEP 440).
//
// Enters: the text of a version ("1.0rc1") or of a list of clauses
// (">=3.10, <4"). Leaves: a Version that can be compared and printed in its
// normalized form, and a Set that says whether a version satisfies it. Numbers
// have any length: nothing overflows.
//
//	number.go     whole numbers as digits
//	scan.go       reading a text piece by piece
//	version.go    Version: reading, parts, the normalized text
//	compare.go    the order
//	specifier.go  one clause: operator and version
//	set.go        clauses joined by commas
//
// The reference is what the `packaging` library does; the tests compare with it.
package version

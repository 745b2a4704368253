// Package version knows the versions of conda packages and the constraints that
// choose among them.
//
// Enters: the text of a version ("1.0.2k", "2024a", "1!2.0+local") or of a
// constraint (">=1.2,<2|3.*"). Leaves: a Version that can be compared, and a Spec
// that says whether a version satisfies it. Numbers have any length: nothing
// overflows. Nothing here does I/O.
//
//	parse.go    the text of a version to its parts
//	compare.go  the order, prefixes, compatibility
//	spec.go     constraints: what they mean
//	specparse.go  constraints: the text to a tree
//
// The reference is rattler's order and constraints; the tests compare with it.
package version

// Package pyproject reads what a pyproject.toml declares of a Python project
// (PEP 621, PEP 735, and what uv adds), without running anything.
//
// Enters: the bytes of a pyproject.toml. Leaves: name, version, requirements with
// their extras, dependency groups with what they include, where packages come from,
// and the line of each. What is dynamic is named, not guessed.
//
//	pyproject.go  the file to a Project
//	groups.go     dependency groups
//
// Nothing here does I/O.
package pyproject

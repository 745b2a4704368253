// Package uvsync compares, end to end, what `hpcenv prepare` makes of a uv.lock with
// what `uv sync --frozen` makes of it: the wheels that an index here serves, locked by
// uv itself, for several selections. It has no code but its test (build tag oracle).
package uvsync

// Package editables compares editable installs: those of `uv pip install -e`,
// which asks each project's own build backend, with the overlays of hpcenv, which
// read the project's files. Enters: the projects of cases.go, written to a
// directory. Leaves: per project what Python says of both (metadata, entry points,
// sys.path, where modules come from, what commands print), which must be equal
// but for what allowed.go names.
package editables

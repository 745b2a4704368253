// Package editable makes of a Python project's source tree what an editable
// install writes, without running any of its code.
//
// Enters: the directory of a project and what the lock says of it (Tree). Leaves:
// a Project (name, version, metadata, what is to be importable from where), and of
// projects and a prefix an overlay: a small directory of the user's own with
// .dist-info, .pth and scripts, named by its content. It is never part of an
// environment's prefix: activation shows it to that prefix's Python through
// OverlayVariable, and the sources stay live.
//
//	read.go        pyproject.toml to a Project; which build backend it has
//	refuse.go      why a project cannot be used so, and what to do
//	value.go       taking values out of pyproject.toml
//	fields.go      the standard [project] table
//	people.go      authors and maintainers
//	text.go        readme and licence
//	dynamic.go     versions that are written in the sources
//	assign.go      constants of a Python source, read as text
//	backend_*.go   how each build backend finds what is importable
//	metadata.go    METADATA
//	files.go       all files of an overlay
//	finder.go      the module that finds what a .pth line cannot express
//	overlay.go     writing an overlay, and finding it again
//	commit.go      commit and state of a source tree, asked of git with all that a
//	               repository could make it run switched off
//	hook.go        the line of each prefix by which its Python finds the overlay
//
// The reference is `uv pip install -e` with the project's own backend: the same
// names and entry points, the same importable modules, the same fields of
// METADATA. What cannot be decided from the files alone, or needs a compiler, is
// refused with the reason.
package editable

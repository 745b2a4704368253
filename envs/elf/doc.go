// Package elf says what the programs and libraries of an environment ask of a
// node, read from the files themselves: no package's metadata is believed, and
// nothing is executed.
//
// Enters: an ELF file's content, or a prefix. Leaves: the facts of a file (machine,
// page size, versions, needed libraries, search paths, CUDA code), kept by content;
// of a prefix, what its files ask together, with the file that asks for it (Survey),
// and the files that programs open at run time, which no list of needed libraries
// names (Modules).
//
// Only program headers are relied on, as the loader does: a file without section
// headers is read as well. What a file says of itself is never trusted: every read
// is bounded by the file's size and by budgets.
//
//	facts.go      what is known of a file
//	read.go       reading one: header and program headers
//	dynamic.go    the dynamic section
//	versions.go   versions that are needed and defined
//	fatbin.go     CUDA code
//	machine.go    names of machines
//	view.go       bounded reading; raw.go
//	cache.go      facts by content
//	scan.go       many files at once
//	survey.go     what the files of a prefix ask together; copies.go, floors.go
//	modules.go    files that are opened at run time (modules.txt)
//	listing.go    a prefix as a list of its files
//
// The room loader resolves what a file needs as glibc's loader would.
package elf

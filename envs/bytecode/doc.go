// Package bytecode makes the compiled files (.pyc) of Python sources, once for
// all environments of a store.
//
// Enters: packages with their sources, and the packages of the Python that
// compiles. Leaves: for each source, the pool file that holds its byte-code, or
// why there is none.
//
// A compiled file depends on three things only: the source's bytes, the archives
// that the compiling Python came from, and DriverVersion. Where it will lie, its
// prefix, the machine's architecture, and whatever other packages an environment
// has (sitecustomize, .pth files) play no part. So it is made once and kept as
// content in the pool; pool/pyc/<compiler>/<package> is the table of what a
// package's sources became. Files are validated by an unchecked hash: import
// takes them as they are, whatever the time of the source.
//
// A source with its prefix in it is another one for each prefix. It is compiled once
// all the same, with a stand-in for the environment's id, where that is sure to give
// the bytes that compiling it would give; see patched.go.
//
//	build.go     what is known, what is missing, the order of the work
//	table.go     the tables in the store
//	header.go    what packages ship already
//	patched.go   sources with a prefix in them; hash.go: what their headers need
//	compiler.go  which Python compiles, and the private copy of it that runs
//	sandbox.go   what it runs in; seccomp.go: without other processes
//	pool.go      many sources through few processes; process.go: one of them
//	driver.py    what runs there
package bytecode

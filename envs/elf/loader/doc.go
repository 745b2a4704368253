// Package loader resolves what a program or library needs as the dynamic loader of
// the GNU C library would on a given node, without running anything: does it load,
// and if not, what is missing and who needs it.
//
// Enters: the root of a node's files, what is recorded of a prefix so that it need not
// be read (Recorded), what the node is (machine, page size, levels of its processor), a
// program and the variables it starts with. Leaves: a verdict, with the chain from the
// file that was asked for to the one that needs what is missing.
//
// What is as in the loader: the order of search (RPATH of the file and of those that
// loaded it, LD_LIBRARY_PATH, RUNPATH, /etc/ld.so.cache, default directories), tokens
// ($ORIGIN, $LIB, $PLATFORM), subdirectories of glibc-hwcaps, names under which a
// library is known already, files of other machines (passed over), files that are
// none (an error), versions that a library does not define, alignment for the page
// size.
//
// What is not looked at: LD_PRELOAD and LD_AUDIT; symbols without a version; static
// TLS space; the subdirectories by processor that glibc before 2.37 tries in every
// directory (tls, x86_64, haswell, avx512_1, and their combinations), and entries of
// ld.so.cache for them; kernel versions and processor
// levels that a file's notes ask for.
//
//	system.go   a node: root, default directories, what it can run
//	root.go     files below a root, with links resolved within it
//	recorded.go a directory that is known
//	ldcache.go  /etc/ld.so.cache
//	search.go   where a library is looked for; tokens.go
//	open.go     whether a file can be loaded
//	space.go    a process: what is loaded, and what loading one more gives
//	verdict.go  the answer
package loader

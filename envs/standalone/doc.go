// Package standalone knows Pythons that come as one archive with a whole
// relocatable tree: the install_only archives of python-build-standalone.
//
// Enters: an unpacked archive (cache.Raw); later the manifest made of it. Leaves:
// its entries, without the folder python/ that all of them lie in, and its Meta:
// which Python it is, and what has to be changed in a prefix.
//
// Such a tree runs wherever it lies. Some of its texts name the place where it was
// built (/install) and the compilers of that place; they are changed as uv changes
// them when it installs a Python, so that what asks sysconfig for libraries, headers
// or a compiler gets an answer that is right:
//
//   - _sysconfigdata: words that begin with /install get the prefix; compilers
//     become cc and c++, the archiver ar; PYTHON_BUILD_STANDALONE is 1.
//   - lib/pkgconfig/*.pc: prefix=/install becomes a path relative to the file.
//   - scripts in bin/ of old archives, whose first line is #!/install/bin/python…
//
// Unlike uv, the file's own form stays: only these words change.
//
//	interpret.go  the cache.Interpreter: layout, version, platform
//	meta.go       what is kept of it, and whether that is what a site lists
//	edits.go      the changes; sysconfig.go: those of _sysconfigdata
//	bundled.go    the distributions in its site-packages (pip)
//	elf.go        what its program's header says
package standalone

// Package recipe says which Debian packages make the demo channel and how one
// becomes a conda package.
//
// Enters: .deb files of amd64 and arm64. Leaves: condapkg.Packages, one for each
// Debian package (architecture "all" once, as noarch), and a few packages of
// the demo's own (own.go) that have what Debian's cannot: activation scripts, a
// compiled-in prefix, entry points.
//
// What changes on the way: paths move below one prefix (layout.go); ELF files
// find their libraries relative to themselves (elf.go); what knows /usr, and
// Python's knowledge of Debian's own directories, is edited (edit.go).
package recipe

// Package conda reads what a conda package says of itself.
//
// Enters: an unpacked archive (cache.Raw). Leaves: the entries that may be
// linked, with placeholders and copy requests set, and the package's metadata
// (PackageMeta) for its manifest.
//
// The package decides nothing about prefixes; that is materialize's work. What
// could harm a prefix is refused (cache.ErrUnsafe), what contradicts itself in
// a way that leaves no file to link is refused too (cache.ErrIntegrity), and
// what merely disagrees (a digest in paths.json that is not the archive's) is
// installed as the archive has it and becomes a note.
package conda

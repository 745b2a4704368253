// Package wheel knows what a wheel is and where its files go (the binary
// distribution format, PEP 427 and its successors).
//
// Enters: an unpacked archive (cache.Raw); later the manifest made of it, and the
// layout of the environment's Python. Leaves: the wheel's entries and facts (Meta)
// for its manifest; later the placements that install it.
//
//	filename.go    name and version as the file name has them
//	headers.go     METADATA and WHEEL
//	record.go      RECORD: reading and writing
//	entrypoints.go entry_points.txt
//	ini.go         the form that it has
//	interpret.go   the cache.Interpreter: all that is checked when a wheel comes
//	verify.go      RECORD against the archive
//	meta.go        what is kept of it
//	layout.go      where a Python has what
//	place.go       Place: a pure function from manifest and layout to placements
//	scripts.go     what is written into bin/
//	directurl.go   direct_url.json (PEP 610)
//
// The reference is uv, as pixi uses it: an installed wheel is the same, file by
// file, except that INSTALLER names this program and uv's own notes on its cache
// are not there. It is stricter in this: a content that is not what RECORD says is
// an error (cache.ErrIntegrity), and what programs understand differently is
// refused rather than guessed.
package wheel

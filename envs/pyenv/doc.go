// Package pyenv makes environments of locks that list files for many targets and
// name no Python (uv.lock, pylock.toml), with the Pythons that a site offers.
//
// Enters: such a lock (target.Source), what is wanted of it (python.Wish), the
// platforms of a store, and the site's Offer. Leaves: a lockfile.Environment that
// is called by the wish's text and has the interpreter (conda packages, or an archive
// of python-build-standalone) and what the lock has for each platform, and what keeps
// the other platforms out.
//
//	offer.go  the interpreters that an administrator or a user lists, and reading them
//	make.go   an environment; several.go: those of several names
//	conda.go  an interpreter's packages; standalone.go: or its archive
//
// The result depends on nothing but what enters: the platform that this runs on
// and the platforms that a request names do not count, or one wish would have
// several environment ids. Nothing here does I/O.
package pyenv

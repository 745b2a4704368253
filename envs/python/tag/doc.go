// Package tag knows the compatibility tags of wheels (PEP 425, 600, 656, 703,
// 803) and the file names that carry them (PEP 427, PEP 625).
//
// Enters: the name of a wheel or source archive, and what a target is (Python
// 3.12, glibc 2.28, x86_64). Leaves: the name's parts, the tags that the target
// takes, best first, and how well a wheel fits.
//
//	tag.go        one tag
//	wheel.go      the file names of wheels
//	sdist.go      the file names of source archives
//	platform.go   the platform tags of Linux
//	supported.go  all tags of a Python on platforms, in order
//
// Nothing here asks the machine it runs on.
package tag

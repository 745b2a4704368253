// Package marker knows environment markers (PEP 508, PEP 685, PEP 751): the
// conditions behind the ';' of a requirement and in lock files.
//
// Enters: the text of a marker and an Environment, which describes the Python
// and the platform that packages are chosen for: never the ones that this
// program happens to run on. Leaves: whether the marker holds. What a node's
// kernel says (platform_release, platform_version) is not known when packages
// are chosen; a marker that hangs on it is an error (ErrUnknown), one that is
// decided without it is not.
//
//	environment.go  the variables and their values
//	token.go        the text to tokens
//	parse.go        tokens to a tree
//	evaluate.go     the tree's truth
//	text.go         the tree's canonical text
package marker

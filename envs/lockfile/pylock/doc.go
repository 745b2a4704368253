// Package pylock reads pylock.toml files (PEP 751) and chooses from them.
//
// Enters: the bytes of a pylock.toml, a target (platform, Python, glibc) and a
// selection (extras, groups). Leaves: the packages to install, each with the one
// file that fits the target best, or one error that names everything that cannot
// be had. The file lists what to install; its dependencies are not followed.
//
//	model.go   what a lock says
//	parse.go   the file to the model
//	files.go   where a package comes from
//	select.go  choosing
//
// Nothing here does I/O.
package pylock

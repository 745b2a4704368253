// Package linkscript runs the link scripts of conda packages.
//
// Enters: a Script and the tree of an environment that is not published yet.
// Leaves: what the script changed there, as a list of paths with their contents,
// or why it failed.
//
//	types.go    what is asked and answered
//	copy.go     the private copy of the tree: a script never sees a hard link
//	local.go    one script, in the sandbox of this host
//	watch.go    bounds that the kernel does not keep: bytes, inodes, memory, processes
//	collect.go  what changed, found by content
//	site.go     a site's build on a node, which goes the same way (package sitebuild)
//	spool.go    a script that another account runs on another host
//	pack.go     its task and its answer as files, and what is believed of them
//
// A script is foreign code of which nothing is believed. It sees a copy of the
// prefix at the prefix's own path, /usr and the libraries, read-only, and an empty
// /tmp; no network, store, home or socket. What it leaves behind is looked at
// after all its processes are gone: files, directories and links that stay within
// the prefix count, anything else makes the script a failed one, and a failed
// script changes nothing.
package linkscript

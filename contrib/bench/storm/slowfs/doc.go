// Package slowfs shows a directory as a parallel file system would: read-only,
// at any number of mounts (one per simulated node), with every operation on
// metadata delayed and all of them together limited to a number a second.
//
// Enters: a directory that does not change any more, and a Server that stands for
// the metadata servers. Leaves: mount points, and how often each node asked for
// which operation, and for how many bytes.
//
// It answers the kernel's requests itself, one request one operation, so that
// what is counted is what a client would have sent. The kernel of each mount
// caches names, attributes, missing names, directories and pages as long as it is
// told to, which is the best case of a client that holds locks on what it caches.
//
//	index.go   the directory, read once
//	limit.go   the delay and the limit, which all mounts share
//	count.go   operations by kind
//	fs.go      the answers
//	mount.go   a mount
package slowfs

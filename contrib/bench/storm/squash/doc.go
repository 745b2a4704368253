// Package squash says which compressed blocks of a squashfs image have to be read
// for given operations on its files: the least that mounting and using it can
// cost. It is for measuring, and reads no content of files.
//
// Enters: an image, compressed with zstd. Leaves: what was touched, each block
// once, in bytes of the image.
//
//	image.go   the image: tables, and what was touched
//	inode.go   files, directories, links
//	walk.go    paths
package squash

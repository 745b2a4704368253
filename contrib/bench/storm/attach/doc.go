// Package attach mounts an image on a simulated node in the way that the design
// prescribes (7): the user's process opens the image and configures the loop
// device that root opened, root mounts.
//
// Nothing in here is hpcenv's own: the benchmark needs a mount to measure, and
// this is the seam at which hpcenv's helper takes its place. What is measured of
// it are the operations that the sequence costs on the shared storage and the
// time that mounting and reading an image takes; how the helper checks, locks and
// shares devices is not here. It has to run as root in a mount namespace that is
// the node's own.
//
// Enters: the path of an image, a directory, the user. Leaves: the image's files
// in that directory, until it is released; the kernel gives the loop device back
// with the last process of the namespace, however that ends.
//
//	attach.go  loop device and mount
//	user.go    what the user's process does
//	local.go   a copy on the node's own disk
package attach

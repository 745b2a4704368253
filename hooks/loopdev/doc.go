// Package loopdev makes files block devices, read-only, for as long as something has
// them open or mounted: one device per file and host.
//
// The device that root opened may be configured by a process of the user who can read
// the file: the kernel then reads it with that user's rights, also where the storage
// refuses root.
//
// Enters: an open file. Leaves: an open loop device. The kernel frees a device after its
// last use (autoclear), however that ends.
package loopdev

// Package staging keeps copies of environments' images on a node's own disk, one per
// image, for root: what is mounted then no longer asks the shared storage.
//
// Enters: a file that a process of the user opened in the store, and what was published
// of it. Leaves: the finished copy, open for reading; or an error whose class says whether
// the store's own image will do instead (all but ErrSource).
//
// The contract:
//   - The directory is root's, 0700: groups' images are in it, too. A directory, a file or
//     a link of anybody else is refused, not used.
//   - HASH.sqfs is a copy, 0444; HASH.json what its file was when it was finished (inode,
//     size, time of last change), and by its own time when it was last used; HASH.part a
//     copy in the making; HASH.lock who makes it; room.lock who decides what leaves. What
//     has no HASH.json, or another inode, size or time of change than there, is not used:
//     it is made again. Damage by the disk itself, later than the copying, changes none of
//     these and is not seen.
//   - Copying is done by a process of its own, which reads the descriptor at places (pread):
//     storage that refuses root answers it, since the user opened it; and a read that hangs
//     hangs nobody else. It outlives the launch that started it, and the next one finds
//     what it made. Its digest must be the published one; the copy is then read back from
//     the disk and must have it as well. Killed, it leaves a part that the next removes.
//   - What leaves is decided whole (Plan) before anything is removed. An image that a loop
//     device shows never leaves. One that is opened at that very moment stays readable for
//     whoever opened it.
package staging

// Package staging keeps copies of environments' images on a node's own disk, one per
// image, for root: what is mounted then no longer asks the shared storage.
//
// Enters: a file that a process of the user opened in the store, and what was published
// of it. Leaves: the finished copy, open for reading; or an error whose class says whether
// the store's own image will do instead (all but ErrSource). Or, without a file: what root
// noted of an environment's copy when it was made (Keep, Known).
//
// The contract:
//   - The directory is root's, 0700: groups' images are in it, too. A directory, a file or
//     a link of anybody else is refused, not used.
//   - HASH.sqfs is a copy, 0444; HASH.json what its file was when it was finished (inode,
//     size, time of last change), and by its own time when it was last used; HASH.part a
//     copy in the making; HASH.lock who makes it; turn-N.lock who is one of the few that
//     copy at once; room.lock who decides what leaves. What has no HASH.json, or another
//     inode, size or time of change than there, is not used: it is made again. Damage by
//     the disk itself, later than the copying, changes none of these and is not seen.
//   - PART-ID.env says which copy is an environment's, PART being a digest of the store's part and
//     the platform; PART-ID.texts what a launch would read of it, PART-HASH.act what a
//     project's manifest adds. They go with the copy, or as the oldest of many.
//   - Copying is done by a process of its own, which reads the descriptor at places (pread):
//     storage that refuses root answers it, since the user opened it; and a read that hangs
//     hangs nobody else. It outlives the launch that started it, and the next one finds
//     what it made. Its digest must be the published one; the copy is then read back from
//     the disk and must have it as well. Killed, it leaves a part that the next removes.
//   - The copier leaves the step that started it (hooks/outside). Where it cannot, it is
//     killed with the step, as above.
//   - What leaves is decided whole (Plan) before anything is removed. An image that a loop
//     device shows, or that a process has open from here (a lock on the open file says so),
//     never leaves. One that is opened at that very moment stays readable for whoever
//     opened it.
package staging

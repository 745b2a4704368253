// Package making holds what is kept and told of how an environment was made. The
// store's description of an environment (materialize.Meta) and the API's answers
// have these types in common, as JSON; neither side may import the other.
//
// Enters and leaves: nothing; there are only types here.
package making

// Cost is how an environment's files came to their place and what that took of
// the store's file system, beyond what the pool held already.
type Cost struct {
	// Method is how files of the pool are placed there: hardlink, reflink or
	// copy. It was found out by trying it.
	Method string `json:"method"`
	// Files by how they came: names of the pool's inodes (of empty files, which
	// the pool has not, those after the first); own inodes with the pool's blocks;
	// own copies of the pool's content (what must not share an inode, too); and
	// written ones (patched, generated, empty).
	Hardlinks int `json:"hardlinks"`
	Reflinks  int `json:"reflinks"`
	Copies    int `json:"copies"`
	Written   int `json:"written"`
	// Siblings are copies of pool files that were added to the pool since an
	// inode had all the links that it takes; other environments use them, too.
	Siblings int `json:"siblings,omitempty"`
	// Inodes that were made: directories (the prefix itself as well), symbolic
	// links, all files but hard links, and siblings.
	Inodes int `json:"inodes"`
	// Bytes that were written: those of copies, written files and siblings.
	Bytes int64 `json:"bytes"`
}

// ByteCode counts the compiled files (.pyc) of an environment's Python sources.
type ByteCode struct {
	// Files are all that stand for a source; of those, Kept and Headed were
	// shipped by packages (Headed got a new header), Patched belong to sources
	// with the prefix in them and are this environment's own. The others were
	// compiled, for this environment or for one before it.
	Files   int `json:"files"`
	Kept    int `json:"kept,omitempty"`
	Headed  int `json:"headed,omitempty"`
	Patched int `json:"patched,omitempty"`
	// Failed sources do not compile; the environment's notes name them.
	Failed int `json:"failed,omitempty"`
	// Own are the digests, by path, of those of the Patched whose sources take the
	// prefix apart: they are compiled for each prefix, and only a compiler could
	// tell them again.
	Own map[string]string `json:"own,omitempty"`
	// Processes is how many compilers were started for this environment: 0 where
	// other environments had all of it.
	Processes int `json:"processes"`
	// Skipped says why there is no byte-code at all.
	Skipped string `json:"skipped,omitempty"`
}

// Script is what became of a link script that was run.
type Script struct {
	// Package as name-version-build; Script below the prefix.
	Package string `json:"package"`
	Script  string `json:"script"`
	// Failed says why it failed ("" = it did not), Output the end of what it then
	// had printed.
	Failed string `json:"failed,omitempty"`
	Output string `json:"output,omitempty"`
	// Messages are what it tells the user.
	Messages string `json:"messages,omitempty"`
	// Changed counts paths that it added, changed or removed; Ignored are those
	// that it may not change.
	Changed int      `json:"changed"`
	Ignored []string `json:"ignored,omitempty"`
}

// Package is a locked package of an environment. URL is without credentials; Size
// is that of its archive, in bytes.
type Package struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Build   string `json:"build"`
	SHA256  string `json:"sha256"`
	// Kind is "" for a conda package, "wheel" for a wheel, "interpreter" for a Python
	// that comes as an archive of its own.
	Kind string `json:"kind,omitempty"`
	URL  string `json:"url"`
	Size int64  `json:"size"`
}

// Image is an environment as one squashfs file, as it was published.
type Image struct {
	// Size in bytes and SHA256 are those of the whole file.
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	// TreeDigest is that of the tree it was made of.
	TreeDigest string `json:"tree_digest"`
	// Superblock is what the file begins with.
	Superblock Superblock `json:"superblock"`
	// Mksquashfs and Libzstd are the versions of what made it ("" = not known), and
	// Options what decides its bytes: with all three the same, one tree digest gives
	// the same bytes.
	Mksquashfs string   `json:"mksquashfs"`
	Libzstd    string   `json:"libzstd,omitempty"`
	Options    []string `json:"options"`
	// Stripes over which a parallel file system was told to lay it; 0 = it was not.
	Stripes int `json:"stripes,omitempty"`
}

// Superblock holds the fields of a squashfs superblock (format 4.0) that tell one
// image from another. Sizes and places are in bytes from the file's start.
type Superblock struct {
	Inodes      uint32 `json:"inodes"`
	Time        uint32 `json:"time"` // of making, seconds of the epoch
	BlockSize   uint32 `json:"block_size"`
	Fragments   uint32 `json:"fragments"`
	Compression uint16 `json:"compression"` // 6 = zstd
	Flags       uint16 `json:"flags"`
	IDs         uint16 `json:"ids"`
	RootInode   uint64 `json:"root_inode"`
	BytesUsed   uint64 `json:"bytes_used"`
	IDTable     uint64 `json:"id_table"`
	XattrTable  uint64 `json:"xattr_table"`
	InodeTable  uint64 `json:"inode_table"`
	DirTable    uint64 `json:"dir_table"`
	FragTable   uint64 `json:"frag_table"`
	ExportTable uint64 `json:"export_table"`
}

package materialize

import (
	"github.com/hpcenv/hpcenv/cache"
)

// Cost is how an environment's files came to their place and what that took of
// the store's file system, beyond what the pool held already.
type Cost struct {
	// Method is how files of the pool are placed there: hardlink, reflink or
	// copy. It was found out by trying it.
	Method string `json:"method"`
	// Files by how they came: names of the pool's inodes (of empty files, which
	// the pool has not, those after the first); own inodes with the pool's blocks; own copies of the pool's content (what must not share an
	// inode, too); and written ones (patched, generated, empty).
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

// add counts a file.
func (r *Result) add(m made) {
	switch {
	case !m.pooled:
		r.Cost.Written++
	case m.method == cache.Hardlink:
		r.Cost.Hardlinks++
		r.Linked++
		return // nothing new
	case m.method == cache.Reflink:
		r.Cost.Reflinks++
		return // a new inode with the pool's blocks
	case m.method == cache.Created:
		r.Cost.Written++
	default:
		r.Cost.Copies++
	}
	r.BytesNew += m.Size
}

// total adds up the cost, once all files are counted.
func (r *Result) total(method cache.Method, siblings int, bytes int64) {
	r.Cost.Method, r.Cost.Siblings = method.String(), siblings
	r.Cost.Inodes = 1 + r.Dirs + r.Links + r.Files - r.Linked + siblings
	r.Cost.Bytes = r.BytesNew + bytes
}

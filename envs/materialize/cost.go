package materialize

import (
	"github.com/hpcenv/hpcenv/cache"
)

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

package materialize

import (
	"bytes"

	"github.com/hpcenv/hpcenv/cache"
)

// Predict is what Execute would cost, without writing anything, where files are
// placed by method (as Cost has it; "" = hard links work). Inodes are exact as
// long as no inode runs out of links; bytes are, but for text whose first line
// becomes too long for a script and for Unknown compiled files. It reads the pool where one content is in the
// prefix several times.
func (p *Plan) Predict(store *cache.Store, method string) (Cost, error) {
	w := &writer{plan: p, store: store, repeat: make([]bool, len(p.Ops))}
	if err := w.findRepeats(p.Ops); err != nil {
		return Cost{}, err
	}
	c := Cost{Method: method, Inodes: 1}
	if method == "" {
		c.Method = cache.Hardlink.String()
	}
	inPrefix := map[string]content{}
	var empty [2]bool
	for i := range p.Ops {
		op := &p.Ops[i]
		c.Inodes++
		switch op.Kind {
		case KindDir, KindSymlink, KindRecord:
		case KindFile:
			countPlaced(&c, op, w.repeat[i], &empty[executable(op.Exec)])
		case KindPatch, KindData:
			size := int64(len(op.Data)) + p.unknown[op.Path]
			if op.Kind == KindPatch {
				size = op.Size + op.growth(p.Prefix)
			}
			c.Written++
			c.Bytes += size
			// A digest's value does not matter for a record's length.
			inPrefix[op.Path] = content{SHA256: noDigest, Size: size}
		}
	}
	for i := range p.Ops {
		if p.Ops[i].Kind != KindRecord {
			continue
		}
		data, err := p.recordJSON(p.Ops[i].Owner, inPrefix, nil)
		if err != nil {
			return Cost{}, err
		}
		c.Written++
		c.Bytes += int64(len(data))
	}
	return c, nil
}

// countPlaced counts a file of the pool whose inode was counted. empty: there is an
// empty file already, of which another can be a name.
func countPlaced(c *Cost, op *Op, repeat bool, empty *bool) {
	links := c.Method == cache.Hardlink.String()
	switch {
	case op.Size == 0 && !op.Copy && links && *empty:
		c.Hardlinks++
		c.Inodes--
	case op.Size == 0:
		*empty = *empty || !op.Copy
		c.Written++
	case c.Method == cache.Reflink.String():
		c.Reflinks++
	case c.Method == cache.Copy.String() || op.Copy || repeat:
		c.Copies++
		c.Bytes += op.Size
	default:
		c.Hardlinks++
		c.Inodes--
	}
}

// noDigest stands for a digest that is not known.
var noDigest = string(bytes.Repeat([]byte("0"), 64))

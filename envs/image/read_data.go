package image

import (
	"fmt"
	"io"
)

// Of a block's length: the block is not packed.
const notPacked = 1 << 24

// maxFrags bounds the fragments that are kept, unpacked: files that lie together are
// read together.
const maxFrags = 8

// blocks reads the contents of files.
type blocks struct {
	r      io.ReaderAt
	size   uint32 // of a block
	end    uint64
	unpack *unpacker
	table  []fragment
	frags  map[uint64][]byte
}

// read returns a block that must hold want bytes; want < 0: any number.
func (b *blocks) read(at uint64, length uint32, want int) ([]byte, error) {
	n := length &^ notPacked
	if n > b.size {
		return nil, fmt.Errorf("%w: a block of %d bytes", ErrFormat, n)
	}
	data, err := readAt(b.r, at, int(n), b.end)
	if err == nil && length&notPacked == 0 {
		data, err = b.unpack.frame(data, int(b.size))
	}
	if err == nil && want >= 0 && len(data) != want {
		err = fmt.Errorf("%w: a block holds %d bytes, not %d", ErrFormat, len(data), want)
	}
	return data, err
}

// tail is the end of a file, in a fragment.
func (b *blocks) tail(number, offset uint32, n int) ([]byte, error) {
	if uint64(number) >= uint64(len(b.table)) {
		return nil, fmt.Errorf("%w: fragment %d of %d", ErrFormat, number, len(b.table))
	}
	f := b.table[number]
	data, ok := b.frags[f.at]
	if !ok {
		var err error
		if data, err = b.read(f.at, f.size, -1); err != nil {
			return nil, err
		}
		if len(b.frags) >= maxFrags {
			clear(b.frags)
		}
		b.frags[f.at] = data
	}
	if uint64(offset)+uint64(n) > uint64(len(data)) {
		return nil, fmt.Errorf("%w: bytes %d to %d of a fragment of %d", ErrFormat, offset, uint64(offset)+uint64(n), len(data))
	}
	return data[offset : int(offset)+n], nil
}

// content is that of one file.
type content struct {
	b    *blocks
	n    *inode
	at   uint64 // of the next block
	left uint64
	i    int
	buf  []byte
}

func (b *blocks) open(n *inode) io.Reader { return &content{b: b, n: n, at: n.start, left: n.size} }

// Read implements io.Reader.
func (c *content) Read(p []byte) (int, error) {
	if len(c.buf) == 0 {
		if c.left == 0 {
			return 0, io.EOF
		}
		if err := c.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.buf)
	c.buf = c.buf[n:]
	return n, nil
}

// next reads the next block, or the tail.
func (c *content) next() (err error) {
	want := int(min(c.left, uint64(c.b.size)))
	switch {
	case c.i < len(c.n.lengths):
		length := c.n.lengths[c.i]
		c.i++
		if length == 0 { // a hole
			c.buf = make([]byte, want)
			break
		}
		if c.buf, err = c.b.read(c.at, length, want); err != nil {
			return err
		}
		c.at += uint64(length &^ notPacked)
	case c.n.fragment != noFragment:
		if c.buf, err = c.b.tail(c.n.fragment, c.n.offset, want); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%w: a file of %d bytes has %d blocks and no tail", ErrFormat, c.n.size, len(c.n.lengths))
	}
	c.left -= uint64(want)
	return nil
}

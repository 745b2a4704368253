package image

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// metaSize is how much a block of metadata holds.
const metaSize = 8192

// maxCached bounds the metadata blocks that are kept, unpacked.
const maxCached = 4096

// unpacker takes zstd frames apart, of which none may be larger than a data block.
type unpacker struct{ dec *zstd.Decoder }

func newUnpacker() (*unpacker, error) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(2*maxBlock))
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	return &unpacker{dec}, nil
}

// frame unpacks one; more than limit bytes are an ErrFormat error.
func (u *unpacker) frame(in []byte, limit int) ([]byte, error) {
	out, err := u.dec.DecodeAll(in, make([]byte, 0, limit))
	if err != nil || len(out) > limit {
		return nil, fmt.Errorf("%w: a block cannot be unpacked (%d bytes from %d, %v)", ErrFormat, len(out), len(in), err)
	}
	return out, nil
}

// readAt reads n bytes that must lie before end.
func readAt(r io.ReaderAt, at uint64, n int, end uint64) ([]byte, error) {
	if at > end || uint64(n) > end-at {
		return nil, fmt.Errorf("%w: it names bytes %d to %d of %d", ErrFormat, at, at+uint64(n), end)
	}
	b := make([]byte, n)
	if _, err := r.ReadAt(b, int64(at)); err != nil {
		return nil, fmt.Errorf("read at byte %d: %w", at, err)
	}
	return b, nil
}

// block is a block of metadata, unpacked, and where the next begins.
type block struct {
	data []byte
	next uint64
}

// metadata reads the tables of an image.
type metadata struct {
	r      io.ReaderAt
	end    uint64
	unpack *unpacker
	cache  map[uint64]block
}

func (m *metadata) block(at uint64) (block, error) {
	if b, ok := m.cache[at]; ok {
		return b, nil
	}
	head, err := readAt(m.r, at, 2, m.end)
	if err != nil {
		return block{}, err
	}
	h := binary.LittleEndian.Uint16(head)
	n := int(h & 0x7fff)
	if n == 0 || n > metaSize {
		return block{}, fmt.Errorf("%w: a block of metadata of %d bytes at byte %d", ErrFormat, n, at)
	}
	data, err := readAt(m.r, at+2, n, m.end)
	if err == nil && h&0x8000 == 0 {
		data, err = m.unpack.frame(data, metaSize)
	}
	if err != nil {
		return block{}, err
	}
	if len(m.cache) >= maxCached {
		clear(m.cache)
	}
	b := block{data: data, next: at + 2 + uint64(n)}
	m.cache[at] = b
	return b, nil
}

// stream reads on over blocks of metadata from one place.
type stream struct {
	m    *metadata
	next uint64
	rest []byte
}

// stream begins in the block at, skipping skip bytes of it.
func (m *metadata) stream(at uint64, skip uint16) (*stream, error) {
	b, err := m.block(at)
	if err != nil {
		return nil, err
	}
	if int(skip) > len(b.data) {
		return nil, fmt.Errorf("%w: byte %d of a block of %d", ErrFormat, skip, len(b.data))
	}
	return &stream{m: m, next: b.next, rest: b.data[skip:]}, nil
}

// take returns the next n bytes.
func (s *stream) take(n int) ([]byte, error) {
	if n <= len(s.rest) {
		out := s.rest[:n:n]
		s.rest = s.rest[n:]
		return out, nil
	}
	out := make([]byte, 0, min(n, metaSize))
	for {
		k := min(n-len(out), len(s.rest))
		out, s.rest = append(out, s.rest[:k]...), s.rest[k:]
		if len(out) == n {
			return out, nil
		}
		b, err := s.m.block(s.next)
		if err != nil {
			return nil, err
		}
		s.next, s.rest = b.next, b.data
	}
}

// pointers reads a table's list of where its blocks lie: n of them at byte at.
func (m *metadata) pointers(at uint64, n int) ([]uint64, error) {
	raw, err := readAt(m.r, at, 8*n, m.end)
	if err != nil {
		return nil, err
	}
	out := make([]uint64, n)
	for i := range out {
		out[i] = binary.LittleEndian.Uint64(raw[8*i:])
	}
	return out, nil
}

// table reads n records of size bytes each of a table that begins at byte at.
func (m *metadata) table(at uint64, n, size int) ([]byte, error) {
	per := metaSize / size
	where, err := m.pointers(at, (n+per-1)/per)
	if err != nil {
		return nil, err
	}
	var out []byte
	for _, at := range where {
		b, err := m.block(at)
		if err != nil {
			return nil, err
		}
		if want := min(per, n-len(out)/size) * size; len(b.data) != want {
			return nil, fmt.Errorf("%w: a table's block has %d bytes, not %d", ErrFormat, len(b.data), want)
		}
		out = append(out, b.data...)
	}
	return out, nil
}

func (r *Reader) readIDs() ([]uint32, error) {
	raw, err := r.meta.table(r.super.IDTable, int(r.super.IDs), 4)
	if err != nil {
		return nil, err
	}
	ids := make([]uint32, r.super.IDs)
	for i := range ids {
		ids[i] = binary.LittleEndian.Uint32(raw[4*i:])
	}
	return ids, nil
}

// fragment is where tails of files lie together.
type fragment struct {
	at   uint64
	size uint32
}

func (r *Reader) readFragments() ([]fragment, error) {
	n := r.super.Fragments
	if n == 0 {
		return nil, nil
	}
	if r.super.FragTable == noTable || uint64(n) > r.super.BytesUsed {
		return nil, errors.Join(ErrFormat, fmt.Errorf("%d fragments", n))
	}
	raw, err := r.meta.table(r.super.FragTable, int(n), 16)
	if err != nil {
		return nil, err
	}
	out := make([]fragment, n)
	for i := range out {
		out[i] = fragment{at: binary.LittleEndian.Uint64(raw[16*i:]), size: binary.LittleEndian.Uint32(raw[16*i+8:])}
	}
	return out, nil
}

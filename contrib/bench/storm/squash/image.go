package squash

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

const (
	superblockSize = 96
	magic          = 0x73717368
	zstdID         = 6
	metadataSize   = 8192 // of an uncompressed metadata block, in bytes
	maxDecoded     = 1 << 20
	// A stored size has a bit for "not compressed".
	metadataRaw = 1 << 15
	dataRaw     = 1 << 24
	// fragmentsPerBlock of 16 bytes each.
	fragmentsPerBlock = metadataSize / 16
)

// Image is a squashfs image.
type Image struct {
	r       io.ReaderAt
	decoder *zstd.Decoder
	super   struct {
		blockSize, fragments                             uint32
		root, used, ids, inodes, directories, fragTables uint64
	}
	blocks  map[int64]block // metadata blocks by where they are stored
	touched map[int64]int64 // where → bytes
}

// block is a metadata block.
type block struct {
	data []byte
	next int64 // where the block behind it is stored
}

// Open reads the superblock, and touches what mounting touches.
func Open(r io.ReaderAt) (*Image, error) {
	b := make([]byte, superblockSize)
	if _, err := r.ReadAt(b, 0); err != nil {
		return nil, fmt.Errorf("squashfs superblock: %w", err)
	}
	le := binary.LittleEndian
	if le.Uint32(b) != magic || le.Uint16(b[28:]) != 4 {
		return nil, errors.New("no squashfs image of version 4")
	}
	if id := le.Uint16(b[20:]); id != zstdID {
		return nil, fmt.Errorf("the image is compressed with method %d; only zstd (%d) is read", id, zstdID)
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxDecoded))
	if err != nil {
		return nil, err
	}
	i := &Image{r: r, decoder: d, blocks: map[int64]block{}, touched: map[int64]int64{0: superblockSize}}
	s := &i.super
	s.blockSize, s.fragments = le.Uint32(b[12:]), le.Uint32(b[16:])
	s.root, s.used, s.ids = le.Uint64(b[32:]), le.Uint64(b[40:]), le.Uint64(b[48:])
	s.inodes, s.directories, s.fragTables = le.Uint64(b[64:]), le.Uint64(b[72:]), le.Uint64(b[80:])
	if s.blockSize == 0 {
		return nil, errors.New("blocks of no size")
	}
	i.touched[int64(s.ids)] = 8
	if s.fragments > 0 {
		i.touched[int64(s.fragTables)] = int64((s.fragments+fragmentsPerBlock-1)/fragmentsPerBlock) * 8
	}
	return i, nil
}

// Touched is what was touched since the image was opened, in bytes of the image,
// and in how many pieces.
func (i *Image) Touched() (bytes int64, pieces int) {
	for _, n := range i.touched {
		bytes += n
	}
	return bytes, len(i.touched)
}

// metadata is the block that is stored at.
func (i *Image) metadata(at int64) (block, error) {
	if b, ok := i.blocks[at]; ok {
		return b, nil
	}
	head := make([]byte, 2)
	if _, err := i.r.ReadAt(head, at); err != nil {
		return block{}, fmt.Errorf("metadata at %d: %w", at, err)
	}
	size := binary.LittleEndian.Uint16(head)
	data := make([]byte, size&^metadataRaw)
	if _, err := i.r.ReadAt(data, at+2); err != nil {
		return block{}, fmt.Errorf("metadata at %d: %w", at, err)
	}
	b := block{data: data, next: at + 2 + int64(len(data))}
	if size&metadataRaw == 0 {
		var err error
		if b.data, err = i.decoder.DecodeAll(data, make([]byte, 0, metadataSize)); err != nil {
			return block{}, fmt.Errorf("metadata at %d: %w", at, err)
		}
	}
	if len(b.data) == 0 || len(b.data) > metadataSize {
		return block{}, fmt.Errorf("metadata at %d has %d bytes", at, len(b.data))
	}
	i.touched[at] = b.next - at
	i.blocks[at] = b
	return b, nil
}

// cursor reads across metadata blocks.
type cursor struct {
	image  *Image
	at     int64
	offset int
}

// read is the next n bytes.
func (c *cursor) read(n int) ([]byte, error) {
	var out []byte
	for {
		b, err := c.image.metadata(c.at)
		if err != nil {
			return nil, err
		}
		if c.offset > len(b.data) {
			return nil, fmt.Errorf("metadata at %d ends before byte %d", c.at, c.offset)
		}
		part := b.data[c.offset:min(len(b.data), c.offset+n-len(out))]
		out = append(out, part...)
		c.offset += len(part)
		if c.offset == len(b.data) {
			c.at, c.offset = b.next, 0
		}
		if len(out) == n {
			return out, nil
		}
	}
}

// fragment touches a fragment's block.
func (i *Image) fragment(n uint32) error {
	if n >= i.super.fragments {
		return fmt.Errorf("no fragment %d", n)
	}
	index := make([]byte, 8)
	if _, err := i.r.ReadAt(index, int64(i.super.fragTables)+int64(n/fragmentsPerBlock)*8); err != nil {
		return err
	}
	c := cursor{i, int64(binary.LittleEndian.Uint64(index)), int(n%fragmentsPerBlock) * 16}
	e, err := c.read(16)
	if err != nil {
		return err
	}
	i.touched[int64(binary.LittleEndian.Uint64(e))] = int64(binary.LittleEndian.Uint32(e[8:]) &^ dataRaw)
	return nil
}

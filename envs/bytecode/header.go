package bytecode

import (
	"encoding/binary"
	"io"

	"github.com/hpcenv/hpcenv/cache"
)

// headerSize is the size of a compiled file's header since Python 3.7: magic
// number, flags, then time and size of the source, or its hash.
const headerSize = 16

const (
	flagHash    = 1 // validated by hash, not by time
	flagChecked = 2 // the hash is looked at
)

// shipped decides what becomes of a compiled file that a package ships: Kept,
// Headed, or Compiled, which means that it is of no use.
func shipped(head []byte, size int64, magic [4]byte, source cache.Entry) Kind {
	if len(head) < headerSize || size == headerSize || [4]byte(head[:4]) != magic {
		return Compiled
	}
	switch flags := binary.LittleEndian.Uint32(head[4:]); flags {
	case flagHash:
		return Kept
	case 0:
		// Both are kept modulo 2^32.
		if binary.LittleEndian.Uint32(head[8:]) == uint32(source.Time) && binary.LittleEndian.Uint32(head[12:]) == uint32(source.Size) && source.Time != 0 {
			return Headed
		}
	}
	return Compiled
}

// readHead reads the header of a pool file.
func readHead(store *cache.Store, e cache.Entry) ([]byte, error) {
	f, err := store.OpenEntry(e)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	head := make([]byte, headerSize)
	n, err := io.ReadFull(f, head)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return head[:n], err
}

// readAll reads a pool file.
func readAll(store *cache.Store, e cache.Entry) ([]byte, error) {
	f, err := store.OpenEntry(e)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	data := make([]byte, e.Size)
	_, err = io.ReadFull(f, data)
	return data, err
}

package bytecode

import (
	"encoding/binary"
	"encoding/hex"
	"math/bits"
)

// sourceHash is the hash of a source in the header of a compiled file.
type sourceHash func(key uint64, source []byte) uint64

// knownSource is what the driver tells the hash of.
const knownSource = "hpcenv"

// findHash finds the function that gives knownSource this hash (hex); nil = none.
// Python has SipHash-1-3 since 3.11, and had SipHash-2-4 before.
func findHash(magic [4]byte, hash string) sourceHash {
	for _, rounds := range [][2]int{{1, 3}, {2, 4}} {
		f := func(key uint64, source []byte) uint64 { return sipHash(rounds[0], rounds[1], key, source) }
		if hex.EncodeToString(hashBytes(f, magic, []byte(knownSource))) == hash {
			return f
		}
	}
	return nil
}

// hashBytes is the hash as a header has it.
func hashBytes(f sourceHash, magic [4]byte, source []byte) []byte {
	return binary.LittleEndian.AppendUint64(nil, f(uint64(binary.LittleEndian.Uint32(magic[:])), source))
}

// sipHash is SipHash with c rounds per word and d at the end, under a key whose
// second half is zero.
func sipHash(c, d int, key uint64, data []byte) uint64 {
	v0, v1, v2, v3 := key^0x736f6d6570736575, uint64(0x646f72616e646f6d), key^0x6c7967656e657261, uint64(0x7465646279746573)
	round := func(n int) {
		for range n {
			v0 += v1
			v2 += v3
			v1 = bits.RotateLeft64(v1, 13) ^ v0
			v3 = bits.RotateLeft64(v3, 16) ^ v2
			v0 = bits.RotateLeft64(v0, 32)
			v2 += v1
			v0 += v3
			v1 = bits.RotateLeft64(v1, 17) ^ v2
			v3 = bits.RotateLeft64(v3, 21) ^ v0
			v2 = bits.RotateLeft64(v2, 32)
		}
	}
	word := func(m uint64) {
		v3 ^= m
		round(c)
		v0 ^= m
	}
	last := uint64(len(data)) << 56
	for ; len(data) >= 8; data = data[8:] {
		word(binary.LittleEndian.Uint64(data))
	}
	for i, b := range data {
		last |= uint64(b) << (8 * i)
	}
	word(last)
	v2 ^= 0xff
	round(d)
	return v0 ^ v1 ^ v2 ^ v3
}

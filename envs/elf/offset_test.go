package elf

import (
	"debug/elf"
	"testing"
)

// TestOffsetGoesOn: a table that begins in one segment goes on in the next, where that
// follows in memory as in the file, and only there.
func TestOffsetGoesOn(t *testing.T) {
	load := func(off, vaddr, filesz, memsz uint64) segment {
		return segment{kind: elf.PT_LOAD, off: off, vaddr: vaddr, filesz: filesz, memsz: memsz}
	}
	for _, c := range []struct {
		name     string
		segments []segment
		limit    uint64
	}{
		{"patchelf's layout", []segment{load(0, 0x3ff000, 0x1000, 0x1000), load(0x1000, 0x400000, 0x1e468, 0x1e468), load(0x20000, 0x41f000, 0x10, 0x10)}, 0x1f468},
		{"a gap in memory", []segment{load(0, 0x3ff000, 0x1000, 0x1000), load(0x1000, 0x401000, 0x1000, 0x1000)}, 0x1000},
		{"a gap in the file", []segment{load(0, 0x3ff000, 0x1000, 0x1000), load(0x2000, 0x400000, 0x1000, 0x1000)}, 0x1000},
		{"alone", []segment{load(0, 0x3ff000, 0x1000, 0x1000)}, 0x1000},
		{"none of it in the file", []segment{load(0, 0x3ff000, 0x1000, 0x1000), load(0x1000, 0x400000, 0, 0x1000)}, 0x1000},
	} {
		f := &file{segments: c.segments}
		if off, limit, ok := f.offset(0x3ff598); !ok || off != 0x598 || limit != c.limit {
			t.Errorf("%s: %#x, %#x, %v", c.name, off, limit, ok)
		}
	}
	f := &file{segments: []segment{load(0, 0x3ff000, 0x1000, 0x1000)}}
	if _, _, ok := f.offset(0x400000); ok {
		t.Error("an address behind all segments was found")
	}
}

package elf

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
)

// maxSegments bounds the program headers; real files have about ten.
const maxSegments = 4096

// segment is one program header.
type segment struct {
	kind                      elf.ProgType
	off, vaddr, filesz, memsz uint64
	align                     uint64
}

// file is one that is being read.
type file struct {
	view
	Facts
	kind                       elf.Type
	segments                   []segment
	shoff                      uint64
	shentsize, shnum, shstrndx uint16
}

// ReadFile reads the facts of the file at path. Errors name it; those of class
// ErrNotELF and ErrBroken are the file's, others the storage's.
func ReadFile(path string) (*Facts, error) {
	return readFile(path, nil)
}

// readFile reads a file's facts, unless those of an ELF file are known: kept (nil =
// none) is asked before more than the first bytes are read.
func readFile(path string, kept func() (*Facts, error)) (facts *Facts, err error) {
	f, err := openRaw(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	if kept != nil {
		_, _, _, err := Identity(f, f.size)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if facts, err := kept(); facts != nil || err != nil {
			return facts, err
		}
	}
	facts, err = Read(f, f.size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return facts, nil
}

// Identity is what a file's first bytes say: machine, class and byte order, whatever
// is behind them. Errors are as Read's.
func Identity(r io.ReaderAt, size int64) (machine string, class int, bigEndian bool, err error) {
	const length = 20 // up to e_machine
	if size < int64(len(elf.ELFMAG)) {
		return "", 0, false, ErrNotELF
	}
	b := make([]byte, min(size, length))
	if err := readFull(r, b, 0); err != nil {
		return "", 0, false, err
	}
	if string(b[:len(elf.ELFMAG)]) != elf.ELFMAG {
		return "", 0, false, ErrNotELF
	}
	if len(b) < length {
		return "", 0, false, broken("it has %d bytes", size)
	}
	var order binary.ByteOrder = binary.LittleEndian
	switch elf.Data(b[elf.EI_DATA]) {
	case elf.ELFDATA2LSB:
	case elf.ELFDATA2MSB:
		order, bigEndian = binary.BigEndian, true
	default:
		return "", 0, false, broken("byte order %d", b[elf.EI_DATA])
	}
	switch elf.Class(b[elf.EI_CLASS]) {
	case elf.ELFCLASS32:
		class = 32
	case elf.ELFCLASS64:
		class = 64
	default:
		return "", 0, false, broken("class %d", b[elf.EI_CLASS])
	}
	return machineName(elf.Machine(order.Uint16(b[18:])), class, bigEndian), class, bigEndian, nil
}

// Read reads the facts of a file of size bytes. Of a file that is none, the first
// bytes alone are read. Its time and memory are bounded whatever the file says.
func Read(r io.ReaderAt, size int64) (*Facts, error) {
	f := &file{view: view{r: r, size: size, pages: map[int64][]byte{}}}
	var err error
	if f.Machine, f.Class, f.BigEndian, err = Identity(r, size); err != nil {
		return nil, err
	}
	if err := f.header(); err != nil {
		return nil, err
	}
	if err := f.load(); err != nil {
		return nil, err
	}
	if err := f.dynamic(); err != nil {
		return nil, err
	}
	f.classify()
	if f.Kind != Other {
		f.fatbins()
	}
	return &f.Facts, nil
}

func (f *file) header() error {
	f.order = binary.LittleEndian
	if f.BigEndian {
		f.order = binary.BigEndian
	}
	length, word := uint64(64), uint64(8)
	if f.Class == 32 {
		length, word = 52, 4
	}
	h, err := f.bytes(0, length)
	if err != nil {
		return err
	}
	if v := f.order.Uint32(h[20:]); v != uint32(elf.EV_CURRENT) {
		return broken("version %d", v)
	}
	f.kind = elf.Type(f.order.Uint16(h[16:]))
	f.OSABI = h[elf.EI_OSABI]
	phoff := f.word(h[24+word:])
	f.shoff = f.word(h[24+2*word:])
	rest := h[24+3*word+4:] // behind e_flags
	phentsize, phnum := f.order.Uint16(rest[2:]), f.order.Uint16(rest[4:])
	f.shentsize, f.shnum, f.shstrndx = f.order.Uint16(rest[6:]), f.order.Uint16(rest[8:]), f.order.Uint16(rest[10:])
	return f.programHeaders(phoff, phentsize, phnum)
}

// word reads an address or offset of the file's class.
func (f *file) word(b []byte) uint64 {
	if f.Class == 32 {
		return uint64(f.order.Uint32(b))
	}
	return f.order.Uint64(b)
}

func (f *file) programHeaders(off uint64, entry, num uint16) error {
	if num == 0 {
		return nil
	}
	want := uint16(56)
	if f.Class == 32 {
		want = 32
	}
	if entry != want {
		return broken("program headers of %d bytes", entry)
	}
	if num > maxSegments {
		return broken("%d program headers", num)
	}
	table, err := f.bytes(off, uint64(entry)*uint64(num))
	if err != nil {
		return err
	}
	for p := table; len(p) > 0; p = p[entry:] {
		s := segment{kind: elf.ProgType(f.order.Uint32(p))}
		if f.Class == 64 {
			s.off, s.vaddr = f.word(p[8:]), f.word(p[16:])
			s.filesz, s.memsz, s.align = f.word(p[32:]), f.word(p[40:]), f.word(p[48:])
		} else {
			s.off, s.vaddr = f.word(p[4:]), f.word(p[8:])
			s.filesz, s.memsz, s.align = f.word(p[16:]), f.word(p[20:]), f.word(p[28:])
		}
		f.segments = append(f.segments, s)
	}
	return nil
}

// load reads what the segments say: the page size, the loader.
func (f *file) load() error {
	for _, s := range f.segments {
		switch s.kind {
		case elf.PT_LOAD:
			if s.filesz > 0 && (s.off > uint64(f.size) || s.filesz > uint64(f.size)-s.off) {
				return broken("a segment ends at byte %d, the file at %d: it is cut off", saturated(s.off, s.filesz), f.size)
			}
			if f.kind != elf.ET_EXEC && f.kind != elf.ET_DYN {
				continue
			}
			// 0 and 1 mean none: no page size fits, as for what is no power of two.
			align := max(s.align, 1)
			align = 1 << bits.TrailingZeros64(align)
			if f.MaxPage == 0 || align < f.MaxPage {
				f.MaxPage = align
			}
		case elf.PT_INTERP:
			name, err := f.text(s.off, saturated(s.off, s.filesz))
			if err != nil {
				return err
			}
			f.Interpreter = name
		}
	}
	return nil
}

// offset of an address in the file; ok is false where none of the file is there.
// limit is where the part of the file ends that lies there in memory as it lies in the
// file: that of the segment, and of those that follow it in both. (patchelf moves a table
// of strings to the front of the first segment, where it goes on into the second.)
func (f *file) offset(addr uint64) (off, limit uint64, ok bool) {
	for _, s := range f.segments { // the loader has them by address
		if s.kind != elf.PT_LOAD || s.filesz == 0 {
			continue
		}
		switch {
		case ok && s.off == limit && s.vaddr-addr == limit-off:
			limit += s.filesz
		case !ok && addr >= s.vaddr && addr-s.vaddr < s.filesz:
			off, limit, ok = s.off+(addr-s.vaddr), s.off+s.filesz, true
		}
	}
	return off, limit, ok
}

func (f *file) classify() {
	f.Fixed = f.kind == elf.ET_EXEC
	f.Static = !f.Dynamic || len(f.Needed) == 0 && f.Interpreter == ""
	switch {
	case f.kind == elf.ET_EXEC:
		f.Kind = Executable
	case f.kind != elf.ET_DYN:
		f.Kind, f.Static = Other, false
	case f.PIE || f.Interpreter != "" && f.SOName == "":
		f.Kind = Executable
	default:
		f.Kind = Library
		// A library that needs nothing is not a static program.
		f.Static = false
	}
}

package elf

import (
	"debug/elf"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// The layout of CUDA's fat binaries, which NVIDIA does not document: as found in
// NVIDIA's own libraries (nvJPEG 12.4.0 of CUDA 12.9, read 2026-11). A section is a
// row of containers:
//
//	container: magic u32, version u16, header size u16, size u64 of what follows
//	code:      kind u16 (1 PTX, 2 machine code), version u16, header size u32,
//	           size u64 of what follows, …, at byte 28 the architecture u32 (90 = 9.0)
//
// Code may be compressed; its header is not.
const (
	fatMagic      = 0xba55ed50
	fatContainer  = 16
	fatCode       = 32 // bytes of a code's header that are read
	fatPTX        = 1
	fatMachine    = 2
	maxFatReads   = 1 << 18
	maxSections   = 1 << 14
	maxFatArch    = 9999
	fatSection    = ".nv_fatbin"
	relFatSection = "__nv_relfatbin"
)

// fatbins reads which GPUs the file has code for. Nothing of it keeps the file from
// being loaded, so what cannot be read is told and no error.
func (f *file) fatbins() {
	sections, err := f.fatSections()
	archs := map[string]bool{}
	budget := maxFatReads
	for _, s := range sections {
		if e := f.containers(s[0], s[1], archs, &budget); e != nil && err == nil {
			err = e
		}
	}
	for a := range archs {
		f.CUDA = append(f.CUDA, a)
	}
	slices.SortFunc(f.CUDA, compareArch)
	if err != nil {
		f.CUDAProblem = err.Error()
	}
}

// fatSections are offset and size of the sections with CUDA code. A file whose
// section headers were stripped has none that can be found.
func (f *file) fatSections() (found [][2]uint64, err error) {
	want := uint16(64)
	if f.Class == 32 {
		want = 40
	}
	if f.shoff == 0 || f.shoff >= uint64(f.size) || f.shentsize != want || f.shnum == 0 || f.shnum > maxSections || f.shstrndx >= f.shnum {
		return nil, nil
	}
	header := func(i uint16) (name uint32, kind elf.SectionType, off, size uint64, err error) {
		b, err := f.bytes(saturated(f.shoff, uint64(i)*uint64(want)), uint64(want))
		if err != nil {
			return 0, 0, 0, 0, err
		}
		name, kind = f.order.Uint32(b), elf.SectionType(f.order.Uint32(b[4:]))
		if f.Class == 64 {
			return name, kind, f.word(b[24:]), f.word(b[32:]), nil
		}
		return name, kind, f.word(b[16:]), f.word(b[20:]), nil
	}
	_, _, names, length, err := header(f.shstrndx)
	if err != nil {
		return nil, nil // cut-off section headers: as if stripped
	}
	for i := range f.shnum {
		name, kind, off, size, err := header(i)
		if err != nil {
			return found, nil
		}
		if kind != elf.SHT_PROGBITS {
			continue
		}
		text, err := f.text(saturated(names, uint64(name)), saturated(names, length))
		if err != nil || text != fatSection && text != relFatSection {
			continue
		}
		if off > uint64(f.size) || size > uint64(f.size)-off {
			return found, fmt.Errorf("section %s ends behind the file", text)
		}
		found = append(found, [2]uint64{off, size})
	}
	return found, nil
}

// containers walks a section. It only goes forward, and reads headers alone.
func (f *file) containers(off, size uint64, archs map[string]bool, budget *int) error {
	end := off + size
	var b [fatCode]byte
	read := func(at, n uint64) error {
		if *budget--; *budget < 0 {
			return errors.New("more CUDA code than is looked at")
		}
		if at+n > end {
			return errors.New("CUDA code ends behind its section")
		}
		return readFull(f.r, b[:n], int64(at))
	}
	for at := off; at+fatContainer <= end; {
		if err := read(at, fatContainer); err != nil {
			return err
		}
		magic := f.order.Uint32(b[:])
		if magic == 0 { // padding between containers
			at += 8
			continue
		}
		header, length := uint64(f.order.Uint16(b[6:])), f.order.Uint64(b[8:])
		if magic != fatMagic || header < fatContainer || length > end-at || header > end-at-length {
			return fmt.Errorf("CUDA code of a form that hpcenv does not know at byte %d", at)
		}
		next := at + header + length
		for code := at + header; code+fatCode <= next; {
			if err := read(code, fatCode); err != nil {
				return err
			}
			kind, head, payload := f.order.Uint16(b[:]), uint64(f.order.Uint32(b[4:])), f.order.Uint64(b[8:])
			if head < fatCode || payload > next-code || head > next-code-payload {
				return fmt.Errorf("CUDA code of a form that hpcenv does not know at byte %d", code)
			}
			if arch := f.order.Uint32(b[28:]); arch > 0 && arch <= maxFatArch {
				switch kind {
				case fatPTX:
					archs[fmt.Sprintf("compute_%d", arch)] = true
				case fatMachine:
					archs[fmt.Sprintf("sm_%d", arch)] = true
				}
			}
			code += head + payload
		}
		at = next
	}
	return nil
}

// compareArch sorts sm_75 before sm_100, and machine code before PTX.
func compareArch(a, b string) int {
	key := func(s string) int {
		for i, prefix := range []string{"sm_", "compute_"} {
			if n, err := strconv.Atoi(s[min(len(s), len(prefix)):]); err == nil && s[:len(prefix)] == prefix {
				return i<<20 + n
			}
		}
		return 1 << 30
	}
	return key(a) - key(b)
}

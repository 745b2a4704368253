// Package elftest makes small ELF files for tests, of any class and byte order.
package elftest

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
)

// Spec is a small ELF file to be made.
type Spec struct {
	Class     int // 32, 64 (0 = 64)
	Big       bool
	Machine   elf.Machine // 0 = x86-64
	Kind      elf.Type    // 0 = ET_DYN
	Align     uint64      // 0 = 4096
	Interp    string
	SOName    string
	Needed    []string
	RPath     string
	RunPath   string
	Flags1    uint64
	Needs     []Need
	Defines   []string
	Sections  map[string][]byte
	Static    bool // no dynamic section
	NoHeaders bool // no section headers
}

// Need is what it needs of one library's versions.
type Need struct {
	Library string
	Names   []string
	Weak    bool
}

// Make lays the file out: headers, one segment over all of it, the dynamic section
// and what it points to, sections.
func (s Spec) Make() []byte {
	if s.Class == 0 {
		s.Class = 64
	}
	if s.Machine == 0 {
		s.Machine = elf.EM_X86_64
	}
	if s.Kind == 0 {
		s.Kind = elf.ET_DYN
	}
	if s.Align == 0 {
		s.Align = 4096
	}
	var order binary.ByteOrder = binary.LittleEndian
	if s.Big {
		order = binary.BigEndian
	}
	word := s.Class / 8
	put := func(b *bytes.Buffer, n int, v uint64) {
		p := make([]byte, 8)
		switch n {
		case 2:
			order.PutUint16(p, uint16(v))
		case 4:
			order.PutUint32(p, uint32(v))
		case 8:
			order.PutUint64(p, v)
		}
		b.Write(p[:n])
	}
	strtab := []byte{0}
	str := func(t string) uint64 {
		at := len(strtab)
		strtab = append(append(strtab, t...), 0)
		return uint64(at)
	}
	var verneed, verdef bytes.Buffer
	for i, n := range s.Needs {
		next := uint64(16 + 16*len(n.Names))
		if i == len(s.Needs)-1 {
			next = 0
		}
		put(&verneed, 2, 1)
		put(&verneed, 2, uint64(len(n.Names)))
		put(&verneed, 4, str(n.Library))
		put(&verneed, 4, 16)
		put(&verneed, 4, next)
		for j, name := range n.Names {
			put(&verneed, 4, 0)
			flags, step := uint64(0), uint64(16)
			if n.Weak {
				flags = 2
			}
			if j == len(n.Names)-1 {
				step = 0
			}
			put(&verneed, 2, flags)
			put(&verneed, 2, 2)
			put(&verneed, 4, str(name))
			put(&verneed, 4, step)
		}
	}
	defined := s.Defines
	if len(defined) > 0 {
		defined = append([]string{s.SOName}, defined...)
	}
	for i, name := range defined {
		flags, next := uint64(0), uint64(28)
		if i == 0 {
			flags = 1
		}
		if i == len(defined)-1 {
			next = 0
		}
		for _, f := range [][2]uint64{{2, 1}, {2, flags}, {2, uint64(i + 1)}, {2, 1}, {4, 0}, {4, 20}, {4, next}, {4, str(name)}, {4, 0}} {
			put(&verdef, int(f[0]), f[1])
		}
	}
	ehsize, phsize, shsize := 64, 56, 64
	if s.Class == 32 {
		ehsize, phsize, shsize = 52, 32, 40
	}
	phnum := 1
	if s.Interp != "" {
		phnum++
	}
	if !s.Static {
		phnum++
	}
	// The dynamic section's entries need the places of what comes behind it.
	type entry struct {
		tag elf.DynTag
		val uint64
	}
	var dyn []entry
	for _, n := range s.Needed {
		dyn = append(dyn, entry{elf.DT_NEEDED, str(n)})
	}
	for _, e := range []struct {
		tag  elf.DynTag
		text string
	}{{elf.DT_SONAME, s.SOName}, {elf.DT_RPATH, s.RPath}, {elf.DT_RUNPATH, s.RunPath}} {
		if e.text != "" {
			dyn = append(dyn, entry{e.tag, str(e.text)})
		}
	}
	if s.Flags1 != 0 {
		dyn = append(dyn, entry{elf.DT_FLAGS_1, s.Flags1})
	}
	interpAt := ehsize + phnum*phsize
	interp := append([]byte(s.Interp), 0)
	dynAt := (interpAt + len(interp) + 15) &^ 15
	entries := len(dyn) + 5
	strAt := dynAt + entries*2*word
	needAt := (strAt + len(strtab) + 15) &^ 15
	defAt := (needAt + verneed.Len() + 15) &^ 15
	const base = 0x10000
	dyn = append(dyn, entry{elf.DT_STRTAB, uint64(base + strAt)}, entry{elf.DT_STRSZ, uint64(len(strtab))})
	if verneed.Len() > 0 {
		dyn = append(dyn, entry{elf.DT_VERNEED, uint64(base + needAt)})
	}
	if verdef.Len() > 0 {
		dyn = append(dyn, entry{elf.DT_VERDEF, uint64(base + defAt)})
	}
	end := defAt + verdef.Len()
	file := make([]byte, end)
	if !s.Static {
		var d bytes.Buffer
		for _, e := range dyn {
			put(&d, word, uint64(e.tag))
			put(&d, word, e.val)
		}
		copy(file[dynAt:], d.Bytes())
		copy(file[strAt:], strtab)
		copy(file[needAt:], verneed.Bytes())
		copy(file[defAt:], verdef.Bytes())
	}
	copy(file[interpAt:], interp)

	var sh, names bytes.Buffer
	names.WriteByte(0)
	section := func(name string, kind elf.SectionType, off, size int) {
		put(&sh, 4, uint64(names.Len()))
		put(&sh, 4, uint64(kind))
		put(&sh, word, 0)
		put(&sh, word, 0)
		put(&sh, word, uint64(off))
		put(&sh, word, uint64(size))
		put(&sh, 4, 0)
		put(&sh, 4, 0)
		put(&sh, word, 8)
		put(&sh, word, 0)
		names.WriteString(name + "\x00")
	}
	shnum, shoff := 0, 0
	if !s.NoHeaders {
		sh.Write(make([]byte, shsize))
		for name, content := range s.Sections {
			file = append(file, make([]byte, -len(file)&7)...)
			section(name, elf.SHT_PROGBITS, len(file), len(content))
			file = append(file, content...)
		}
		namesAt := len(file)
		section(".shstrtab", elf.SHT_STRTAB, namesAt, names.Len()+len(".shstrtab")+1)
		file = append(file, names.Bytes()...)
		file = append(file, make([]byte, -len(file)&7)...)
		shoff, shnum = len(file), sh.Len()/shsize
		file = append(file, sh.Bytes()...)
	}

	var h bytes.Buffer
	data := byte(elf.ELFDATA2LSB)
	if s.Big {
		data = byte(elf.ELFDATA2MSB)
	}
	h.WriteString(elf.ELFMAG)
	h.Write([]byte{byte(s.Class / 32), data, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	put(&h, 2, uint64(s.Kind))
	put(&h, 2, uint64(s.Machine))
	put(&h, 4, 1)
	put(&h, word, 0)
	put(&h, word, uint64(ehsize))
	put(&h, word, uint64(shoff))
	put(&h, 4, 0)
	for _, v := range []int{ehsize, phsize, phnum, shsize, shnum, max(shnum-1, 0)} {
		put(&h, 2, uint64(v))
	}
	segment := func(kind elf.ProgType, off, size int, align uint64) {
		put(&h, 4, uint64(kind))
		if s.Class == 64 {
			put(&h, 4, 5)
		}
		for _, v := range []int{off, base + off, base + off, size, size} {
			put(&h, word, uint64(v))
		}
		if s.Class == 32 {
			put(&h, 4, 5)
		}
		put(&h, word, align)
	}
	segment(elf.PT_LOAD, 0, end, s.Align)
	if s.Interp != "" {
		segment(elf.PT_INTERP, interpAt, len(interp), 1)
	}
	if !s.Static {
		segment(elf.PT_DYNAMIC, dynAt, entries*2*word, 8)
	}
	copy(file, h.Bytes())
	return file
}

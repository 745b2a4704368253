package elf_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// spec is a small ELF file to be made, of any class and byte order.
type spec struct {
	class    int // 32, 64 (0 = 64)
	big      bool
	machine  elf.Machine // 0 = x86-64
	kind     elf.Type    // 0 = ET_DYN
	align    uint64      // 0 = 4096
	interp   string
	soname   string
	needed   []string
	rpath    string
	runpath  string
	flags1   uint64
	needs    []needSpec
	defines  []string
	sections map[string][]byte
	static   bool // no dynamic section
	noShdr   bool
}

type needSpec struct {
	library string
	names   []string
	weak    bool
}

// make lays the file out: headers, one segment over all of it, the dynamic section
// and what it points to, sections.
func (s spec) make() []byte {
	if s.class == 0 {
		s.class = 64
	}
	if s.machine == 0 {
		s.machine = elf.EM_X86_64
	}
	if s.kind == 0 {
		s.kind = elf.ET_DYN
	}
	if s.align == 0 {
		s.align = 4096
	}
	var order binary.ByteOrder = binary.LittleEndian
	if s.big {
		order = binary.BigEndian
	}
	word := s.class / 8
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
	for i, n := range s.needs {
		next := uint64(16 + 16*len(n.names))
		if i == len(s.needs)-1 {
			next = 0
		}
		put(&verneed, 2, 1)
		put(&verneed, 2, uint64(len(n.names)))
		put(&verneed, 4, str(n.library))
		put(&verneed, 4, 16)
		put(&verneed, 4, next)
		for j, name := range n.names {
			put(&verneed, 4, 0)
			flags, step := uint64(0), uint64(16)
			if n.weak {
				flags = 2
			}
			if j == len(n.names)-1 {
				step = 0
			}
			put(&verneed, 2, flags)
			put(&verneed, 2, 2)
			put(&verneed, 4, str(name))
			put(&verneed, 4, step)
		}
	}
	defined := s.defines
	if len(defined) > 0 {
		defined = append([]string{s.soname}, defined...)
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
	if s.class == 32 {
		ehsize, phsize, shsize = 52, 32, 40
	}
	phnum := 1
	if s.interp != "" {
		phnum++
	}
	if !s.static {
		phnum++
	}
	// The dynamic section's entries need the places of what comes behind it.
	type entry struct {
		tag elf.DynTag
		val uint64
	}
	var dyn []entry
	for _, n := range s.needed {
		dyn = append(dyn, entry{elf.DT_NEEDED, str(n)})
	}
	for _, e := range []struct {
		tag  elf.DynTag
		text string
	}{{elf.DT_SONAME, s.soname}, {elf.DT_RPATH, s.rpath}, {elf.DT_RUNPATH, s.runpath}} {
		if e.text != "" {
			dyn = append(dyn, entry{e.tag, str(e.text)})
		}
	}
	if s.flags1 != 0 {
		dyn = append(dyn, entry{elf.DT_FLAGS_1, s.flags1})
	}
	interpAt := ehsize + phnum*phsize
	interp := append([]byte(s.interp), 0)
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
	if !s.static {
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
	if !s.noShdr {
		sh.Write(make([]byte, shsize))
		for name, content := range s.sections {
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
	if s.big {
		data = byte(elf.ELFDATA2MSB)
	}
	h.WriteString(elf.ELFMAG)
	h.Write([]byte{byte(s.class / 32), data, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	put(&h, 2, uint64(s.kind))
	put(&h, 2, uint64(s.machine))
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
		if s.class == 64 {
			put(&h, 4, 5)
		}
		for _, v := range []int{off, base + off, base + off, size, size} {
			put(&h, word, uint64(v))
		}
		if s.class == 32 {
			put(&h, 4, 5)
		}
		put(&h, word, align)
	}
	segment(elf.PT_LOAD, 0, end, s.align)
	if s.interp != "" {
		segment(elf.PT_INTERP, interpAt, len(interp), 1)
	}
	if !s.static {
		segment(elf.PT_DYNAMIC, dynAt, entries*2*word, 8)
	}
	copy(file, h.Bytes())
	return file
}

// gcc compiles a library or program, or skips loudly.
func gcc(t *testing.T, compiler, source string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skipf("NO COMPILER: this test was not run: %v", err)
	}
	dir := t.TempDir()
	c, out := filepath.Join(dir, "a.c"), filepath.Join(dir, "a.out")
	if err := os.WriteFile(c, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(compiler, append([]string{"-o", out, c}, args...)...)
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", cmd, err, b)
	}
	return out
}

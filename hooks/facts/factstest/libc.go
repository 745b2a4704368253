package factstest

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"strings"
)

// machines by the names of uname -m.
var machines = map[string]elf.Machine{"x86_64": elf.EM_X86_64, "aarch64": elf.EM_AARCH64, "i686": elf.EM_386, "ppc64le": elf.EM_PPC64}

// LibC is the smallest C library that tells its version: a 64-bit ELF file with no
// code that defines the symbol versions named (GLIBC_2.17 …). release, if not "",
// is in its banner.
func LibC(machine, release string, versions ...string) ([]byte, error) {
	m, ok := machines[machine]
	if !ok {
		return nil, fmt.Errorf("factstest: no ELF machine %q", machine)
	}
	order := binary.LittleEndian
	// String table: the base name of the library, then the versions.
	strtab := []byte{0}
	offset := func(s string) uint32 {
		at := len(strtab)
		strtab = append(append(strtab, s...), 0)
		return uint32(at)
	}
	names := append([]string{"libc.so.6"}, versions...)
	var verdef []byte
	for i, n := range names {
		flags, next := uint16(0), uint32(28) // one definition with one name has 28 bytes
		if i == 0 {
			flags = 1 // the file itself
		}
		if i == len(names)-1 {
			next = 0
		}
		verdef = order.AppendUint16(verdef, 1)           // version of the structure
		verdef = order.AppendUint16(verdef, flags)       //
		verdef = order.AppendUint16(verdef, uint16(i+1)) // index
		verdef = order.AppendUint16(verdef, 1)           // names
		verdef = order.AppendUint32(verdef, 0)           // hash: nobody looks symbols up
		verdef = order.AppendUint32(verdef, 20)          // to the name
		verdef = order.AppendUint32(verdef, next)
		verdef = order.AppendUint32(verdef, offset(n))
		verdef = order.AppendUint32(verdef, 0)
	}
	dynsym := make([]byte, 2*24)
	order.PutUint32(dynsym[24:], offset("gnu_get_libc_version"))
	versym := []byte{0, 0, 2, 0}
	rodata := []byte{}
	if release != "" {
		rodata = fmt.Appendf(nil, "GNU C Library (recorded) stable release version %s.\n\x00", release)
	}
	shstrtab := []byte("\x00.dynstr\x00.dynsym\x00.gnu.version\x00.gnu.version_d\x00.rodata\x00.shstrtab\x00")
	at := func(name string) uint32 { return uint32(bytes.Index(shstrtab, []byte("\x00"+name+"\x00")) + 1) }
	sections := []struct {
		h    elf.Section64
		data []byte
	}{
		{},
		{elf.Section64{Name: at(".dynstr"), Type: uint32(elf.SHT_STRTAB)}, strtab},
		{elf.Section64{Name: at(".dynsym"), Type: uint32(elf.SHT_DYNSYM), Link: 1, Info: 1, Entsize: 24}, dynsym},
		{elf.Section64{Name: at(".gnu.version"), Type: uint32(elf.SHT_GNU_VERSYM), Link: 2, Entsize: 2}, versym},
		{elf.Section64{Name: at(".gnu.version_d"), Type: uint32(elf.SHT_GNU_VERDEF), Link: 1, Info: uint32(len(names))}, verdef},
		{elf.Section64{Name: at(".rodata"), Type: uint32(elf.SHT_PROGBITS)}, rodata},
		{elf.Section64{Name: at(".shstrtab"), Type: uint32(elf.SHT_STRTAB)}, shstrtab},
	}
	var body bytes.Buffer
	const headerSize = 64
	for i := 1; i < len(sections); i++ {
		s := &sections[i]
		s.h.Off, s.h.Size, s.h.Addralign = uint64(headerSize+body.Len()), uint64(len(s.data)), 8
		body.Write(s.data)
		body.Write(make([]byte, -body.Len()&7))
	}
	h := elf.Header64{
		Type: uint16(elf.ET_DYN), Machine: uint16(m), Version: 1, Shoff: uint64(headerSize + body.Len()),
		Ehsize: headerSize, Shentsize: 64, Shnum: uint16(len(sections)), Shstrndx: uint16(len(sections) - 1),
	}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1
	var out bytes.Buffer
	err := binary.Write(&out, order, h)
	if err == nil {
		_, err = out.Write(body.Bytes())
	}
	for _, s := range sections {
		if err == nil {
			err = binary.Write(&out, order, s.h)
		}
	}
	return out.Bytes(), err
}

// releases are the versions that a glibc of a release defines, as far as matters:
// a few and its own.
func releases(release string) []string {
	list := []string{"GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_PRIVATE"}
	if own := "GLIBC_" + release; !strings.HasSuffix(release, "2.17") {
		list = append(list, own)
	}
	return list
}

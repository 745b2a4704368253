package standalone

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"strings"
)

// subdirs by the machine of an ELF header.
var subdirs = map[elf.Machine]string{
	elf.EM_X86_64: "linux-64", elf.EM_AARCH64: "linux-aarch64", elf.EM_PPC64: "linux-ppc64le", elf.EM_RISCV: "linux-riscv64", elf.EM_S390: "linux-s390x",
}

// Sizes and places in an ELF file of 64 bits.
const (
	header64  = 64
	program64 = 56
)

// fromELF tells the platform and the C library of a program by the beginning of its
// file; "" = it does not tell (it is a script, or of a kind that is not known).
func fromELF(head []byte) (subdir, libc string) {
	if len(head) < header64 || !bytes.HasPrefix(head, []byte(elf.ELFMAG)) || elf.Class(head[elf.EI_CLASS]) != elf.ELFCLASS64 {
		return "", ""
	}
	var order binary.ByteOrder = binary.LittleEndian
	if elf.Data(head[elf.EI_DATA]) == elf.ELFDATA2MSB {
		order = binary.BigEndian
	}
	subdir = subdirs[elf.Machine(order.Uint16(head[18:]))]
	at, size, n := order.Uint64(head[32:]), uint64(order.Uint16(head[54:])), uint64(order.Uint16(head[56:]))
	if size < program64 || at > uint64(len(head)) || n*size > uint64(len(head))-at {
		return subdir, ""
	}
	for i := range n {
		p := head[at+i*size:]
		if elf.ProgType(order.Uint32(p)) != elf.PT_INTERP {
			continue
		}
		from, length := order.Uint64(p[8:]), order.Uint64(p[32:])
		if from > uint64(len(head)) || length > uint64(len(head))-from {
			return subdir, ""
		}
		if strings.Contains(string(head[from:from+length]), "musl") {
			return subdir, "musl"
		}
		return subdir, "glibc"
	}
	return subdir, "none"
}

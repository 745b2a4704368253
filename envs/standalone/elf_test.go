package standalone

import (
	"encoding/binary"
	"testing"
)

// program is the beginning of an ELF file of 64 bits with one program header.
func program(machine uint16, interpreter string, order binary.ByteOrder) []byte {
	b := make([]byte, header64+program64)
	copy(b, "\x7fELF\x02\x01\x01")
	if order == binary.BigEndian {
		b[5] = 2
	}
	order.PutUint16(b[18:], machine)
	order.PutUint64(b[32:], header64)
	order.PutUint16(b[54:], program64)
	order.PutUint16(b[56:], 1)
	if interpreter != "" {
		order.PutUint32(b[header64:], 3)
		order.PutUint64(b[header64+8:], uint64(len(b)))
		order.PutUint64(b[header64+32:], uint64(len(interpreter)+1))
		b = append(append(b, interpreter...), 0)
	}
	return b
}

func TestFromELF(t *testing.T) {
	whole := program(62, "/lib64/ld-linux-x86-64.so.2", binary.LittleEndian)
	far := program(62, "/lib64/ld-linux-x86-64.so.2", binary.LittleEndian)
	binary.LittleEndian.PutUint64(far[header64+8:], 1<<63)
	many := program(62, "", binary.LittleEndian)
	binary.LittleEndian.PutUint16(many[56:], 0xffff)
	for name, c := range map[string]struct {
		head         []byte
		subdir, libc string
	}{
		"x86-64":       {whole, "linux-64", "glibc"},
		"aarch64":      {program(183, "/lib/ld-linux-aarch64.so.1", binary.LittleEndian), "linux-aarch64", "glibc"},
		"s390x":        {program(22, "/lib/ld64.so.1", binary.BigEndian), "linux-s390x", "glibc"},
		"musl":         {program(62, "/lib/ld-musl-x86_64.so.1", binary.LittleEndian), "linux-64", "musl"},
		"static":       {program(62, "", binary.LittleEndian), "linux-64", "none"},
		"unknown":      {program(999, "/lib/ld.so", binary.LittleEndian), "", "glibc"},
		"script":       {[]byte("#!/bin/sh\n"), "", ""},
		"empty":        {nil, "", ""},
		"cut":          {whole[:70], "linux-64", ""},
		"far away":     {far, "linux-64", ""},
		"many headers": {many, "linux-64", ""},
	} {
		if subdir, libc := fromELF(c.head); subdir != c.subdir || libc != c.libc {
			t.Errorf("%s: %q, %q", name, subdir, libc)
		}
	}
}

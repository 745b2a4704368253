package elf_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// code of a container: kind 1 PTX, 2 machine code.
type code struct {
	kind uint16
	arch uint32
}

// container of CUDA code, as nvcc lays it out, with payloads of random length.
func container(codes ...code) []byte {
	var body []byte
	for i, c := range codes {
		const header = 64
		h := make([]byte, header)
		binary.LittleEndian.PutUint16(h, c.kind)
		binary.LittleEndian.PutUint16(h[2:], 0x101)
		binary.LittleEndian.PutUint32(h[4:], header)
		payload := 8 * (i*7%5 + 1)
		binary.LittleEndian.PutUint64(h[8:], uint64(payload))
		binary.LittleEndian.PutUint32(h[28:], c.arch)
		body = append(append(body, h...), bytes.Repeat([]byte{0xff}, payload)...)
	}
	head := make([]byte, 16)
	binary.LittleEndian.PutUint32(head, 0xba55ed50)
	binary.LittleEndian.PutUint16(head[4:], 1)
	binary.LittleEndian.PutUint16(head[6:], 16)
	binary.LittleEndian.PutUint64(head[8:], uint64(len(body)))
	return append(head, body...)
}

// TestCUDACode: what any number of containers hold together is found, sorted by
// number, machine code first.
func TestCUDACode(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var section []byte
		sm, ptx := map[int]bool{}, map[int]bool{}
		for range 1 + r.IntN(5) {
			var codes []code
			for range r.IntN(6) {
				arch := 35 + r.IntN(90)
				if r.IntN(4) == 0 {
					codes, ptx[arch] = append(codes, code{1, uint32(arch)}), true
				} else {
					codes, sm[arch] = append(codes, code{2, uint32(arch)}), true
				}
			}
			section = append(section, container(codes...)...)
			section = append(section, make([]byte, 8*r.IntN(3))...)
		}
		var want []string
		for _, x := range []struct {
			prefix string
			set    map[int]bool
		}{{"sm_", sm}, {"compute_", ptx}} {
			var list []int
			for a := range x.set {
				list = append(list, a)
			}
			slices.Sort(list)
			for _, a := range list {
				want = append(want, x.prefix+strconv.Itoa(a))
			}
		}
		name := ".nv_fatbin"
		if r.IntN(2) == 0 {
			name = "__nv_relfatbin"
		}
		f := read(t, spec{SOName: "libk.so", Sections: map[string][]byte{name: section, ".text": {1, 2, 3}}}.Make())
		if !slices.Equal(f.CUDA, want) || f.CUDAProblem != "" {
			t.Fatalf("got %v (%s), want %v", f.CUDA, f.CUDAProblem, want)
		}
	}
}

// TestUnknownCUDACode: a form that is not known is told, and keeps nothing else
// from being read.
func TestUnknownCUDACode(t *testing.T) {
	good := container(code{2, 80})
	for name, section := range map[string][]byte{
		"another magic": append(slices.Clone(good), bytes.Repeat([]byte{9}, 32)...),
		"too long":      func() []byte { b := slices.Clone(good); b[8]++; return b }(),
		"huge code":     func() []byte { b := slices.Clone(good); b[16+15] = 0xff; return b }(),
	} {
		f := read(t, spec{SOName: "libk.so", Sections: map[string][]byte{".nv_fatbin": section}}.Make())
		if f.CUDAProblem == "" || f.SOName != "libk.so" {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if f := read(t, spec{SOName: "libk.so", Sections: map[string][]byte{".nv_fatbin": good}, NoHeaders: true}.Make()); f.CUDA != nil || f.CUDAProblem != "" {
		t.Errorf("without section headers: %+v", f)
	}
}

package elf

import "debug/elf"

// maxVersions bounds the versions that one file needs, and that it defines.
const maxVersions = 1 << 14

const (
	versionBase = 1 // VER_FLG_BASE: the file's own name, no version
	versionWeak = 2 // VER_FLG_WEAK
)

// needs reads the versions it needs (DT_VERNEED). Links between records only point
// forward, and their number is bounded, so that this ends.
func (f *file) needs(tags map[elf.DynTag]uint64, str func(uint64) (string, error)) error {
	addr, ok := tags[elf.DT_VERNEED]
	if !ok {
		return nil
	}
	at, _, ok := f.offset(addr)
	if !ok {
		return broken("the versions it needs lie outside of its segments")
	}
	count := 0
	for {
		b, err := f.bytes(at, 16)
		if err != nil {
			return err
		}
		library, err := str(uint64(f.order.Uint32(b[4:])))
		if err != nil {
			return err
		}
		need := Need{Library: library}
		aux, next := saturated(at, uint64(f.order.Uint32(b[8:]))), uint64(f.order.Uint32(b[12:]))
		for n := f.order.Uint16(b[2:]); n > 0; n-- {
			if count++; count > maxVersions {
				return broken("it needs more than %d versions", maxVersions)
			}
			a, err := f.bytes(aux, 16)
			if err != nil {
				return err
			}
			name, err := str(uint64(f.order.Uint32(a[8:])))
			if err != nil {
				return err
			}
			need.Versions = append(need.Versions, Version{Name: name, Weak: f.order.Uint16(a[4:])&versionWeak != 0})
			step := uint64(f.order.Uint32(a[12:]))
			if step == 0 {
				break
			}
			aux = saturated(aux, step)
		}
		f.Needs = append(f.Needs, need)
		if count++; next == 0 || count > maxVersions {
			return nil
		}
		at = saturated(at, next)
	}
}

// defines reads the versions it defines (DT_VERDEF).
func (f *file) defines(tags map[elf.DynTag]uint64, str func(uint64) (string, error)) error {
	addr, ok := tags[elf.DT_VERDEF]
	if !ok {
		return nil
	}
	f.Versioned = true
	at, _, ok := f.offset(addr)
	if !ok {
		return broken("the versions it defines lie outside of its segments")
	}
	for count := 0; count < maxVersions; count++ {
		b, err := f.bytes(at, 20)
		if err != nil {
			return err
		}
		if f.order.Uint16(b[2:])&versionBase == 0 && f.order.Uint16(b[6:]) > 0 {
			a, err := f.bytes(saturated(at, uint64(f.order.Uint32(b[12:]))), 8)
			if err != nil {
				return err
			}
			name, err := str(uint64(f.order.Uint32(a)))
			if err != nil {
				return err
			}
			f.Defines = append(f.Defines, name)
		}
		next := uint64(f.order.Uint32(b[16:]))
		if next == 0 {
			return nil
		}
		at = saturated(at, next)
	}
	return broken("it defines more than %d versions", maxVersions)
}

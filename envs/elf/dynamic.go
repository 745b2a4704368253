package elf

import (
	"debug/elf"
)

const (
	// maxDynamic bounds the entries of a dynamic section; real ones have some tens.
	maxDynamic = 1 << 16
	// maxNeeded bounds the libraries that one file needs.
	maxNeeded = 1 << 12
)

// The flags of DT_FLAGS_1 that the loader looks at.
const (
	flagNoOpen       = uint64(elf.DF_1_NOOPEN)
	flagNoDefaultLib = uint64(elf.DF_1_NODEFLIB)
	flagPIE          = uint64(elf.DF_1_PIE)
)

// dynamic reads the dynamic section through its program header.
func (f *file) dynamic() error {
	var at *segment
	for i := range f.segments {
		if f.segments[i].kind == elf.PT_DYNAMIC {
			at = &f.segments[i]
		}
	}
	if at == nil || at.filesz == 0 || f.kind != elf.ET_DYN && f.kind != elf.ET_EXEC {
		return nil
	}
	f.Dynamic = true
	tags, needed, err := f.tags(*at)
	if err != nil {
		return err
	}
	strtab, limit, ok := f.offset(tags[elf.DT_STRTAB])
	if !ok {
		if len(needed) > 0 {
			return broken("its dynamic section names no table of strings")
		}
		return nil
	}
	limit = min(limit, saturated(strtab, tags[elf.DT_STRSZ]))
	str := func(off uint64) (string, error) { return f.text(saturated(strtab, off), limit) }
	for _, n := range needed {
		name, err := str(n)
		if err != nil {
			return err
		}
		f.Needed = append(f.Needed, name)
	}
	for tag, to := range map[elf.DynTag]*string{elf.DT_SONAME: &f.SOName, elf.DT_RPATH: &f.RPath, elf.DT_RUNPATH: &f.RunPath} {
		if off, ok := tags[tag]; ok {
			if *to, err = str(off); err != nil {
				return err
			}
		}
	}
	_, f.HasRunPath = tags[elf.DT_RUNPATH]
	flags := tags[elf.DT_FLAGS_1]
	f.NoOpen, f.NoDefaultLib, f.PIE = flags&flagNoOpen != 0, flags&flagNoDefaultLib != 0, flags&flagPIE != 0
	if err := f.needs(tags, str); err != nil {
		return err
	}
	return f.defines(tags, str)
}

// tags are the values by tag, of equal ones the last, and the offsets of the names
// of needed libraries.
func (f *file) tags(s segment) (tags map[elf.DynTag]uint64, needed []uint64, err error) {
	entry := uint64(f.Class / 8 * 2)
	tags = map[elf.DynTag]uint64{}
	n := s.filesz / entry
	for i := uint64(0); i < n; i++ {
		if i == maxDynamic {
			return nil, nil, broken("its dynamic section has no end after %d entries", i)
		}
		b, err := f.bytes(saturated(s.off, i*entry), entry)
		if err != nil {
			return nil, nil, err
		}
		tag, value := elf.DynTag(int64(f.word(b))), f.word(b[entry/2:])
		switch tag {
		case elf.DT_NULL:
			return tags, needed, nil
		case elf.DT_NEEDED:
			if len(needed) == maxNeeded {
				return nil, nil, broken("it needs more than %d libraries", maxNeeded)
			}
			needed = append(needed, value)
		default:
			tags[tag] = value
		}
	}
	return tags, needed, nil
}

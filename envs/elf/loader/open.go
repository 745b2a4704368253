package loader

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/hpcenv/hpcenv/envs/elf"
)

// opened is a file that the loader would look at, read once.
type opened struct {
	facts *elf.Facts
	// dev and ino tell a file from others; ino 0 = it is known as another's only if it
	// is the same opened.
	dev, ino uint64
	// other: it is for another machine or class and passed over.
	other bool
	// broken says why the loader ends with an error at it; "" = it does not.
	broken string
}

// open reads the file at a path of the node. ok is false where there is none that
// can be read. Errors are the storage's.
func (s *System) open(at string) (o *opened, ok bool, err error) {
	real, err := s.files.resolve(at)
	if err != nil {
		if absent(err) || errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.ELOOP) {
			return nil, false, nil
		}
		return nil, false, err
	}
	s.mu.Lock()
	o, ok = s.opened[real]
	s.mu.Unlock()
	if ok {
		return o, true, nil
	}
	if o = s.recorded(real); o != nil {
		s.keep(real, o)
		return o, true, nil
	}
	// What is no file at all, such as a pipe that nobody writes to, must not be waited for.
	f, err := os.OpenFile(s.files.root.here(real), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if absent(err) || errors.Is(err, os.ErrPermission) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	o, err = s.look(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, false, fmt.Errorf("%s: %w", at, err)
	}
	s.keep(real, o)
	return o, true, nil
}

func (s *System) keep(real string, o *opened) {
	s.mu.Lock()
	s.opened[real] = o
	s.mu.Unlock()
}

// recorded is a file of which the facts are recorded; nil = they are not.
func (s *System) recorded(real string) *opened {
	if s.files.record == nil {
		return nil
	}
	facts := s.files.record.facts(real)
	if facts == nil {
		return nil
	}
	o := &opened{}
	if !s.passes(o, facts.Machine, facts.Class, facts.BigEndian) {
		return o
	}
	o.facts = facts
	return o
}

// passes tells that a file is for the node's programs. One that is not is passed
// over (other), or the loader ends at it (broken), in the loader's order.
func (s *System) passes(o *opened, machine string, class int, bigEndian bool) bool {
	switch {
	case class != 64:
		o.other = true
	case bigEndian:
		o.broken = "its byte order is another"
	case machine != s.Machine:
		o.other = true
	default:
		return true
	}
	return false
}

func (s *System) look(f *os.File) (*opened, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	o := &opened{}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		o.dev, o.ino = uint64(st.Dev), st.Ino
	}
	if !info.Mode().IsRegular() {
		o.broken = "it is no regular file"
		return o, nil
	}
	machine, class, bigEndian, err := elf.Identity(f, info.Size())
	if err == nil {
		if !s.passes(o, machine, class, bigEndian) {
			return o, nil
		}
		o.facts, err = elf.Read(f, info.Size())
	}
	switch {
	case errors.Is(err, elf.ErrNotELF), errors.Is(err, elf.ErrBroken):
		o.broken = "it is a " + err.Error()
		if errors.Is(err, elf.ErrNotELF) {
			o.broken = "it is no ELF file"
		}
	case err != nil:
		return nil, err
	}
	return o, nil
}

// refused says why the loader does not take a file of the right machine into a
// process; "" = it does. dlopen: as a library, or for one, that dlopen loads.
func (s *System) refused(f *elf.Facts, dlopen bool) string {
	const systemV, gnu = 0, 3
	switch {
	case f.OSABI != systemV && f.OSABI != gnu:
		return fmt.Sprintf("its OS ABI is %d", f.OSABI)
	case f.Kind == elf.Other:
		return "it is neither a library nor a program"
	case s.PageSize > 0 && f.MaxPage > 0 && f.MaxPage < s.PageSize:
		return fmt.Sprintf("it is aligned for pages of at most %d bytes, and the node's have %d", f.MaxPage, s.PageSize)
	case f.MaxPage == 0:
		return "it has nothing to load"
	case f.Fixed || f.PIE:
		return "it is a program, not a library"
	case !f.Dynamic:
		return "it has no dynamic section"
	case f.NoOpen && dlopen:
		return "it is marked as not to be opened at run time"
	}
	return ""
}

package cache

import (
	"bytes"
	"io"
)

// elfMagic is what an ELF file begins with.
const elfMagic = "\x7fELF"

// isELF tells whether content begins as an ELF file.
func isELF(content []byte) bool { return bytes.HasPrefix(content, []byte(elfMagic)) }

// beginning passes a content on and keeps its first bytes.
type beginning struct {
	r    io.Reader
	head [len(elfMagic)]byte
	n    int
}

func (b *beginning) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.n < len(b.head) {
		b.n += copy(b.head[b.n:], p[:n])
	}
	return n, err
}

// elfEntries are the indices of the entries whose content, one of the items', begins
// as an ELF file. It is never nil.
func elfEntries(items map[string]*item, entries []Entry) []int {
	is := map[string]bool{}
	for _, it := range items {
		if it.elf {
			is[it.entry.SHA256] = true
		}
	}
	at := []int{}
	for i := range entries {
		if entries[i].Type == EntryFile && is[entries[i].SHA256] {
			at = append(at, i)
		}
	}
	return at
}

// ELFEntries returns the entries whose content begins as an ELF file, whether or not it
// goes on as one. A package that an earlier release took in does not tell: then look is
// asked about each file. Its error ends the search.
func (m *Manifest) ELFEntries(look func(*Entry) (bool, error)) (found []*Entry, err error) {
	if m.ELF != nil {
		for _, i := range m.ELF {
			found = append(found, &m.Entries[i])
		}
		return found, nil
	}
	for i := range m.Entries {
		e := &m.Entries[i]
		if e.Type != EntryFile || e.Size < int64(len(elfMagic)) {
			continue
		}
		is, err := look(e)
		if err != nil {
			return nil, err
		}
		if is {
			found = append(found, e)
		}
	}
	return found, nil
}

// BeginsELF tells whether an entry's content, which is in the pool, begins as an ELF
// file.
func (s *Store) BeginsELF(e *Entry) (is bool, err error) {
	f, err := s.OpenEntry(*e)
	if err != nil {
		return false, err
	}
	defer f.Close() // only read
	var head [len(elfMagic)]byte
	if _, err := io.ReadFull(f, head[:]); err != nil {
		return false, storeError("read", f.Name(), err)
	}
	return isELF(head[:]), nil
}

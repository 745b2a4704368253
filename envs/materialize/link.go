package materialize

import (
	"errors"
	"io"

	"github.com/hpcenv/hpcenv/cache"
)

// file puts a file of the pool at its place; where the same shared library is in
// the prefix already, as a copy.
func (w *writer) file(i int) error {
	op := &w.plan.Ops[i]
	if op.Size == 0 && !op.Copy && w.pool.Method() == cache.Hardlink {
		return w.empty(i)
	}
	return w.pooled(i)
}

// pooled places a file by the pool's Linker.
func (w *writer) pooled(i int) error {
	op := &w.plan.Ops[i]
	e := entryOf(op)
	e.NoLink = e.NoLink || w.repeat[i]
	method, err := w.pool.LinkAt(w.dirfd(), op.Path, e)
	if err != nil {
		if why := w.refusedName(op, err); why != nil {
			return why
		}
		return w.blame(op, err)
	}
	w.made[i] = made{content: content{SHA256: op.SHA256, Size: op.Size}, pooled: true, method: method}
	return nil
}

// findRepeats marks, of several operations that link one ELF content, all but
// the first by path: the dynamic loader takes two links of one inode for one
// library. Other content may repeat.
func (w *writer) findRepeats(ops []Op) error {
	// By executable bit: the pool has a file for each.
	first := [2]map[string]int{make(map[string]int, len(ops)), make(map[string]int, len(ops)/8)}
	elf := [2]map[string]bool{{}, {}}
	for i := range ops {
		op := &ops[i]
		if op.Kind != KindFile || op.Copy || op.Size < 4 {
			continue
		}
		x := executable(op.Exec)
		if _, seen := first[x][op.SHA256]; !seen {
			first[x][op.SHA256] = i
			continue
		}
		is, known := elf[x][op.SHA256]
		if !known {
			var err error
			if is, err = w.isELF(op); err != nil {
				return err
			}
			elf[x][op.SHA256] = is
		}
		w.repeat[i] = is
	}
	return nil
}

func (w *writer) isELF(op *Op) (bool, error) {
	f, err := w.store.OpenEntry(entryOf(op))
	if err != nil {
		return false, w.blame(op, err)
	}
	defer f.Close() // only read
	var magic [4]byte
	if _, err := io.ReadFull(f, magic[:]); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, w.blame(op, err)
	}
	return string(magic[:]) == "\x7fELF", nil
}

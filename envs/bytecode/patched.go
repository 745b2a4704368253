package bytecode

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
)

// Patched sources. All prefixes of a store are alike but for the id of the
// environment, and that has one length. So a source with its prefix in it is
// compiled with a stand-in for the id; what comes of it is good for every id that
// is put in the place of the stand-in: no length changes, no line, no column. That
// the compiler takes the id as it is, and computes nothing from it, is found out by
// compiling a second time with another stand-in, and by a look at the syntax tree
// (driver.py). A source that does not pass is compiled for each prefix.

// IDSize is the length of an environment's id, in bytes.
const IDSize = 32

// standIns are the two. No environment has such an id, and no source such text.
// They differ at every place, so that each single character that reaches the code
// shows; outside of strings the one is a name and the other nothing at all.
var standIns = [2]string{"zhpcenvstandsinforanidofanenviro", "9ucpraifgnaqfvasbenavqbsnaraiveb"}

// general is the source with the stand-in for its id, and the digest of that. false:
// it has to be compiled for its prefix.
func (b *build) general(p *Patched, source []byte) (text []byte, digest string, ok bool) {
	if b.c == nil || b.c.hash == nil || len(p.ID) != IDSize {
		return nil, "", false
	}
	for _, s := range standIns {
		if bytes.Contains(source, []byte(s)) {
			return nil, "", false
		}
	}
	text = bytes.ReplaceAll(source, []byte(p.ID), []byte(standIns[0]))
	sum := sha256.Sum256(text)
	return text, hex.EncodeToString(sum[:]), true
}

// special is the compiled file for source, of one for its general form.
func (b *build) special(p *Patched, source, code []byte) []byte {
	out := bytes.ReplaceAll(code, []byte(standIns[0]), []byte(p.ID))
	copy(out[headerSize-8:headerSize], hashBytes(b.c.hash, b.c.magic, source))
	return out
}

func (p *Patched) specialWhy(why string) string { return strings.ReplaceAll(why, standIns[0], p.ID) }

// patchedTodo is a patched source that needs the compiler.
type patchedTodo struct {
	index int
	// digest of its general form, if others will have use of the result.
	digest string
}

// lookUpPatched fills in what the tables tell of patched sources, and notes which of
// them need the compiler. known (may be nil) are the rows of all packages, by digest;
// what they tell is noted for its own package. complete: nothing is missing in the
// tables.
func (b *build) lookUpPatched(known map[string]Row) (complete bool, err error) {
	complete, b.todo = true, nil
	for i := range b.req.Patched {
		p, res := &b.req.Patched[i], &b.res.Patched[i]
		if res.Code != nil || res.Why != "" {
			continue
		}
		source, err := p.Content()
		if err != nil {
			return false, err
		}
		_, digest, ok := b.general(p, source)
		if !ok {
			res.Alone = true
			b.todo = append(b.todo, patchedTodo{index: i})
			continue
		}
		row, ok := b.tables[p.Package][rowKey{p.Path, digest}]
		if !ok {
			if row, ok = known[digest]; ok {
				b.note(p, row)
			}
		}
		if ok && row.Code != "" {
			if ok, err = b.fromTemplate(p, res, source, row); err != nil {
				return false, err
			}
		}
		switch {
		case !ok:
			complete = false
			b.todo = append(b.todo, patchedTodo{i, digest})
		case row.Kind == Alone:
			res.Alone = true
			b.todo = append(b.todo, patchedTodo{index: i})
		case row.Code == "":
			res.Why = p.specialWhy(row.Why)
		}
	}
	return complete, nil
}

// fromTemplate takes the result from the pool. false: the pool's file is lost or
// damaged, and is to be made again; where nothing is made that is an error.
func (b *build) fromTemplate(p *Patched, res *PatchedCode, source []byte, row Row) (bool, error) {
	code, err := readAll(b.store, cache.Entry{Path: p.Path, Type: cache.EntryFile, SHA256: row.Code, Size: row.Size})
	damaged := err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	switch sum := sha256.Sum256(code); {
	case err == nil && hex.EncodeToString(sum[:]) == row.Code && len(code) >= headerSize:
		res.Code = b.special(p, source, code)
		return true, nil
	case !damaged && !errors.Is(err, cache.ErrNotFound):
		return false, err
	case !b.readOnly:
		return false, nil
	case damaged:
		return false, fmt.Errorf("byte-code of %s: %w: the pool's file %s holds other bytes; next: remove it, and prepare again", p.Label, cache.ErrIntegrity, b.store.PoolPath(row.Code, false))
	default:
		return false, fmt.Errorf("byte-code of %s: %w: the pool's file %s is missing; prepare again", p.Label, cache.ErrIntegrity, b.store.PoolPath(row.Code, false))
	}
}

// note keeps a row for the table of its package. b.mu is held, or no job runs.
func (b *build) note(p *Patched, row Row) {
	if b.noted[p.Package] == nil {
		b.noted[p.Package] = table{}
	}
	b.noted[p.Package][row.key(p.Path)] = row
	b.changed[p.Package] = true
}

// patchedJob asks for the general form if there is one, else for this one.
func (b *build) patchedJob(todo patchedTodo) job {
	p := &b.req.Patched[todo.index]
	if todo.digest == "" {
		return job{kind: 'c', load: p.Content, done: func(a answer) error { return b.patchedAnswer(todo, nil, a) }}
	}
	var source []byte // between load and done of one job
	return job{
		kind: 't',
		load: func() (data []byte, err error) {
			if source, err = p.Content(); err != nil {
				return nil, err
			}
			text, digest, ok := b.general(p, source)
			if !ok || digest != todo.digest {
				return nil, fmt.Errorf("%w: %s changed while it was compiled", cache.ErrIntegrity, p.Label)
			}
			return slices.Concat([]byte(standIns[0]), []byte(standIns[1]), []byte(p.ID), text), nil
		},
		done: func(a answer) error { return b.patchedAnswer(todo, source, a) },
	}
}

// patchedAnswer takes the driver's answer for a patched source.
func (b *build) patchedAnswer(todo patchedTodo, source []byte, a answer) (err error) {
	p := &b.req.Patched[todo.index]
	res := PatchedCode{Code: a.code, Why: a.why, Alone: a.alone || todo.digest == ""}
	row := Row{Kind: Template, Source: todo.digest}
	switch {
	case todo.digest == "" || a.lost:
	case a.alone:
		row.Kind = Alone
	case a.code == nil:
		row.Why, res.Why = a.why, p.specialWhy(a.why)
	default:
		row.Size = int64(len(a.code))
		if row.Code, err = b.adder.Add(a.code); err != nil {
			return err
		}
		res.Code = b.special(p, source, a.code)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if a.lost {
		b.res.Lost = append(b.res.Lost, p.Label+": "+a.why)
		return nil
	}
	b.res.Patched[todo.index] = res
	if a.code != nil {
		b.res.Compiled++
	}
	if todo.digest != "" {
		b.note(p, row)
	}
	return nil
}

package materialize

import (
	"path"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/bytecode"
)

// KnownByteCode gives a plan the byte-code that the store knows, as making the
// prefix does, without compiling or writing anything. made is what was noted when it
// was made; nil = it was not. complete: what is not
// known is only the content of compiled files whose sources are compiled for each
// prefix (see Unknown); a Tree of the plan takes whatever is there for those. What is
// lost or damaged in the pool is a cache.ErrIntegrity or cache.ErrNotFound error.
func (p *Plan) KnownByteCode(store *cache.Store, in *bytecode.Interpreter, made *ByteCode) (complete bool, err error) {
	if p.python == nil {
		return true, nil
	}
	sources, patched := p.byteCodeSources()
	res, complete, err := bytecode.Known(store, in, sources, p.patchedSources(store, patched))
	if err != nil || !complete {
		return false, err
	}
	sizes := map[string]int64{}
	for j, i := range patched {
		got, file := &res.Patched[j], pycPath(p.Ops[i].Path, res.Tag)
		switch {
		case !got.Alone:
		case made != nil && made.Own[file] == "":
			got.Why = "with this prefix"
		default:
			got.Code = []byte{} // stands for what is not known
			sizes[file] = codeSize(p.Ops[i].Size)
		}
	}
	p.unknown = map[string]int64{}
	for file := range p.setByteCode(res, patched).Own {
		p.unknown[file] = sizes[file]
	}
	return true, nil
}

// Unknown is how many files KnownByteCode planned of which only the compiler could
// tell content and size: those of sources that take their own prefix apart.
func (p *Plan) Unknown() int { return len(p.unknown) }

// codeSize guesses the size of a compiled file by that of its source, in bytes.
func codeSize(source int64) int64 { return source + source/4 }

// ByteCodeToCome counts the Python sources of the plan that come without a
// compiled file: as many contents, of about so many bytes, and so many
// directories.
func (p *Plan) ByteCodeToCome() (files, dirs int, bytes int64) {
	if p.python == nil {
		return 0, 0, 0
	}
	at := make(map[string]bool, len(p.Ops))
	for i := range p.Ops {
		at[p.Ops[i].Path] = true
	}
	from := p.byteCodeDirs()
	tag := "cpython-" + p.python.Short[:1] + p.python.Short[2:]
	for i := range p.Ops {
		op := &p.Ops[i]
		file := op.Kind == KindFile || op.Kind == KindPatch
		code := pycPath(op.Path, tag)
		if !file || !wantsByteCode(from, op.Path) || at[code] {
			continue
		}
		files++
		bytes += codeSize(op.Size)
		if dir := path.Dir(code); !at[dir] {
			at[dir] = true
			dirs++
		}
	}
	return files, dirs, bytes
}

package bytecode

import (
	"slices"

	"github.com/hpcenv/hpcenv/cache"
)

// Known is what the store knows of the byte-code of packages and patched sources,
// without compiling or writing anything. complete: that is all of it, but for the
// code of patched sources that are compiled Alone, of which only a compiler could
// tell it. A pool file that is lost or damaged is a cache.ErrIntegrity error.
func Known(store *cache.Store, in *Interpreter, packages []Package, patched []Patched) (res *Result, complete bool, err error) {
	b := &build{store: store, readOnly: true, req: &Request{Patched: patched}, res: &Result{
		Rows:    make(map[string]map[string]Row, len(packages)),
		Patched: make([]PatchedCode, len(patched)),
	}}
	complete = len(patched) == 0 && !slices.ContainsFunc(packages, func(p Package) bool { return len(p.Sources) > 0 })
	if b.c, err = find(store, in); err != nil || b.c == nil {
		return b.res, complete && err == nil, err
	}
	b.res.Tag = b.c.about.Tag
	complete, err = b.lookUp(packages)
	return b.res, complete, err
}

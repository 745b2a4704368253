package bytecode

import (
	"slices"

	"github.com/hpcenv/hpcenv/cache"
)

// Known is what the store knows of the byte-code of packages, without compiling
// or writing anything. complete: that is all of it.
func Known(store *cache.Store, in *Interpreter, packages []Package) (res *Result, complete bool, err error) {
	b := &build{store: store, req: &Request{}, res: &Result{Rows: make(map[string]map[string]Row, len(packages))}}
	if !slices.ContainsFunc(packages, func(p Package) bool { return len(p.Sources) > 0 }) {
		complete = true
	}
	if b.c, err = find(store, in); err != nil || b.c == nil {
		return b.res, complete && err == nil, err
	}
	b.res.Tag = b.c.about.Tag
	complete, err = b.lookUp(packages)
	return b.res, complete, err
}

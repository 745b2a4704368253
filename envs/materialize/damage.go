package materialize

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/hpcenv/hpcenv/cache"
)

// Damage looks behind the differences of a tree from the plan: where a path should
// be a pool file, and the pool's file is missing or not what its name says, making
// the tree again would not mend it. One line for each such file: whose it is, which
// it is, and what to remove so that it is made anew. Damage of files that are patched
// is found by Tree.
func (p *Plan) Damage(ctx context.Context, store *cache.Store, diffs []Difference) (lines []string, err error) {
	differs := make(map[string]bool, len(diffs))
	for _, d := range diffs {
		differs[d.Path] = true
	}
	seen := map[string]bool{}
	for i := range p.Ops {
		op := &p.Ops[i]
		if op.Kind != KindFile || op.Size == 0 || !differs[op.Path] {
			continue
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		file := store.PoolPath(op.SHA256, op.Exec)
		if seen[file] {
			continue
		}
		seen[file] = true
		_, sum, err := fileDigest(file)
		var what string
		switch {
		case errors.Is(err, fs.ErrNotExist):
			what = "is missing"
		case err != nil:
			what = fmt.Sprintf("cannot be read (%v)", err)
		case sum != op.SHA256:
			what = "holds other bytes"
		default:
			continue // the tree alone is at fault
		}
		// A package's own file is named by its manifest, byte-code by a table.
		origin := store.ManifestPath(p.Packages[op.Owner].Manifest.SHA256)
		if p.compiled(op) {
			origin = store.PoolDir("pyc")
		}
		lines = append(lines, fmt.Sprintf("%s of %s: the pool's file %s %s; remove it and %s", op.Path, label(p.Packages[op.Owner]), file, what, origin))
	}
	return lines, nil
}

// compiled: the content is byte-code that was made here, not a package's.
func (p *Plan) compiled(op *Op) bool {
	for _, e := range p.Packages[op.Owner].Manifest.Entries {
		if e.SHA256 == op.SHA256 {
			return false
		}
	}
	return true
}

// RunsScripts tells whether link scripts are run in the prefix; what they change is
// in no plan.
func (p *Plan) RunsScripts() bool { return len(p.scripts) > 0 }

package materialize

import (
	"errors"
	"fmt"
	"os"

	"github.com/hpcenv/hpcenv/cache"
)

// Damage looks, for paths of the prefix that are not as planned, at the files of
// the pool that they come from, and tells of those that are not what their names
// say: a prefix that is made again would get the same from them. One line each.
func (p *Plan) Damage(store *cache.Store, at []Difference) ([]string, error) {
	ops := make(map[string]*Op, len(p.Ops))
	for i := range p.Ops {
		ops[p.Ops[i].Path] = &p.Ops[i]
	}
	var out []string
	for _, d := range at {
		op := ops[d.Path]
		if op == nil || op.Kind != KindFile || op.Size == 0 {
			continue
		}
		file := store.PoolPath(op.SHA256, op.Exec)
		_, sum, err := fileDigest(file)
		if errors.Is(err, os.ErrNotExist) {
			continue // the package is taken in again, if it is wanted again
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", cache.ErrStore, err)
		}
		if sum != op.SHA256 {
			out = append(out, fmt.Sprintf("%s has another content, sha256 %s; remove it and %s, or the environment is made from it again (%s)",
				file, sum, store.ManifestPath(p.Packages[op.Owner].Manifest.SHA256), d.Path))
		}
	}
	return out, nil
}

// RunsScripts tells whether link scripts are run in the prefix; what they change is
// in no plan.
func (p *Plan) RunsScripts() bool { return len(p.scripts) > 0 }

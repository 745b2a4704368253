package sitebuild

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/materialize"
)

// Verify reads the overlays of an environment on a platform and returns a line for each
// that is not as it was when it was published. Errors: the record cannot be read.
func Verify(store *cache.Store, id, platform string) (damage []string, err error) {
	rec, err := Read(store.Root(), id, platform)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", cache.ErrStore, err)
	}
	for _, e := range rec.Builds {
		if e.State != Built {
			continue
		}
		tree := store.TreePath(platform, e.Overlay)
		if what := differs(store, e, platform, tree); what != "" {
			damage = append(damage, fmt.Sprintf("%s: site build %s: %s; remove it, and prepare again", tree, e.Name, what))
		}
	}
	return damage, nil
}

// differs tells how an overlay is not what its description says; "" = it is.
func differs(store *cache.Store, e Entry, platform, tree string) string {
	data, err := os.ReadFile(MetaPath(store.Root(), e.Overlay, platform))
	if err != nil {
		return "its description cannot be read: " + err.Error()
	}
	var o Overlay
	if err := json.Unmarshal(data, &o); err != nil {
		return "its description cannot be read: " + err.Error()
	}
	is, err := materialize.TreeDigest(tree)
	if err != nil {
		return err.Error()
	}
	if is != o.TreeDigest {
		return fmt.Sprintf("its tree digest is %s, not %s", is, o.TreeDigest)
	}
	return ""
}

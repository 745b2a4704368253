package materialize

import (
	"fmt"
	"path"
	"slices"

	"github.com/hpcenv/hpcenv/envs/linkscript"
)

// refuses says why changes cannot be carried out in the tree as it is; "" = they
// can. A script may remove a directory, but not with what is not its to change in
// it; and answers of a build account need not fit the tree at all.
func (a *applier) refuses(changes []linkscript.Change) string {
	kinds := make(map[string]linkscript.Kind, len(changes))
	for _, c := range changes {
		kinds[c.Path] = c.Kind
	}
	var kept []string
	for p := range a.paths {
		if _, changed := kinds[p]; !changed {
			kept = append(kept, p)
		}
	}
	slices.Sort(kept)
	for _, p := range kept {
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			if k, ok := kinds[dir]; ok && k != linkscript.Dir {
				return fmt.Sprintf("it removed %q, and %q in it is not its to change", dir, p)
			}
		}
	}
	for _, c := range changes {
		dir := path.Dir(c.Path)
		if c.Kind == linkscript.Gone || dir == "." {
			continue
		}
		k, changed := kinds[dir]
		if changed && k != linkscript.Dir || !changed && a.paths[dir].kind != 'd' {
			return fmt.Sprintf("it left %q below what is no directory", c.Path)
		}
	}
	return ""
}

package uvlock

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/python/name"
	"github.com/hpcenv/hpcenv/envs/tomltree"
)

// item is what can exclude another: an extra or a group of a package, or the
// package as a project.
type item struct{ pkg, extra, group string }

func (i item) String() string {
	switch {
	case i.extra != "":
		return fmt.Sprintf("extra `%s` of `%s`", i.extra, i.pkg)
	case i.group != "":
		return fmt.Sprintf("group `%s` of `%s`", i.group, i.pkg)
	}
	return fmt.Sprintf("project `%s`", i.pkg)
}

// extra is how the lock's markers ask for it: `extra == 'extra-3-foo-cpu'`, the
// number being the length of the package's name.
func (i item) asExtra() string {
	kind, rest := "project", ""
	if i.extra != "" {
		kind, rest = "extra", "-"+i.extra
	} else if i.group != "" {
		kind, rest = "group", "-"+i.group
	}
	return fmt.Sprintf("%s-%d-%s%s", kind, len(i.pkg), i.pkg, rest)
}

// conflicts reads the sets of items of which a user may have one.
func (r *reader) conflicts(root *tomltree.Value) [][]item {
	var all [][]item
	for _, list := range r.Items(root, "conflicts", tomltree.Array) {
		var set []item
		for _, t := range list.Items {
			if t.Kind != tomltree.Table {
				r.Failf(t.Line, "`conflicts` must hold tables, here is %s", t.Kind)
				return nil
			}
			set = append(set, item{
				pkg: name.Normalize(r.Required(t, "package")), extra: name.Normalize(r.Text(t, "extra")), group: name.Normalize(r.Text(t, "group")),
			})
		}
		all = append(all, set)
	}
	return all
}

// exclusive is an error if two of the active items exclude one another.
func (l *Lock) exclusive(active map[item]bool) error {
	for _, set := range l.conflicts {
		var found []string
		for _, i := range set {
			if text := i.String(); active[i] && !slices.Contains(found, text) {
				found = append(found, text)
			}
		}
		if len(found) > 1 {
			return fmt.Errorf("%w: uv.lock: %s exclude one another; next: ask for one of them", lockfile.ErrLock, strings.Join(found, " and "))
		}
	}
	return nil
}

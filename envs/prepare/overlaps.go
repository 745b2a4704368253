package prepare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/materialize"
)

// overlap is a wheel that has files of a conda package: what the prefix has there is
// the wheel's.
type overlap struct {
	wheel, conda string
	// files in all, and one of them.
	files int
	path  string
}

// overlaps of an environment, in the order of their first paths.
func overlaps(meta *materialize.Meta) []overlap {
	var out []overlap
	for _, c := range meta.Conflicts {
		if !wheelName(c.Winner) {
			continue
		}
		for _, loser := range c.Losers {
			if wheelName(loser) {
				continue
			}
			i := slices.IndexFunc(out, func(o overlap) bool { return o.wheel == c.Winner && o.conda == loser })
			if i < 0 {
				i = len(out)
				out = append(out, overlap{wheel: c.Winner, conda: loser, path: c.Path})
			}
			out[i].files++
		}
	}
	return out
}

// wheelName tells the name of a wheel's archive, by which conflicts call it.
func wheelName(owner string) bool { return strings.HasSuffix(owner, ".whl") }

// namedOverlaps is how many pairs are named; the others are counted.
const namedOverlaps = 3

// noteOverlaps tells the user which wheels overwrite files of conda packages, with
// both owners: usually one of the two was not meant.
func (r *run) noteOverlaps(env, subdir string, meta *materialize.Meta) {
	if r.req.DryRun { // it lists them
		return
	}
	all := overlaps(meta)
	for _, o := range all[:min(len(all), namedOverlaps)] {
		what := o.path
		if o.files > 1 {
			what = fmt.Sprintf("%d files (%s and others)", o.files, o.path)
		}
		r.note(fmt.Sprintf("%s for %s: the wheel %s overwrites %s of the conda package %s (hpcenv inspect %s lists conflicts)", env, subdir, o.wheel, what, o.conda, meta.ID[:12]))
	}
	if n := len(all) - namedOverlaps; n > 0 {
		r.note(fmt.Sprintf("%s for %s: wheels overwrite files of conda packages in %d more pairs (hpcenv inspect %s lists conflicts)", env, subdir, n, meta.ID[:12]))
	}
}

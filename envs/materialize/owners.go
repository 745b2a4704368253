package materialize

import (
	"slices"
	"sort"
	"strings"
)

// ownName is what a conflict report calls what hpcenv itself writes.
const ownName = "hpcenv"

// owners holds who has what while conflicts are decided.
type owners struct {
	plan *Plan
	// leaf holds files and links by path, dir directories; both with the package
	// that claimed the path first, which is the one of highest priority.
	leaf map[string]*Op
	dir  map[string]int
	// lost: path of the winner → packages that lost there.
	lost   map[string]map[string]bool
	winner map[string]int
	// known is the last directory that was seen to be in dir: neighbours mostly
	// lie in one.
	known string
}

// resolve decides who owns each path. Packages claim in order of priority: what
// hpcenv writes itself, then the last in topological order, and so on down. What
// finds its place taken, or a file where it needs a directory, or a directory
// where it wants to be a file, loses and is not linked. Identical content is no
// conflict.
func (p *Plan) resolve() {
	n := 0
	for i := range p.placed {
		n += len(p.placed[i])
	}
	o := &owners{
		plan: p, leaf: make(map[string]*Op, n), dir: make(map[string]int, n/4),
		lost: make(map[string]map[string]bool), winner: make(map[string]int),
	}
	markers := p.markers()
	for i := range markers {
		o.claim(&markers[i])
	}
	for i := len(p.Packages) - 1; i >= 0; i-- {
		for j := range p.placed[i] {
			pl := &p.placed[i][j]
			pl.Owner = i
			pl.won, pl.holds = o.claim(&pl.Op)
		}
	}
	p.Ops = o.sorted(markers)
	p.Conflicts = o.report()
}

// sorted are the operations that won, by path. What each package placed is
// sorted already, and packages mostly have folders of their own: such lists are
// merged in long runs.
func (o *owners) sorted(markers []Op) []Op {
	var lists [][]*Op
	for i := range o.plan.placed {
		placed := o.plan.placed[i]
		own := make([]*Op, 0, len(placed))
		for j := range placed {
			if placed[j].holds {
				own = append(own, &placed[j].Op)
			}
		}
		lists = append(lists, own)
	}
	dirs := make([]Op, 0, len(o.dir))
	rest := make([]*Op, 0, len(o.dir)+len(markers))
	for d := range o.dir {
		dirs = append(dirs, Op{Path: d, Kind: KindDir, Owner: Own})
		rest = append(rest, &dirs[len(dirs)-1])
	}
	for i := range markers { // they come first, so they win
		rest = append(rest, &markers[i])
	}
	slices.SortFunc(rest, func(a, b *Op) int { return strings.Compare(a.Path, b.Path) })
	return mergeOps(append(lists, rest))
}

// claim takes a path for op. won: op has the path, or the same content has it;
// holds: it is op that has it, and that is a file or link.
func (o *owners) claim(op *Op) (won, holds bool) {
	parent := dirOf(op.Path)
	known := parent == o.known
	if !known {
		_, known = o.dir[parent]
	}
	if !known {
		// A known directory has known directories above it, never a leaf.
		for d := parent; d != ""; d = dirOf(d) {
			if holder, taken := o.leaf[d]; taken {
				return o.lose(d, holder.Owner, op), false
			}
		}
	}
	if holder, taken := o.leaf[op.Path]; taken {
		if sameContent(holder, op) {
			return true, false
		}
		return o.lose(op.Path, holder.Owner, op), false
	}
	if op.Kind != KindDir {
		if holder, taken := o.dir[op.Path]; taken {
			return o.lose(op.Path, holder, op), false
		}
		o.leaf[op.Path] = op
	} else {
		o.claimDir(op.Path, op.Owner)
	}
	if !known {
		for d := parent; d != "" && o.claimDir(d, op.Owner); d = dirOf(d) {
			// until one is there: its parents are there too
		}
	}
	o.known = parent
	return true, op.Kind != KindDir
}

// dirOf is the directory of a clean relative path; "" = the prefix itself.
func dirOf(p string) string {
	i := strings.LastIndexByte(p, '/')
	return p[:max(i, 0)]
}

// claimDir notes a directory; false if it was there already.
func (o *owners) claimDir(d string, owner int) bool {
	if _, ok := o.dir[d]; ok {
		return false
	}
	o.dir[d] = owner
	return true
}

// lose notes that op's package lost to the holder of a path.
func (o *owners) lose(at string, holder int, op *Op) bool {
	if o.lost[at] == nil {
		o.lost[at] = make(map[string]bool)
	}
	o.winner[at] = holder
	o.lost[at][o.name(op.Owner)] = true
	return false
}

func (o *owners) name(owner int) string {
	if owner == Own {
		return ownName
	}
	return label(o.plan.Packages[owner])
}

// sameContent: either of the two gives the same path.
func sameContent(a, b *Op) bool {
	if a.Kind != b.Kind || a.Exec != b.Exec {
		return false
	}
	switch a.Kind {
	case KindFile:
		return a.SHA256 == b.SHA256
	case KindPatch:
		return a.SHA256 == b.SHA256 && a.Placeholder == b.Placeholder && a.Binary == b.Binary && slices.Equal(a.Edits, b.Edits)
	case KindSymlink:
		return a.Target == b.Target
	case KindData:
		return string(a.Data) == string(b.Data)
	default:
		return false
	}
}

// report lists the conflicts, sorted by path, losers sorted.
func (o *owners) report() []Conflict {
	var out []Conflict
	for at, losers := range o.lost {
		c := Conflict{Path: at, Winner: o.name(o.winner[at])}
		for l := range losers {
			c.Losers = append(c.Losers, l)
		}
		sort.Strings(c.Losers)
		out = append(out, c)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Path < out[j].Path })
	return out
}

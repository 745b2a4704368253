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
	for _, op := range p.markers() {
		o.claim(&op)
	}
	for i := len(p.Packages) - 1; i >= 0; i-- {
		for j := range p.placed[i] {
			pl := &p.placed[i][j]
			pl.Owner = i
			pl.won = o.claim(&pl.Op)
		}
	}
	p.Ops = o.sorted()
	p.Conflicts = o.report()
}

// sorted are the operations that won, by path. What each package placed is
// sorted already, and packages mostly have folders of their own: such lists are
// merged in long runs.
func (o *owners) sorted() []Op {
	var lists [][]*Op
	for i := range o.plan.placed {
		var own []*Op
		for j := range o.plan.placed[i] {
			// Of several with the same content one holds the path.
			if op := &o.plan.placed[i][j].Op; o.leaf[op.Path] == op {
				own = append(own, op)
			}
		}
		lists = append(lists, own)
	}
	var rest []*Op // directories, and what hpcenv writes
	for d := range o.dir {
		rest = append(rest, &Op{Path: d, Kind: KindDir, Owner: Own})
	}
	for _, op := range o.leaf {
		if op.Owner == Own || op.Kind == KindRecord {
			rest = append(rest, op)
		}
	}
	slices.SortFunc(rest, func(a, b *Op) int { return strings.Compare(a.Path, b.Path) })
	return mergeOps(append(lists, rest))
}

// claim takes a path for op, or reports false if op loses it.
func (o *owners) claim(op *Op) bool {
	parent := dirOf(op.Path)
	if _, known := o.dir[parent]; !known {
		// A known directory has known directories above it, never a leaf.
		for d := parent; d != ""; d = dirOf(d) {
			if holder, taken := o.leaf[d]; taken {
				return o.lose(d, holder.Owner, op)
			}
		}
	}
	if holder, taken := o.leaf[op.Path]; taken {
		if sameContent(holder, op) {
			return true
		}
		return o.lose(op.Path, holder.Owner, op)
	}
	if op.Kind != KindDir {
		if holder, taken := o.dir[op.Path]; taken {
			return o.lose(op.Path, holder, op)
		}
		o.leaf[op.Path] = op
	} else {
		o.claimDir(op.Path, op.Owner)
	}
	for d := parent; d != ""; d = dirOf(d) {
		if !o.claimDir(d, op.Owner) {
			break // its parents are there too
		}
	}
	return true
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
		return a.SHA256 == b.SHA256 && a.Placeholder == b.Placeholder && a.Binary == b.Binary
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

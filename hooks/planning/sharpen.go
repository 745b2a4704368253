package planning

import (
	"cmp"
	"slices"

	"github.com/hpcenv/hpcenv/envs/needs"
	"github.com/hpcenv/hpcenv/hooks/prepared"
	"github.com/hpcenv/hpcenv/hooks/selection"
)

// Sharpened is a description with what the files of environments that are published ask
// of nodes, beside what the lock says. What is not published, or cannot be read, stays
// as it is: the lock alone speaks then, and the node looks once more before a launch.
//
// A pin names the description without this, which is the same for all who have the same
// lock and manifest; a node that selects anew sharpens it, too.
func (d *Description) Sharpened(store prepared.Store, lockDigest string) *Description {
	parts, err := store.Parts()
	if err != nil {
		parts = nil // not for this process
	}
	out := &Description{Environments: slices.Clone(d.Environments)}
	copied := map[string]bool{}
	done := map[[2]string]bool{} // environment, subdir
	for _, s := range append([]prepared.Store{store}, parts...) {
		published, err := s.Environments(lockDigest)
		if err != nil {
			continue // who needs the index tells what is wrong with it
		}
		for i := range out.Environments {
			e := &out.Environments[i]
			p := published[e.Name]
			if p == nil {
				continue
			}
			for j := range e.Platforms {
				subdir := e.Platforms[j].Subdir
				if j != madeFor(e, subdir) || done[[2]string{e.Name, subdir}] {
					continue
				}
				head, err := s.NeedsHead(p.ID, subdir)
				if err != nil {
					continue
				}
				done[[2]string{e.Name, subdir}] = true
				if !copied[e.Name] {
					copied[e.Name] = true
					e.Platforms = slices.Clone(e.Platforms)
				}
				sharpen(&e.Platforms[j], head)
			}
		}
	}
	return out
}

// madeFor is which of the platforms with one subdir is made (lockfile.Environment's
// Platform): an id covers one of them.
func madeFor(e *selection.Environment, subdir string) int {
	best := -1
	for i := range e.Platforms {
		if p := &e.Platforms[i]; p.Subdir == subdir && (best < 0 || p.Platform == subdir ||
			e.Platforms[best].Platform != subdir && p.Platform < e.Platforms[best].Platform) {
			best = i
		}
	}
	return best
}

func sharpen(c *selection.Candidate, head *needs.Head) {
	c.Requirements = slices.Concat(c.Requirements, head.Requirements)
	if p := head.Page; p != nil && (c.Alignment == 0 || p.Size < c.Alignment) {
		c.Alignment, c.AlignmentPackage = p.Size, p.File
		if p.Package != "" {
			c.AlignmentPackage = cmp.Or(p.File, "a file") + " of " + p.Package
		}
	}
}

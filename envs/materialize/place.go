package materialize

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/conda"
)

// maxName is the longest name that Linux takes, in bytes. It takes paths of 4,095;
// maxPath leaves the rest to what a prefix lies below: one's place in the store is
// longer than the prefix itself.
const maxName, maxPath = 255, 3584

// placed is one path of a package at its place in the prefix, before conflicts
// are decided.
type placed struct {
	Op
	// recorded is what paths.json says of it, where that differs from the entry.
	recorded *conda.PathRecord
	noLink   bool
	// time is the file's time in the archive; see cache.Entry.
	time int64
	// entryPoint: the file is generated, not from the archive.
	entryPoint bool
	// won and holds are set by resolve: the path (or the same content) is in the
	// prefix; it is this one that makes it.
	won, holds bool
}

// placePackage finds where each path of a package goes. The result is sorted by
// path, each path once: of two that meet in one place the later counts, and
// entry points come after files.
func placePackage(prefix string, pkg Package, meta *conda.PackageMeta, py *python) ([]placed, error) {
	noarchPython := meta.Noarch == "python"
	if noarchPython && py == nil {
		return nil, fmt.Errorf("it is a noarch python package, but the environment has no package python, so there is no place for it: %w", ErrUnlinkable)
	}
	out := make([]placed, 0, len(pkg.Manifest.Entries)+len(meta.EntryPoints))
	for i := range pkg.Manifest.Entries {
		e := &pkg.Manifest.Entries[i]
		op, err := entryOp(e)
		if err != nil {
			return nil, err
		}
		if noarchPython {
			op.Path = py.place(e.Path)
		}
		if len(op.Path) > maxPath {
			return nil, fmt.Errorf("%.80q… has a path of %d bytes, at most %d can be reached below a prefix: %w", op.Path, len(op.Path), maxPath, ErrUnlinkable)
		}
		out = append(out, placed{Op: op, noLink: e.NoLink, time: e.Time})
		if len(meta.Recorded) > 0 {
			if r, ok := meta.Recorded[e.Path]; ok {
				out[len(out)-1].recorded = &r
			}
		}
	}
	if noarchPython {
		for _, ep := range meta.EntryPoints {
			data := entryPointScript(prefix, py, ep)
			out = append(out, placed{Op: Op{Path: "bin/" + ep.Command, Kind: KindData, Exec: true, Data: data}, entryPoint: true})
		}
	}
	return lastOfEach(out), nil
}

// lastOfEach sorts by path and keeps the last of those with one path. Manifests
// are sorted: mostly there is nothing to do.
func lastOfEach(all []placed) []placed {
	done := true
	for i := 1; i < len(all) && done; i++ {
		done = all[i-1].Path < all[i].Path
	}
	if done {
		return all
	}
	// They are large: what is sorted is where they are.
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(strings.Compare(all[a].Path, all[b].Path), a-b) })
	kept := make([]placed, 0, len(all))
	for n, i := range order {
		if n+1 == len(order) || all[order[n+1]].Path != all[i].Path {
			kept = append(kept, all[i])
		}
	}
	return kept
}

// entryOp is how an entry is made, wherever it is placed.
func entryOp(e *cache.Entry) (Op, error) {
	op := Op{Path: e.Path, Source: e.Path, Exec: e.Exec, SHA256: e.SHA256, Size: e.Size, Copy: e.NoLink}
	switch e.Type {
	case cache.EntryDir:
		return Op{Path: e.Path, Source: e.Path, Kind: KindDir}, nil
	case cache.EntryLink:
		return Op{Path: e.Path, Source: e.Path, Kind: KindSymlink, Target: e.Target}, nil
	case cache.EntryFile:
		op.Kind = KindFile
		if e.Placeholder != "" {
			op.Kind, op.Copy = KindPatch, false
			op.Placeholder, op.Binary, op.Offsets = e.Placeholder, e.Binary, e.Offsets
		}
		return op, nil
	default:
		return Op{}, fmt.Errorf("%s is of unknown type %q: %w", e.Path, e.Type, cache.ErrIntegrity)
	}
}

package recipe

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"sort"

	"golang.org/x/sync/errgroup"

	"github.com/hpcenv/hpcenv/contrib/demo/condapkg"
	"github.com/hpcenv/hpcenv/contrib/demo/debian"
)

// Build gets the Debian packages (apt's state and the downloads are kept below
// aptDir) and makes all packages of the demo channel. It returns them sorted,
// and the Python version ("3.11"). log is told what is going on.
func Build(ctx context.Context, aptDir string, probe []byte, log func(format string, args ...any)) ([]*condapkg.Package, string, error) {
	archs := Archs()
	names := make([]string, len(archs))
	for i, a := range archs {
		names[i] = a.Debian
	}
	apt, err := debian.Open(ctx, aptDir, names)
	if err != nil {
		return nil, "", err
	}
	log("reading the indexes of Debian packages for %v", names)
	if err := apt.Update(ctx); err != nil {
		return nil, "", err
	}
	py, err := pythonVersion(ctx, apt, archs[0])
	if err != nil {
		return nil, "", err
	}
	sources, err := resolve(ctx, apt, archs, py)
	if err != nil {
		return nil, "", err
	}
	log("downloading %d Debian packages", len(sources))
	stanzas := make([]*debian.Stanza, len(sources))
	for i := range sources {
		stanzas[i] = sources[i].Stanza
	}
	files, err := apt.Download(ctx, stanzas)
	if err != nil {
		return nil, "", err
	}
	log("converting them")
	out := make([]*condapkg.Package, len(sources))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.NumCPU())
	for i, s := range sources {
		s.File = files[s.Stanza]
		g.Go(func() (err error) {
			out[i], err = Convert(gctx, s, py)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, "", err
	}
	dropDangling(out)
	log("compiling Python sources")
	if err := addByteCode(ctx, out, archs, py); err != nil {
		return nil, "", err
	}
	own, err := Own(ctx, archs, probe)
	if err != nil {
		return nil, "", err
	}
	out = append(out, own...)
	sort.Slice(out, func(i, j int) bool {
		return filepath.Join(out[i].Subdir, out[i].Dist()) < filepath.Join(out[j].Subdir, out[j].Dist())
	})
	return out, py, nil
}

// pythonVersion is the system's Python 3, from what package python3 depends on.
func pythonVersion(ctx context.Context, apt *debian.Apt, a Arch) (string, error) {
	got, err := apt.Show(ctx, a.Debian, []string{"python3"})
	if err != nil {
		return "", err
	}
	if s := got["python3"]; s != nil {
		for _, clause := range s.Depends {
			if barePython.MatchString(clause[0]) {
				return clause[0][len("python"):], nil
			}
		}
	}
	return "", fmt.Errorf("%w: package python3 does not say which Python it is", debian.ErrApt)
}

// resolve is the closure of the roots for all architectures; packages of
// architecture "all" occur once.
func resolve(ctx context.Context, apt *debian.Apt, archs []Arch, py string) ([]Source, error) {
	var out []Source
	seen := map[string]bool{}
	for _, a := range archs {
		set, err := debian.Closure(ctx, apt, a.Debian, Roots(py), Stop)
		if err != nil {
			return nil, err
		}
		for name, s := range set.Packages {
			if s.Architecture == "all" {
				if seen[name] {
					continue
				}
				seen[name] = true
			}
			out = append(out, Source{Arch: a, Stanza: s, Needs: set.Needs[name]})
		}
	}
	sort.Slice(out, func(i, j int) bool {
		if x, y := out[i].Stanza.Package, out[j].Stanza.Package; x != y {
			return x < y
		}
		return out[i].Arch.Debian < out[j].Arch.Debian
	})
	return out, nil
}

// Package channel is a conda channel in a folder, and the lock files that name
// its packages.
//
// Enters: packages. Leaves: <dir>/<subdir>/<archive> and repodata.json as any
// conda client reads them, channel.json (what this package itself reads later),
// and for given URLs of the channel pixi.lock and pixi.toml.
package channel

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sort"

	"golang.org/x/sync/errgroup"

	"github.com/hpcenv/hpcenv/contrib/demo/condapkg"
)

// Entry is one archive of a channel.
type Entry struct {
	condapkg.Record
	// File is the archive's name below its subdir.
	File string `json:"file"`
}

// Channel is what channel.json holds.
type Channel struct {
	Version int `json:"version"`
	// Python version, "3.11".
	Python string `json:"python"`
	// Interpreters are the files that must answer to "python", by subdir: what a
	// test compares a job's output with.
	Interpreters map[string]Interpreter `json:"interpreters"`
	// Packages, sorted by subdir and file.
	Packages []Entry `json:"packages"`
}

// Interpreter is the Python program in package python.
type Interpreter struct {
	// Path below the prefix. The file holds no placeholder, so that SHA256 is
	// that of the installed file, too.
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	// Version of package python, and of package numpy.
	Version string `json:"version"`
	NumPy   string `json:"numpy"`
}

// interpreters finds them in the packages.
func interpreters(packages []*condapkg.Package, python string) map[string]Interpreter {
	numpy := map[string]string{}
	for _, p := range packages {
		if p.Name == "numpy" {
			numpy[p.Subdir] = p.Version
		}
	}
	out := map[string]Interpreter{}
	for _, p := range packages {
		for _, f := range p.Files {
			if p.Name == "python" && f.Path == "bin/python"+python {
				sum := sha256.Sum256(f.Data)
				out[p.Subdir] = Interpreter{Path: f.Path, SHA256: hex.EncodeToString(sum[:]), Version: p.Version, NumPy: numpy[p.Subdir]}
			}
		}
	}
	return out
}

const indexFile = "channel.json"

// Read reads the channel in dir.
func Read(dir string) (*Channel, error) {
	b, err := os.ReadFile(filepath.Join(dir, indexFile))
	if err != nil {
		return nil, fmt.Errorf("no channel in %s (make it with `mkchannel make`): %w", dir, err)
	}
	c := &Channel{}
	if err := json.Unmarshal(b, c); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, indexFile), err)
	}
	return c, nil
}

// format spreads packages over both formats. Large ones are .conda: bzip2 would
// take most of the time.
func format(p *condapkg.Package) condapkg.Format {
	size, sum := 0, 0
	for _, f := range p.Files {
		size += len(f.Data)
	}
	for _, c := range []byte(p.Name) {
		sum += int(c)
	}
	if size < 1<<20 && sum%2 == 0 {
		return condapkg.TarBz2
	}
	return condapkg.Conda
}

// Write packs the packages into dir, which must not exist; it appears complete
// or not at all.
func Write(ctx context.Context, dir, python string, packages []*condapkg.Package) (*Channel, error) {
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".channel-")
	if err != nil {
		return nil, fmt.Errorf("channel: %w", err)
	}
	defer os.RemoveAll(tmp)
	c := &Channel{Version: 1, Python: python, Packages: make([]Entry, len(packages)), Interpreters: interpreters(packages, python)}
	for _, p := range packages {
		if err := os.MkdirAll(filepath.Join(tmp, p.Subdir), 0o755); err != nil {
			return nil, fmt.Errorf("channel: %w", err)
		}
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.NumCPU())
	for i, p := range packages {
		g.Go(func() error {
			f := format(p)
			data, err := p.Archive(gctx, f)
			if err != nil {
				return err
			}
			e := Entry{Record: p.Record(data), File: p.Dist() + string(f)}
			c.Packages[i] = e
			return os.WriteFile(filepath.Join(tmp, p.Subdir, e.File), data, 0o644)
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if err := c.writeIndexes(tmp); err != nil {
		return nil, err
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return nil, fmt.Errorf("channel: %w", err)
	}
	if err := os.Rename(tmp, dir); err != nil {
		return nil, fmt.Errorf("channel: %w", err)
	}
	return c, nil
}

// writeIndexes writes repodata.json for each subdir, and channel.json.
func (c *Channel) writeIndexes(dir string) error {
	sort.Slice(c.Packages, func(i, j int) bool {
		a, b := &c.Packages[i], &c.Packages[j]
		if a.Subdir != b.Subdir {
			return a.Subdir < b.Subdir
		}
		return a.File < b.File
	})
	type repodata struct {
		Info     map[string]string          `json:"info"`
		Packages map[string]condapkg.Record `json:"packages"`
		Conda    map[string]condapkg.Record `json:"packages.conda"`
		Version  int                        `json:"repodata_version"`
	}
	all := map[string]*repodata{}
	for _, e := range c.Packages {
		r := all[e.Subdir]
		if r == nil {
			r = &repodata{map[string]string{"subdir": e.Subdir}, map[string]condapkg.Record{}, map[string]condapkg.Record{}, 1}
			all[e.Subdir] = r
		}
		if filepath.Ext(e.File) == string(condapkg.Conda) {
			r.Conda[e.File] = e.Record
		} else {
			r.Packages[e.File] = e.Record
		}
	}
	for subdir, r := range all {
		if err := writeJSON(filepath.Join(dir, subdir, "repodata.json"), r); err != nil {
			return err
		}
	}
	return writeJSON(filepath.Join(dir, indexFile), c)
}

func writeJSON(name string, v any) error {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.WriteFile(name, append(b, '\n'), 0o644)
}

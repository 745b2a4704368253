package materialize

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/conda"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	envpython "github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/envs/python/name"
	"github.com/hpcenv/hpcenv/envs/standalone"
)

// listError says that a list of interpreters does not tell what an archive is.
type listError string

func (e listError) Error() string { return "the list of interpreters: " + string(e) }

// Unwrap: it is of both classes.
func (e listError) Unwrap() []error { return []error{ErrUnlinkable, envpython.ErrInterpreter} }

// checkStandalone refuses Pythons that come as archives of their own where they
// cannot be in the prefix, all of them at once, and returns the one that there is
// with what is known of it; nil = there is none.
func checkStandalone(platform string, pythons, packages []Package) (*standalone.Meta, error) {
	var faults []string
	var meta *standalone.Meta
	for _, p := range pythons {
		if p.Manifest == nil {
			faults = append(faults, label(p)+" is not in the store")
			continue
		}
		if err := checkFormat(p); err != nil {
			return nil, fmt.Errorf("package %s: %w", label(p), err)
		}
		var err error
		if meta, err = standalone.DecodeMeta(p.Manifest.Meta); err != nil {
			return nil, fmt.Errorf("package %s: %w", label(p), err)
		}
		if p.Python.Subdir != platform {
			faults = append(faults, fmt.Sprintf("%s is for %s, not for %s", label(p), p.Python.Subdir, platform))
		}
		if f := meta.Faults(p.Python.Version, p.Python.Subdir, p.Python.FreeThreaded); f != nil {
			return nil, listError(label(p) + ": " + strings.Join(f, ", and "))
		}
	}
	if len(pythons) > 1 {
		faults = append(faults, fmt.Sprintf("%s and %s are two Pythons", label(pythons[0]), label(pythons[1])))
	}
	for _, p := range packages {
		if len(pythons) > 0 && p.Lock.Name == "python" {
			faults = append(faults, fmt.Sprintf("%s and %s are two Pythons", label(pythons[0]), label(p)))
		}
	}
	if len(faults) > 0 {
		return nil, fmt.Errorf("%s: %w", strings.Join(faults, "; "), ErrUnlinkable)
	}
	return meta, nil
}

// checkFormat: the store took the package in as what the lock says that it is.
func checkFormat(p Package) error {
	var is bool
	switch f := p.Manifest.Format; {
	case p.Wheel != nil:
		is = f == cache.FormatWheel
	case p.Python != nil:
		is = f == cache.FormatTarGz || f == cache.FormatTarZst
	default:
		is = f == cache.FormatConda || f == cache.FormatTarBz2
	}
	if !is {
		return fmt.Errorf("the store took it in as a .%s archive, its lock means another kind: %w", p.Manifest.Format, cache.ErrIntegrity)
	}
	return nil
}

// placeStandalone finds where each path of such a Python goes: where it is. A
// distribution that the archive brings in its site-packages (pip) and that a wheel
// of the environment replaces is left out, as installing the wheel there would
// remove it.
func (p *Plan) placeStandalone(pkg Package, meta *standalone.Meta) ([]placed, error) {
	dropped := map[string]bool{}
	for _, w := range p.Packages {
		if w.Wheel == nil {
			continue
		}
		for _, f := range meta.Bundled[name.Normalize(w.Wheel.Name)].Paths {
			dropped[f] = true
		}
	}
	gone := emptied(pkg.Manifest.Entries, dropped)
	out, err := placePackage(p.Prefix, pkg, &conda.PackageMeta{}, p.python)
	if err != nil {
		return nil, err
	}
	kept := out[:0]
	for _, pl := range out {
		if dropped[pl.Path] || pl.Kind == KindDir && gone[pl.Path] {
			continue
		}
		if edits := meta.Edits[pl.Path]; edits != nil && pl.Kind == KindFile {
			pl.Kind, pl.Edits = KindPatch, edits
		}
		kept = append(kept, pl)
	}
	return kept, nil
}

// emptied are the directories that held nothing but what is dropped.
func emptied(entries []cache.Entry, dropped map[string]bool) map[string]bool {
	gone := map[string]bool{}
	for f := range dropped {
		for d := dirOf(f); d != ""; d = dirOf(d) {
			gone[d] = true
		}
	}
	if len(gone) == 0 {
		return gone
	}
	for _, e := range entries {
		if e.Type == cache.EntryDir || dropped[e.Path] {
			continue
		}
		for d := dirOf(e.Path); d != ""; d = dirOf(d) {
			delete(gone, d)
		}
	}
	return gone
}

// rewrite writes what a KindPatch makes of the pool's file. An error of class
// errPlaceholder says that the file is not the one that the plan was made for.
func (p *Plan) rewrite(dst io.Writer, src io.Reader, op *Op) error {
	switch {
	case op.Edits != nil:
		err := standalone.Apply(dst, src, op.Edits, p.Prefix)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("%w: %w", err, errPlaceholder)
		}
		return err
	case op.Binary:
		return replaceBinary(dst, src, op.Offsets, op.Placeholder, p.Prefix)
	default:
		return replaceText(dst, src, op.Offsets, op.Placeholder, p.Prefix)
	}
}

// growth is by how many bytes a KindPatch makes a text longer than its source.
func (op *Op) growth(prefix string) (n int64) {
	for _, e := range op.Edits {
		n += int64(len(e.Text)) - e.Len
		if e.Prefix {
			n += int64(len(prefix))
		}
	}
	if !op.Binary {
		n += int64(len(op.Offsets) * (len(prefix) - len(op.Placeholder)))
	}
	return n
}

// idStandalone is what an environment id covers of such a Python: its bytes, and
// what decides where things go. nil if there is none.
func idStandalone(p *lockfile.Platform) json.RawMessage {
	s := p.Python
	if s == nil {
		return nil
	}
	data, err := json.Marshal(struct {
		Version      string `json:"version"`
		SHA256       string `json:"sha256"`
		FreeThreaded bool   `json:"free_threaded,omitempty"`
	}{s.Version, s.SHA256, s.FreeThreaded})
	if err != nil {
		panic(fmt.Sprintf("environment id: %v", err)) // texts always have a JSON form
	}
	return data
}

// kindStandalone is MetaPackage.Kind of such a Python.
const kindStandalone = "interpreter"

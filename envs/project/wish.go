package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	pytarget "github.com/hpcenv/hpcenv/envs/lockfile/target"
	"github.com/hpcenv/hpcenv/envs/lockfile/uvlock"
	"github.com/hpcenv/hpcenv/envs/pyenv"
	"github.com/hpcenv/hpcenv/envs/python"
)

// PythonLock is a lock that names neither environments nor a Python (uv.lock,
// pylock.toml), and where it lies: what lies beside it completes what a user asks
// of it.
type PythonLock struct {
	// Format of the lock.
	Format lockfile.Format

	dir    string
	data   []byte
	source pytarget.Source
}

// OpenPython returns the PythonLock of a lock's bytes, or nil if the lock names its
// environments. path is where it lies; "" = not known, and nothing beside it counts.
func OpenPython(path string, data []byte) *PythonLock {
	format, err := lockfile.Detect(data)
	if err != nil || format != lockfile.FormatUV && format != lockfile.FormatPylock {
		return nil
	}
	p := &PythonLock{Format: format, data: data}
	if path != "" {
		p.dir = filepath.Dir(path)
	}
	return p
}

// Source is the lock, read; the error wraps lockfile.ErrLock.
func (p *PythonLock) Source() (pytarget.Source, error) {
	var err error
	if p.source == nil {
		p.source, err = pytarget.Parse(p.data, nil)
	}
	return p.source, err
}

// Names are the environments' names that texts of wishes stand for; none = the
// default one. All = pyenv.All, whatever texts has.
func (p *PythonLock) Names(texts []string, all bool) ([]string, error) {
	if all {
		source, err := p.Source()
		if err != nil {
			return nil, err
		}
		texts = pyenv.All(source)
	}
	if len(texts) == 0 {
		texts = []string{python.DefaultSelection}
	}
	var names []string
	for _, t := range texts {
		wish, err := python.ParseWish(t)
		if err != nil {
			return nil, err
		}
		n, err := p.Name(wish)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names, nil
}

// Name is the environment's name that a wish stands for here: it says, too, which
// Python .python-version asks for unless the wish does, and which groups
// pyproject.toml (the member's, or else the one beside the lock) makes default ones.
// The name of a name is the name itself. Errors wrap python.ErrInterpreter,
// python.ErrSelection, lockfile.ErrLock or ErrManifest.
func (p *PythonLock) Name(wish python.Wish) (string, error) {
	if p.dir != "" {
		if err := p.python(&wish); err != nil {
			return "", err
		}
		if p.Format == lockfile.FormatUV {
			if err := p.groups(&wish); err != nil {
				return "", err
			}
		}
	}
	var err error
	if wish.Selection, err = wish.Canonical(); err != nil {
		return "", err
	}
	return wish.String(), nil
}

// Trees are the local source trees of the environment of a name, as far as they can
// be told without knowing which Pythons the site lists; what is wrong with the lock
// is for others to say.
func (p *PythonLock) Trees(name string) []lockfile.SourceTree {
	source, err := p.Source()
	if err != nil {
		return nil
	}
	wish, err := python.ParseWish(name)
	if err != nil {
		return nil
	}
	platforms := []string{"linux-64", "linux-aarch64"}
	made, err := pyenv.Any(source, wish, platforms, pyenv.Unlisted(platforms))
	if err != nil {
		return nil
	}
	return lockfile.SourceTrees(made.Lock.Environments[0].Platforms...)
}

// MemberAt is the member of the workspace that a directory below the lock's lies in:
// that of the nearest pyproject.toml upwards, if it is not the one beside the lock.
// "" = none. The lock is read only if there is such a file.
func (p *PythonLock) MemberAt(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		rel, err := filepath.Rel(p.dir, dir)
		if err != nil || rel == "." || !filepath.IsLocal(rel) {
			return ""
		}
		if _, err := os.Stat(filepath.Join(dir, "pyproject.toml")); err != nil {
			continue
		}
		source, err := p.Source()
		if err != nil {
			return "" // for others to say
		}
		return source.MemberAt(filepath.ToSlash(rel))
	}
}

// python asks .python-version, if the wish does not say.
func (p *PythonLock) python(wish *python.Wish) error {
	if wish.Python.Text != "" {
		return nil
	}
	text, err := p.read(".python-version")
	if text == nil || err != nil {
		return err
	}
	if wish.Python, err = python.ParsePythonVersion(string(text)); err != nil {
		return fmt.Errorf("%s: %w", p.dir, err)
	}
	return nil
}

// groups says which groups are default ones, where those are not uv's own.
func (p *PythonLock) groups(wish *python.Wish) error {
	if wish.AllGroups || wish.OnlyGroups || wish.NoDefaultGroups {
		return nil
	}
	file := "pyproject.toml"
	if wish.Package != "" {
		source, err := p.Source()
		if err != nil {
			return err
		}
		if dir, ok := source.Member(wish.Package); ok && filepath.IsLocal(filepath.FromSlash(dir)) {
			file = filepath.Join(filepath.FromSlash(dir), file)
		}
	}
	text, err := p.read(file)
	if text == nil || err != nil {
		return err
	}
	o, err := uvlock.Defaults(text)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %s: %w", ErrManifest, filepath.Join(p.dir, file), err)
	case o.DefaultAll:
		wish.AllGroups = true
	case o.DefaultGroups != nil:
		// `dev`, if it is one, is what an unspoken wish has anyway.
		wish.NoDefaultGroups = !slices.Contains(o.DefaultGroups, "dev")
		for _, g := range o.DefaultGroups {
			if g != "dev" {
				wish.Groups = append(wish.Groups, g)
			}
		}
	}
	return nil
}

// read returns a file beside the lock; nil if it is not there.
func (p *PythonLock) read(name string) ([]byte, error) {
	path := filepath.Join(p.dir, name)
	data, err := readBounded(path, maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrManifest, path, err)
	}
	if data == nil {
		data = []byte{}
	}
	return data, nil
}

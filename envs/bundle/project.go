package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/envs/python"
)

// AddProjectFiles adds the manifest in dir, the lock's directory, and the scripts
// that it names for the plan's environments and that lie below dir. A lock without
// a manifest is none the worse. Of a lock that names no Python it adds what says which
// Python and groups are meant.
func (p *Plan) AddProjectFiles(dir string) error {
	if p.pythons != nil {
		return p.addPythonFiles(dir)
	}
	m, err := project.Load(dir)
	if m == nil || err != nil {
		return err
	}
	p.project.Files = map[string][]byte{}
	name := filepath.Base(m.File)
	if p.project.Files[name], err = os.ReadFile(m.File); err != nil {
		return fmt.Errorf("the manifest %s: %w", m.File, err)
	}
	if err := passable(p.project.Files[name]); err != nil {
		return fmt.Errorf("the manifest %s: %w", m.File, err)
	}
	for _, c := range p.Contents {
		a, err := m.Activation(c.Environment)
		var unknown *project.UnknownEnvironmentError
		if errors.As(err, &unknown) {
			continue // whether there is such an environment, the lock decides
		}
		if err != nil {
			return err
		}
		for _, scripts := range a.Scripts {
			for _, s := range scripts {
				at := filepath.ToSlash(filepath.Clean(s.Path))
				if safePath(at) && at != p.project.LockName && at != name {
					p.project.Files[at] = []byte(s.Content)
				}
			}
		}
	}
	return nil
}

// addPythonFiles adds .python-version and the pyproject.toml of the project and of
// those members of its workspace that environments are for.
func (p *Plan) addPythonFiles(dir string) error {
	open := project.OpenPython("", p.project.Lock)
	source, err := open.Source()
	if err != nil {
		return err
	}
	files := []string{".python-version", "pyproject.toml"}
	for _, c := range p.Contents {
		wish, err := python.ParseWish(c.Environment)
		if err != nil {
			return err
		}
		if member, ok := source.Member(wish.Package); ok && filepath.IsLocal(filepath.FromSlash(member)) {
			files = append(files, filepath.Join(filepath.FromSlash(member), "pyproject.toml"))
		}
	}
	p.project.Files = map[string][]byte{}
	for _, name := range files {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = passable(data)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
		}
		p.project.Files[filepath.ToSlash(filepath.Clean(name))] = data
	}
	return nil
}

// Digest of the lock.
func (p *Plan) Digest() string { return p.digest }

package bundle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hpcenv/hpcenv/envs/project"
)

// AddProjectFiles adds the manifest in dir, the lock's directory, and the scripts
// that it names for the plan's environments and that lie below dir. A lock without
// a manifest is none the worse.
func (p *Plan) AddProjectFiles(dir string) error {
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

// Digest of the lock.
func (p *Plan) Digest() string { return p.digest }

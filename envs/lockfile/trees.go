package lockfile

import (
	"fmt"
	"net/url"
	"path/filepath"
	"reflect"
	"strings"
)

// SourceTree is a local source tree of a lock, as its Index has it: it is no part
// of a prefix, but of what activation adds for one user.
type SourceTree struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// Location exactly as the lock has it: a path, if relative then to the lock's
	// directory, or a file URL. Subdirectory is below it.
	Location     string `json:"location"`
	Subdirectory string `json:"subdirectory,omitempty"`
	// Editable: the lock asks for an editable install. (Where locks do not say, the
	// manifest does.)
	Editable       bool     `json:"editable,omitempty"`
	RequiresDist   []string `json:"requires_dist,omitempty"`
	RequiresPython string   `json:"requires_python,omitempty"`
	// Line of the entry in the lock.
	Line int `json:"line,omitempty"`
}

// Dir is the tree's absolute directory; lockDir is the lock's.
func (t SourceTree) Dir(lockDir string) (string, error) {
	path := t.Location
	if strings.HasPrefix(path, "file:") {
		u, err := url.Parse(path)
		if err != nil || u.Path == "" || u.Host != "" && u.Host != "localhost" {
			return "", fmt.Errorf("%w: %s (line %d): %q is no path of this host", ErrLock, t.Name, t.Line, path)
		}
		path = u.Path
	}
	path = filepath.Join(filepath.FromSlash(path), t.Subdirectory)
	if !filepath.IsAbs(path) {
		path = filepath.Join(lockDir, path)
	}
	return filepath.Clean(path), nil
}

// Installed are the Python packages of a platform that become part of a prefix:
// all but local source trees.
func (p *Platform) Installed() []*PyPIPackage {
	var out []*PyPIPackage
	for _, pkg := range p.PyPI {
		if pkg.Kind != PyPIDirectory {
			out = append(out, pkg)
		}
	}
	return out
}

// SourceTrees are the local source trees of platforms of an environment, each
// once, in their order.
func SourceTrees(platforms ...*Platform) []SourceTree {
	var out []SourceTree
	for _, p := range platforms {
	next:
		for _, pkg := range p.PyPI {
			if pkg.Kind != PyPIDirectory {
				continue
			}
			t := SourceTree{
				Name: pkg.Name, Version: pkg.Version, Location: pkg.Location, Subdirectory: pkg.Subdirectory, Editable: pkg.Editable,
				RequiresDist: pkg.RequiresDist, RequiresPython: pkg.RequiresPython, Line: pkg.Line,
			}
			for _, have := range out {
				if reflect.DeepEqual(have, t) {
					continue next
				}
			}
			out = append(out, t)
		}
	}
	return out
}

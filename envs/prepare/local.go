package prepare

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

// localURL makes a file URL of a local location, which may be relative to the
// lock's directory. The lock itself is left as it is: its records hold what it
// says, and an id must not depend on where a project lies.
func localURL(location, dir string) (string, error) {
	if strings.Contains(location, "://") || strings.HasPrefix(location, "file:") {
		return location, nil
	}
	path := filepath.FromSlash(location)
	if !filepath.IsAbs(path) {
		if !filepath.IsAbs(dir) {
			return "", fmt.Errorf("%w: it lies at %q, relative to the lock, and where the lock lies is not known", ErrRequest, location)
		}
		path = filepath.Join(dir, path)
	}
	return (&url.URL{Scheme: "file", Path: path}).String(), nil
}

// needLocal returns a *NeedLocalError for local packages that this process may
// not open itself, and for all that are brought, if they were not handed over yet.
func (r *run) needLocal(missing []locked) error {
	if r.deps.OpenLocal && !r.req.Brought {
		return nil
	}
	need := &NeedLocalError{}
	for _, p := range missing {
		if _, _, local := p.where(); !local && !r.req.Brought {
			continue
		}
		src, err := p.source()
		if err != nil {
			return err
		}
		ok, err := r.deps.Store.HasArchive(src)
		if err != nil {
			return err
		}
		if !ok {
			need.add(p)
		}
	}
	if len(need.Packages)+len(need.Wheels)+len(need.Pythons) == 0 {
		return nil
	}
	return need
}

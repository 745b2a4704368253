package wheel

import (
	"fmt"
	"net/url"
	"path"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/python/name"
	"github.com/hpcenv/hpcenv/envs/python/tag"
	"github.com/hpcenv/hpcenv/envs/python/version"
)

// identity is whose wheel it is, as its file name has it.
type identity struct {
	name    string // normalized
	version version.Version
	public  version.Version // version without its local part
}

// parseFileName reads name and version of a wheel's file name; percent escapes of a
// URL are undone. Errors are of class cache.ErrIntegrity.
func parseFileName(file string) (identity, error) {
	plain, err := url.PathUnescape(path.Base(file))
	if err != nil {
		plain = path.Base(file)
	}
	w, err := tag.ParseWheelName(plain)
	if err != nil {
		return identity{}, fmt.Errorf("%w: %w", err, cache.ErrIntegrity)
	}
	id := identity{name: w.NormalizedName(), version: w.Version}
	if id.public, err = version.Parse(w.Version.Public()); err != nil {
		return identity{}, fmt.Errorf("%w: %w", err, cache.ErrIntegrity)
	}
	return id, nil
}

// check says whether a name and version found inside the wheel are those of its
// file name. A local version may be in the file name alone.
func (id identity) check(where, n, v string) error {
	if name.Normalize(n) != id.name {
		return fmt.Errorf("%s says the package is %q, its file name says %q; this wheel is not what it is called: %w", where, n, id.name, cache.ErrIntegrity)
	}
	have, err := version.Parse(v)
	if err != nil {
		return fmt.Errorf("%s: %q is not a version (PEP 440): %w", where, v, cache.ErrIntegrity)
	}
	if !have.Equal(id.version) && !have.Equal(id.public) {
		return fmt.Errorf("%s says the version is %s, its file name says %s; this wheel is not what it is called: %w", where, v, id.version, cache.ErrIntegrity)
	}
	return nil
}

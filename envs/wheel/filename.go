package wheel

import (
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/python/name"
	"github.com/hpcenv/hpcenv/envs/python/version"
)

// identity is whose wheel it is, as its file name has it.
type identity struct {
	name    string // normalized
	version version.Version
	public  version.Version // version without its local part
}

// parseFileName reads name and version of
// name-version(-build)?-python-abi-platform.whl; percent escapes of a URL are
// undone. Errors are of class cache.ErrIntegrity.
func parseFileName(file string) (identity, error) {
	bad := func(why string) (identity, error) {
		return identity{}, fmt.Errorf("file name %q: %s: %w", file, why, cache.ErrIntegrity)
	}
	plain, err := url.PathUnescape(path.Base(file))
	if err != nil {
		plain = path.Base(file)
	}
	stem, ok := strings.CutSuffix(plain, ".whl")
	parts := strings.Split(stem, "-")
	if !ok || len(parts) != 5 && len(parts) != 6 {
		return bad("it is not name-version(-build)-python-abi-platform.whl")
	}
	if len(parts) == 6 && (parts[2] == "" || parts[2][0] < '0' || parts[2][0] > '9') {
		return bad("its build tag does not begin with a digit")
	}
	if !name.Valid(parts[0]) {
		return bad(fmt.Sprintf("%q cannot be a package's name", parts[0]))
	}
	// Old tools wrote the + of a local version as _ too.
	v, err := version.Parse(parts[1])
	if err != nil {
		if v, err = version.Parse(strings.Replace(parts[1], "_", "+", 1)); err != nil {
			return bad(fmt.Sprintf("%q is not a version (PEP 440)", parts[1]))
		}
	}
	id := identity{name: name.Normalize(parts[0]), version: v}
	if id.public, err = version.Parse(v.Public()); err != nil {
		return bad(err.Error())
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

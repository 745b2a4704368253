package bytecode

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
)

//go:embed driver.py
var driver []byte

// compiler is an interpreter that is known to run.
type compiler struct {
	id       string
	about    about
	magic    [4]byte
	packages []*cache.Manifest
	short    string // "3.11"
	// hash is what the header of a compiled file has of its source; nil = it is
	// none that is known here, and patched sources are compiled for each prefix.
	hash sourceHash
}

// identity names a compiler by all that decides what it makes: the driver's
// version, the archive of python, and those others that it cannot run without,
// if there are any.
func identity(packages []*cache.Manifest) string {
	h := sha256.New()
	fmt.Fprintf(h, "hpcenv byte-code\x00%d\x00", DriverVersion)
	for _, p := range packages {
		fmt.Fprintf(h, "%s\x00", p.SHA256)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// choices are the sets of packages to run python from: python alone, which
// suffices where its package has the standard library; else with what it needs.
func (in *Interpreter) choices() [][]*cache.Manifest {
	out := [][]*cache.Manifest{in.Packages[:1]}
	if len(in.Packages) > 1 {
		out = append(out, in.Packages)
	}
	return out
}

// shortVersion is major.minor.
func shortVersion(version string) string {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return version
	}
	return parts[0] + "." + parts[1]
}

// find returns the compiler that this store already used, without starting it;
// nil = none yet.
func find(store *cache.Store, in *Interpreter) (*compiler, error) {
	for _, packages := range in.choices() {
		id := identity(packages)
		a, err := readAbout(store, id)
		if err != nil {
			return nil, err
		}
		if a != nil {
			return newCompiler(id, *a, packages, in)
		}
	}
	return nil, nil
}

func newCompiler(id string, a about, packages []*cache.Manifest, in *Interpreter) (*compiler, error) {
	c := &compiler{id: id, about: a, packages: packages, short: shortVersion(in.Version)}
	magic, err := hex.DecodeString(a.Magic)
	if err != nil || len(magic) != len(c.magic) || a.Tag == "" || path.Base(a.Tag) != a.Tag || len(a.Tag) > 40 {
		return nil, fmt.Errorf("%w: python %s calls its files %q, with the magic number %q", ErrInterpreter, in.Version, a.Tag, a.Magic)
	}
	c.magic = [4]byte(magic)
	c.hash = findHash(c.magic, a.Hash)
	return c, nil
}

// tryOut finds out which packages python runs from, by starting it. The process
// is closed again; started counts.
func tryOut(ctx context.Context, store *cache.Store, box *Sandbox, in *Interpreter, started *int) (*compiler, error) {
	var errs []error
	for _, packages := range in.choices() {
		c := &compiler{id: identity(packages), packages: packages, short: shortVersion(in.Version)}
		dir, remove, err := c.unpack(store)
		if err != nil {
			return nil, err
		}
		*started++
		p, err := c.start(ctx, box, dir)
		if err == nil {
			hello := p.hello
			if err = p.close(); err != nil {
				err = fmt.Errorf("%w: %w", ErrInterpreter, err)
			} else {
				a := about{Tag: hello.tag, Magic: hello.magic, Hash: hello.hash, Driver: DriverVersion}
				for _, m := range packages {
					a.Packages = append(a.Packages, m.SHA256)
				}
				c, err = newCompiler(c.id, a, packages, in)
			}
		}
		if err = errors.Join(err, remove()); err == nil {
			return c, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if !errors.Is(err, ErrInterpreter) {
			return nil, err
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("python %s: %w", in.Version, errors.Join(errs...))
}

// aboutFile is the description to publish with the first table.
func (c *compiler) aboutFile(store *cache.Store) (cache.NewFile, error) {
	data, err := json.Marshal(c.about)
	if err != nil {
		return cache.NewFile{}, fmt.Errorf("compiler: %w", err)
	}
	return cache.NewFile{Path: store.PycPath(c.id, aboutName), Data: append(data, '\n')}, nil
}

// needed tells which files of its packages python needs to compile: the
// program, shared libraries, the modules of its start and those that decode
// sources. No site-packages, no .pth, no pyvenv.cfg, no tests.
func needed(p, short string) bool {
	dir, name := path.Split(p)
	dir = strings.TrimSuffix(dir, "/")
	lib, inLib := dir, false
	for _, l := range []string{"lib/python" + short + "t", "lib/python" + short} {
		if dir == l || strings.HasPrefix(dir, l+"/") {
			lib, inLib = strings.TrimPrefix(strings.TrimPrefix(dir, l), "/"), true
			break
		}
	}
	switch {
	case dir == "bin":
		return strings.HasPrefix(name, "python") && !strings.Contains(name, "config")
	case dir == "lib":
		return strings.Contains(name, ".so")
	case !inLib:
		return false
	case lib == "lib-dynload":
		// unicodedata: \N{…} in strings, and names with letters beyond ASCII.
		return strings.HasPrefix(name, "_codecs") || strings.HasPrefix(name, "_multibytecodec") || strings.HasPrefix(name, "unicodedata.")
	case lib == "" || lib == "encodings" || lib == "importlib" || lib == "collections" || lib == "re":
		return strings.HasSuffix(name, ".py") && name != "sitecustomize.py" && name != "usercustomize.py"
	}
	return false
}

// unpack makes a private copy of what runs, never of the pool's inodes: what
// runs could write through a link, if its walls fell.
func (c *compiler) unpack(store *cache.Store) (dir string, remove func() error, err error) {
	if dir, err = store.TempDir("python"); err != nil {
		return "", nil, err
	}
	remove = func() error { return os.RemoveAll(dir) }
	defer func() {
		if err != nil {
			err = errors.Join(err, remove())
		}
	}()
	root := filepath.Join(dir, "python")
	for _, d := range []string{filepath.Join(dir, "driver"), filepath.Join(root, "lib", "python"+c.short, "lib-dynload")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return "", nil, fmt.Errorf("%w: %w", cache.ErrStore, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "driver", "driver.py"), driver, 0o644); err != nil {
		return "", nil, fmt.Errorf("%w: %w", cache.ErrStore, err)
	}
	for _, m := range c.packages {
		for _, e := range m.Entries {
			if e.Type == cache.EntryDir || !needed(e.Path, c.short) {
				continue
			}
			if err := place(store, e, filepath.Join(root, filepath.FromSlash(e.Path))); err != nil {
				return "", nil, fmt.Errorf("private copy of python %s: %w", c.short, err)
			}
		}
	}
	return dir, remove, nil
}

// place copies one entry; the first package to have a path keeps it. Links are
// made as they are: they lead nowhere but into the sandbox.
func place(store *cache.Store, e cache.Entry, at string) (err error) {
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return fmt.Errorf("%w: %w", cache.ErrStore, err)
	}
	if e.Type == cache.EntryLink {
		if err := os.Symlink(e.Target, at); err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("%w: %w", cache.ErrStore, err)
		}
		return nil
	}
	in, err := store.OpenEntry(e)
	if err != nil {
		return err
	}
	defer in.Close() // only read
	mode := os.FileMode(0o644)
	if e.Exec || strings.HasPrefix(e.Path, "bin/") {
		mode = 0o755
	}
	out, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err == nil {
		_, err = io.Copy(out, in)
		err = errors.Join(err, out.Close())
	}
	if err != nil {
		return fmt.Errorf("%w: %w", cache.ErrStore, err)
	}
	return nil
}

package project

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hpcenv/hpcenv/envs/tomltree"
)

// maxManifest bounds the bytes of a manifest.
const maxManifest = 4 << 20

// ErrManifest is the class of errors about a manifest's content; the text names
// file and line.
var ErrManifest = errors.New("project manifest cannot be used")

// Project is what of a manifest concerns locked environments: all but how they
// are solved and how packages are built.
type Project struct {
	// Root is the absolute directory of the manifest, File its absolute path.
	Root, File string
	// Name of the workspace; without one, that of its directory, as in pixi.
	Name string
	// Version of the workspace; "" = none.
	Version string
	// Package: the manifest is that of a package, and of no workspace.
	Package bool

	// Digest is the lower-case hex sha256 of the manifest's bytes.
	Digest string
	// Preferred is [tool.hpcenv] environments: names of environments, the one to
	// take first if several fit; nil = the manifest does not say.
	Preferred []string

	channels     []Channel
	platforms    []Platform
	features     map[string]*feature
	environments map[string]*environment
}

// defaultName is the name of the feature and of the environment that are always
// there.
const defaultName = "default"

// feature is [feature.X], the top level (default), or what an environment has
// inline.
type feature struct {
	// platforms that it is limited to, names or subdirs; nil = all.
	platforms []string
	// channels of its own; nil = the workspace's, or none at all of what an
	// environment has inline.
	channels []Channel
	inline   bool
	// system requirements by virtual package: "__cuda" to "12.2".
	system map[string]string
	pypi   pypiOptions
	base   tables
	// targets in the manifest's order: of those that match, the last wins.
	targets []target
}

type target struct {
	selector string
	tables
}

// tables are what a feature has once and again for each of its targets.
type tables struct {
	activation activationTable
	conda      []CondaRequest
	python     []PythonRequest
	tasks      []*Task
}

// activationTable is one [activation].
type activationTable struct {
	env map[string]string
	// scripts as written; hasScripts tells none from an empty list, which
	// replaces a longer one.
	scripts    []string
	hasScripts bool
	line       int32
}

type environment struct {
	features   []string
	noDefault  bool
	solveGroup string
	inline     *feature // nil = none
	line       int32
}

// Load reads the manifest in a directory: pixi.toml, else [tool.pixi] of
// pyproject.toml, else mojoproject.toml, as pixi does. A directory without one
// is no error: nil, nil (a lock can be used without its project). Errors wrap
// ErrManifest and name the file and, where it is about content, the line.
func Load(dir string) (*Project, error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("the project directory %s: %w", dir, err)
	}
	for _, name := range [...]string{"pixi.toml", "pyproject.toml", "mojoproject.toml"} {
		file := filepath.Join(root, name)
		data, err := readBounded(file, maxManifest)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrManifest, file, err)
		}
		tree, err := tomltree.Parse(data)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrManifest, file, err)
		}
		m := &manifest{file: file, root: tree, tool: tree.Get("tool", "hpcenv")}
		if name == "pyproject.toml" {
			if m.root = tree.Get("tool", "pixi"); m.root == nil {
				continue // some other tool's
			}
			m.pyproject = tree
		}
		p, err := m.read(root)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(data)
		p.Digest = hex.EncodeToString(sum[:])
		return p, nil
	}
	return nil, nil
}

// ReadManifest reads a manifest's bytes. The error is fs.ErrNotExist's where there
// is none, else it wraps ErrManifest.
func ReadManifest(file string) ([]byte, error) {
	data, err := readBounded(file, maxManifest)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s: %w", ErrManifest, file, err)
	}
	return data, err
}

// readBounded reads a regular file of at most limit bytes. Anything else (a
// pipe would hang, a device never ends) is refused.
func readBounded(file string, limit int64) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("it is longer than %d bytes", limit)
	}
	return data, nil
}

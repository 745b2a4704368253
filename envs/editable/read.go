package editable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/envs/python/name"
	"github.com/hpcenv/hpcenv/envs/python/requirement"
	"github.com/hpcenv/hpcenv/envs/python/version"
	"github.com/hpcenv/hpcenv/envs/tomltree"
)

// maxFile bounds each file that is read of a project, in bytes.
const maxFile = 4 << 20

// Tree is a source tree that a lock names.
type Tree struct {
	// Name as the lock has it; Version likewise ("" = the lock leaves it to the
	// tree).
	Name, Version string
	// Dir is its absolute directory, not resolved: nodes may reach it by this name
	// only.
	Dir string
	// RequiresDist and RequiresPython as the lock has them; they stand for what the
	// project does not say itself.
	RequiresDist   []string
	RequiresPython string
}

// Project is what an editable install needs to know of a project.
type Project struct {
	// Dir is the tree's directory.
	Dir string
	// Name as the project writes it, Version normalized.
	Name, Version string
	// Backend is the build backend's name, e.g. "hatchling".
	Backend string
	// Paths are directories for the end of sys.path, in order.
	Paths []string
	// Modules are importable top-level names whose directory is not to be on
	// sys.path as a whole, each with the directory that holds it.
	Modules map[string]string
	// Notes for the user.
	Notes []string

	// written is the version as METADATA has it, where that is not normalized.
	written string
	// pth is the name of the .pth file as the backend names it.
	pth string
	// topLevel is top_level.txt, where the backend writes one.
	topLevel []string
	metadata fields
	entries  []group
	licences []string
}

// reader reads one project.
type reader struct {
	tree Tree
	root *tomltree.Value
	// err is the first value of a wrong kind.
	err error
	out *Project
	// dynamic fields, as [project] lists them.
	dynamic []string
	// licenceGlobs are the backend's own.
	licenceGlobs []string
}

// Read reads the project of a tree. The error is a *Refusal where the project's
// own files are the reason.
func Read(tree Tree) (*Project, error) {
	r := &reader{tree: tree, out: &Project{Dir: tree.Dir}}
	data, err := r.file("pyproject.toml")
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(tree.Dir); errors.Is(err, fs.ErrNotExist) {
			return nil, r.refuse(0, "is the lock beside its project? Otherwise bring the directory, or correct the path in the manifest and lock the project anew (`pixi lock`, `uv lock`)", "there is no such directory")
		}
		if _, err := os.Stat(filepath.Join(tree.Dir, "setup.py")); errors.Is(err, fs.ErrNotExist) {
			return nil, r.refuse(0, "is the lock beside its project? Otherwise bring the directory; or write a pyproject.toml with a [project] table", "it has no pyproject.toml")
		}
		return nil, r.refuse(0, "write a pyproject.toml with a [project] table", "it has no pyproject.toml, and a setup.py is a program that would have to be run")
	}
	if err != nil {
		return nil, err
	}
	if r.root, err = tomltree.Parse(data); err != nil {
		return nil, r.refuse(0, "correct it", "pyproject.toml: %v", err)
	}
	if err := r.read(); err != nil {
		return nil, err
	}
	return r.out, r.err
}

// backend is what is known of a build backend.
type backend struct {
	name string
	// globs of licence files that it takes where the project names none.
	globs []string
	// layout finds what is importable; pth names the .pth file.
	layout func(*reader) error
	// dynamic fills in the version where the project does not state it; it returns
	// "" where it cannot.
	version func(*reader) (string, error)
}

var backends = map[string]*backend{
	"hatchling.build":         {"hatchling", []string{"LICEN[CS]E*", "COPYING*", "NOTICE*", "AUTHORS*"}, hatchLayout, hatchVersion},
	"hatchling.ouroboros":     {"hatchling", []string{"LICEN[CS]E*", "COPYING*", "NOTICE*", "AUTHORS*"}, hatchLayout, hatchVersion},
	"setuptools.build_meta":   {"setuptools", []string{"LICEN[CS]E*", "COPYING*", "NOTICE*", "AUTHORS*"}, setuptoolsLayout, setuptoolsVersion},
	"":                        {"setuptools", []string{"LICEN[CS]E*", "COPYING*", "NOTICE*", "AUTHORS*"}, setuptoolsLayout, setuptoolsVersion},
	"flit_core.buildapi":      {"flit-core", []string{"COPYING*", "LICEN[CS]E*"}, flitLayout, flitVersion},
	"flit.buildapi":           {"flit-core", []string{"COPYING*", "LICEN[CS]E*"}, flitLayout, flitVersion},
	"pdm.backend":             {"pdm-backend", []string{"LICEN[CS]E*", "COPYING*", "NOTICE*"}, pdmLayout, pdmVersion},
	"poetry.core.masonry.api": {"poetry-core", []string{"LICEN[CS]E*", "COPYING*"}, poetryLayout, nil},
	"uv_build":                {"uv_build", nil, uvLayout, nil},
	"uv":                      {"uv_build", nil, uvLayout, nil},
}

// compiling are backends that are there to compile.
var compiling = map[string]string{
	"maturin": "maturin (Rust)", "scikit_build_core.build": "scikit-build-core (CMake)", "scikit_build_core.setuptools.build_meta": "scikit-build-core (CMake)",
	"mesonpy": "meson-python (Meson)", "py_build_cmake.build": "py-build-cmake (CMake)", "sipbuild.api": "SIP", "setuptools_rust.build_meta": "setuptools-rust",
}

func (r *reader) read() error {
	r.out.Backend = r.text("build-system", "build-backend")
	object, _, _ := strings.Cut(r.out.Backend, ":")
	if what := compiling[object]; what != "" {
		return r.refuse(r.line("build-system", "build-backend"), buildWheel, "its build backend is %s, which compiles modules for one architecture", what)
	}
	if r.root.Get("build-system", "backend-path") != nil {
		return r.refuse(r.line("build-system", "backend-path"), buildWheel, "its build backend is a program of its own (backend-path)")
	}
	b := backends[object]
	if b == nil {
		return r.refuse(r.line("build-system", "build-backend"), buildWheel+", or use one of: "+known(), "what its build backend (%s) makes importable is not known without running it", r.out.Backend)
	}
	r.out.Backend, r.licenceGlobs = b.name, b.globs
	for _, text := range r.texts("build-system", "requires") {
		if req, err := requirement.Parse(text); err == nil && compilers[name.Normalize(req.Name)] != "" {
			return r.refuse(r.line("build-system", "requires"), buildWheel, "it needs %s to build, so it has compiled modules", req.Name)
		}
	}
	if err := r.fields(); err != nil {
		return err
	}
	if r.out.Version == "" {
		if err := r.dynamicVersion(b); err != nil {
			return err
		}
	}
	if err := b.layout(r); err != nil {
		return err
	}
	if len(r.out.Paths) == 0 && len(r.out.Modules) == 0 {
		r.out.Notes = append(r.out.Notes, fmt.Sprintf("%s (%s) has nothing to import", r.out.Name, r.tree.Dir))
	}
	for _, p := range r.out.Paths {
		if strings.ContainsAny(p, "\n\r") || strings.TrimSpace(p) != p {
			return r.refuse(0, "rename the directory", "a .pth file cannot hold the path %q", p)
		}
	}
	return r.err
}

// compilers are build requirements that mean compiled modules.
var compilers = map[string]string{
	"cython": "c", "pybind11": "c", "nanobind": "c", "cffi": "c", "setuptools-rust": "c", "mypy": "c", "mypyc": "c", "scikit-build": "c", "scikit-build-core": "c",
	"hatch-cython": "c", "hatch-mypyc": "c", "cmake": "c", "ninja": "c", "swig": "c", "maturin": "c", "meson-python": "c", "extensionlib": "c",
}

// known names the backends that are understood.
func known() string {
	var names []string
	for _, b := range backends {
		if b != nil && !slices.Contains(names, b.name) {
			names = append(names, b.name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// dynamicVersion takes the version from where the backend does, else from the
// lock.
func (r *reader) dynamicVersion(b *backend) error {
	text := ""
	if b.version != nil {
		var err error
		if text, err = b.version(r); err != nil {
			return err
		}
	}
	if text == "" {
		if text = r.tree.Version; text == "" {
			return r.refuse(r.line("project", "dynamic"), "write `version = …` into [project], or a file that states it", "its version is computed by a program, and the lock does not have it either")
		}
		r.out.Notes = append(r.out.Notes, fmt.Sprintf("%s has the version of the lock, %s: its own is computed by a program when it is built", r.out.Name, text))
	}
	return r.setVersion(text)
}

func (r *reader) setVersion(text string) error {
	v, err := version.Parse(text)
	if err != nil {
		return r.refuse(r.line("project", "version"), "correct it", "its version %q: %v", text, err)
	}
	r.out.Version = v.String()
	return nil
}

// file reads a file of the project whole.
func (r *reader) file(path string) ([]byte, error) {
	// Opening must not wait, as it would for a pipe.
	f, err := os.OpenFile(r.path(path), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, r.refuse(0, "correct the path", "%s is not a regular file", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = r.refuse(0, "is that the right file?", "%s is longer than %d MiB", path, maxFile>>20)
	}
	return data, err
}

// path is a path of the project, made absolute.
func (r *reader) path(elements ...string) string {
	p := filepath.Join(elements...)
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(r.tree.Dir, p)
}

func (r *reader) isDir(elements ...string) bool {
	info, err := os.Stat(r.path(elements...))
	return err == nil && info.IsDir()
}

func (r *reader) isFile(elements ...string) bool {
	info, err := os.Stat(r.path(elements...))
	return err == nil && info.Mode().IsRegular()
}

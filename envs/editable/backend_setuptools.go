package editable

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hpcenv/hpcenv/envs/tomltree"
)

// setuptoolsLayout: one directory for all where [tool.setuptools] or a directory
// src says so; otherwise the single packages, since the project's root also holds
// what is not to be importable.
func setuptoolsLayout(r *reader) error {
	if err := r.setuptoolsPrograms(); err != nil {
		return err
	}
	dirs := map[string]string{}
	for _, p := range r.pairs("tool", "setuptools", "package-dir") {
		dirs[p.key] = path.Clean(p.value)
	}
	packages, modules, dirs, err := r.setuptoolsModules(dirs)
	if err != nil {
		return err
	}
	r.out.pth = "__editable__." + fileName(r.out.Name) + "-" + r.out.Version + ".pth"
	base, rooted := dirs[""]
	if base == "." {
		base = ""
	}
	all := slices.Concat(packages, modules)
	for _, n := range all {
		if top, _, _ := strings.Cut(n, "."); !slices.Contains(r.out.topLevel, top) {
			r.out.topLevel = append(r.out.topLevel, top)
		}
	}
	slices.Sort(r.out.topLevel)
	if rooted && len(dirs) == 1 {
		r.out.Paths = []string{r.path(base)}
		return nil
	}
	r.out.Modules = map[string]string{}
	for _, n := range all {
		top, _, nested := strings.Cut(n, ".")
		place := path.Join(base, top)
		for _, key := range []string{n, top} {
			if d, ok := dirs[key]; ok {
				place = d
				if key == n && nested {
					return r.refuse(r.line("tool", "setuptools", "package-dir"), "move the files to where their names say", "package-dir puts the package %s at %s", n, d)
				}
			}
		}
		if path.Base(place) != top {
			return r.refuse(r.line("tool", "setuptools", "package-dir"), "give the directory the package's name", "package-dir puts the package %s at %s, a directory of another name", top, place)
		}
		parent := r.path(path.Dir(place))
		if r.isDir(place) && !r.isFile(place, "__init__.py") {
			// A namespace can be shared with others by its directory only.
			if !slices.Contains(r.out.Paths, parent) {
				r.out.Paths = append(r.out.Paths, parent)
			}
			continue
		}
		r.out.Modules[top] = parent
	}
	return nil
}

// trivial is a setup.py that only calls setup().
var trivial = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(?:from setuptools import setup|import setuptools)\s+)(?:if __name__ == ["']__main__["']:\s+)?(?:setuptools\.)?setup\(\)\s*$`)
})

var pythonComment = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^\s*#.*$|\s#[^"'\n]*$`) })

// setuptoolsPrograms refuses what is known only by running setuptools.
func (r *reader) setuptoolsPrograms() error {
	data, err := r.file("setup.py")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && !trivial().MatchString(strings.TrimSpace(stripDocstring(pythonComment().ReplaceAllString(string(data), "")))) {
		return r.refuse(0, "move what it says into pyproject.toml, and remove it or leave `setup()` alone in it; or "+buildWheel, "its setup.py is a program that would have to be run (it may have compiled modules)")
	}
	data, err = r.file("setup.cfg")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if regexp.MustCompile(`(?m)^\[(options|metadata)[.\]]`).Match(data) {
		return r.refuse(0, "move [options] and [metadata] into pyproject.toml ([project], [tool.setuptools])", "its setup.cfg says what is installed, which is read by setuptools only")
	}
	for _, key := range []string{"version_file", "write_to"} {
		if file := r.text("tool", "setuptools_scm", key); file != "" && !r.isFile(file) {
			return r.refuse(r.line("tool", "setuptools_scm", key), "install it once where you work (`pixi install`), which writes the file", "setuptools-scm writes %s when it builds, and it is not there", file)
		}
	}
	for _, key := range []string{"ext-modules", "cmdclass", "data-files", "script-files"} {
		why := map[string]string{"ext-modules": "are compiled modules", "cmdclass": "are programs that would have to be run"}[key]
		if why == "" {
			why = "puts copies of files elsewhere, which a live source tree cannot be"
		}
		if err := r.forbid(why, "tool", "setuptools", key); err != nil {
			return err
		}
	}
	return nil
}

func stripDocstring(s string) string {
	s = strings.TrimSpace(s)
	for _, q := range []string{`"""`, `'''`} {
		if rest, ok := strings.CutPrefix(s, q); ok {
			if _, after, ok := strings.Cut(rest, q); ok {
				return after
			}
		}
	}
	return s
}

// setuptoolsModules are the packages and modules, and where they are.
func (r *reader) setuptoolsModules(dirs map[string]string) (packages, modules []string, _ map[string]string, err error) {
	modules = r.texts("tool", "setuptools", "py-modules")
	listed := r.root.Get("tool", "setuptools", "packages")
	switch {
	case listed != nil && listed.Kind == tomltree.Array:
		return r.texts("tool", "setuptools", "packages"), modules, dirs, nil
	case listed != nil && (listed.Get("find") != nil || listed.Get("find-namespace") != nil):
		packages, dirs, err = r.setuptoolsFind(dirs)
		return packages, modules, dirs, err
	case listed != nil:
		return nil, nil, nil, r.refuse(listed.Line, "write packages = [\"…\"] or [tool.setuptools.packages.find]", "[tool.setuptools] packages is neither a list nor `find`")
	case modules != nil:
		return nil, modules, dirs, nil
	}
	if others := len(dirs); others > 0 && dirs[""] == "" {
		for pkg := range dirs {
			packages = append(packages, pkg)
		}
		slices.Sort(packages)
		return packages, nil, dirs, nil
	}
	src, ok := dirs[""]
	if !ok {
		src = "src"
	}
	if r.isDir(src) {
		dirs[""] = src
		packages, modules, err = r.importable(src)
		return packages, modules, dirs, err
	}
	packages, modules, err = r.setuptoolsFlat()
	return packages, modules, dirs, err
}

// setuptoolsFind follows [tool.setuptools.packages.find]. Of include and exclude
// only what they do to top-level names matters.
func (r *reader) setuptoolsFind(dirs map[string]string) ([]string, map[string]string, error) {
	at := []string{"tool", "setuptools", "packages", "find"}
	namespaces := true
	if r.root.Get(at...) == nil {
		at[3] = "find-namespace"
	} else if v := r.root.Get(append(slices.Clone(at), "namespaces")...); v != nil {
		namespaces = v.Text == "true"
	}
	where := r.texts(append(slices.Clone(at), "where")...)
	if len(where) == 0 {
		where = []string{"."}
	}
	include, exclude := r.texts(append(slices.Clone(at), "include")...), r.texts(append(slices.Clone(at), "exclude")...)
	if len(include) == 0 {
		include = []string{"*"}
	}
	var packages []string
	for _, w := range where {
		found, _, err := r.importable(w)
		if err != nil {
			return nil, nil, err
		}
		for _, p := range found {
			if !namespaces && !r.isFile(w, p, "__init__.py") || excluded(exclude, p) {
				continue
			}
			if slices.ContainsFunc(include, func(g string) bool { return topMatch(g, p) }) {
				packages = append(packages, p)
				if len(where) > 1 {
					dirs[p] = path.Join(w, p)
				}
			}
		}
	}
	if len(where) == 1 {
		// setuptools notes the directory where it looked, unless it is the root.
		if w := path.Clean(where[0]); w != "." {
			dirs[""] = w
		}
	}
	return packages, dirs, nil
}

// topMatch: a pattern may let through a top-level package or something in it.
func topMatch(pattern, top string) bool {
	head, _, _ := strings.Cut(pattern, ".")
	ok, err := path.Match(head, top)
	return err == nil && ok
}

// excluded: a pattern takes the package out as a whole.
func excluded(patterns []string, top string) bool {
	return slices.ContainsFunc(patterns, func(g string) bool {
		ok, err := path.Match(g, top)
		return err == nil && ok
	})
}

var identifier = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\p{L}_][\p{L}\p{N}_]*$`) })

// importable are the directories and modules of a directory that could be
// imported by their names, sorted.
func (r *reader) importable(dir string) (packages, modules []string, err error) {
	entries, err := os.ReadDir(r.path(dir))
	if err != nil {
		return nil, nil, r.refuse(0, "correct the path", "the directory %s cannot be read: %v", dir, errors.Unwrap(err))
	}
	for _, e := range entries {
		n := e.Name()
		stem := strings.TrimSuffix(n, ".py")
		switch {
		case r.isDir(dir, n) && identifier().MatchString(strings.TrimSuffix(n, "-stubs")) && n != "__pycache__":
			packages = append(packages, n)
		case stem != n && identifier().MatchString(stem):
			modules = append(modules, stem)
		}
	}
	return packages, modules, nil
}

// Names that setuptools passes over where packages and modules lie in the root.
var (
	flatDirs = strings.Fields("ci bin debian doc docs documentation manpages news newsfragments changelog test tests unit_test unit_tests " +
		"example examples scripts tools util utils python build dist venv env requirements tasks fabfile site_scons benchmark benchmarks exercise exercises htmlcov")
	flatModules = strings.Fields("setup conftest test tests example examples build toxfile noxfile pavement dodo tasks fabfile SConstruct Sconstruct sConstruct sconstruct " +
		"conanfile manage benchmark benchmarks exercise exercises")
)

// setuptoolsFlat: the one package, else the one module, in the root.
func (r *reader) setuptoolsFlat() (packages, modules []string, err error) {
	dirs, files, err := r.importable(".")
	if err != nil {
		return nil, nil, err
	}
	top := 0
	for _, d := range dirs {
		if slices.Contains(flatDirs, d) || d[0] == '_' {
			continue
		}
		packages = append(packages, d)
		if !strings.HasSuffix(d, "-stubs") {
			top++
		}
	}
	if top == 0 {
		packages = nil
		for _, f := range files {
			if !slices.Contains(flatModules, f) && f[0] != '_' {
				modules = append(modules, f)
			}
		}
	}
	if top > 1 || len(modules) > 1 {
		return nil, nil, r.refuse(0, "name them: [tool.setuptools] packages = [\"…\"], or move them to src/",
			"setuptools does not choose between %s in %s", strings.Join(slices.Concat(packages, modules), ", "), filepath.Base(r.tree.Dir))
	}
	return packages, modules, nil
}

package smoke

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Module is something to be tried.
type Module struct {
	// Name to import, or path below the prefix to open.
	Name string `json:"name"`
	// How it is tried: Import or Open.
	How string `json:"how"`
	// Package that it is of, as "name version"; "" = none is known.
	Package string `json:"package,omitempty"`
	// Of is what opens it (elf.Module); "" of what is imported.
	Of string `json:"of,omitempty"`
}

// How modules are tried.
const (
	Import = "import"
	Open   = "open"
)

// Importable are the top-level modules that the packages below the prefix offer,
// sorted by name: what lies in the site-packages directories of its Python, without
// private names, tests, and what belongs to a package's sources only. Of a directory
// that several packages share (a namespace) it is their parts.
func Importable(prefix string) ([]Module, error) {
	sites, err := sitePackages(prefix)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, site := range sites {
		if err := importable(filepath.Join(prefix, site), "", found); err != nil {
			return nil, err
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	owners, err := ownersOf(prefix, sites)
	if err != nil {
		return nil, err
	}
	var out []Module
	for name := range found {
		by := owners[name]
		if by == "" {
			top, _, _ := strings.Cut(name, ".")
			by = owners[top]
		}
		out = append(out, Module{Name: name, How: Import, Package: by})
	}
	slices.SortFunc(out, func(a, b Module) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// sitePackages are the directories below the prefix, each once whatever links lead to
// it (lib/python3.1 -> python3.12).
func sitePackages(prefix string) (out []string, err error) {
	dirs, err := filepath.Glob(filepath.Join(prefix, "lib", "python3*", "site-packages"))
	if err != nil {
		return nil, err
	}
	for _, d := range dirs {
		info, err := os.Lstat(filepath.Dir(d))
		if err != nil {
			return nil, err
		}
		rel, err := filepath.Rel(prefix, d)
		if err != nil {
			return nil, err
		}
		if info.IsDir() {
			out = append(out, rel)
		}
	}
	return out, nil
}

var (
	identifier = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)
	// extension is what follows the name of a compiled module: .abi3.so, .so,
	// .cpython-312-x86_64-linux-gnu.so.
	extension = regexp.MustCompile(`^(\.abi3|\.cpython-[0-9a-z_-]+)?\.so$`)
)

// sources are names that packages install by mistake.
var sources = []string{"conftest", "setup", "test", "tests", "testing", "doc", "docs", "example", "examples", "benchmark", "benchmarks", "samples"}

func offered(name string) bool {
	return identifier.MatchString(name) && !slices.Contains(sources, name) && !strings.HasPrefix(name, "test_") && !strings.HasSuffix(name, "_test") && !strings.HasSuffix(name, "_tests")
}

// importable adds the modules of a directory; within is the name of the namespace that
// it is.
func importable(dir, within string, found map[string]bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, is, err := moduleOf(dir, e)
		switch {
		case err != nil:
			return err
		case !offered(name):
		case is == module:
			found[within+name] = true
		case is == namespace && within == "":
			if err := importable(filepath.Join(dir, e.Name()), name+".", found); err != nil {
				return err
			}
		}
	}
	return nil
}

type kind int

const (
	nothing kind = iota
	module
	namespace
)

// moduleOf tells which module an entry of a directory is.
func moduleOf(dir string, e fs.DirEntry) (string, kind, error) {
	name, rest := e.Name(), ""
	if i := strings.IndexByte(name, '.'); i >= 0 {
		name, rest = name[:i], name[i:]
	}
	switch {
	case rest == ".py" || extension.MatchString(rest):
		return name, module, nil
	case rest != "":
		return name, nothing, nil
	}
	inside, err := os.ReadDir(filepath.Join(dir, e.Name()))
	if errors.Is(err, fs.ErrNotExist) || err != nil && !e.IsDir() {
		return name, nothing, nil // a file, or a link to one
	}
	if err != nil {
		return name, nothing, err
	}
	for _, in := range inside {
		if first, rest, _ := strings.Cut(in.Name(), "."); first == "__init__" && (rest == "py" || extension.MatchString("."+rest)) {
			return name, module, nil
		}
	}
	return name, namespace, nil
}

// ownersOf tells whose the modules of site-packages are: package by name of the module,
// of namespaces also by the first name alone.
func ownersOf(prefix string, sites []string) (map[string]string, error) {
	out := map[string]string{}
	own := func(path, by string) {
		for _, site := range sites {
			in, ok := strings.CutPrefix(path, site+"/")
			if !ok {
				continue
			}
			first, rest, _ := strings.Cut(in, "/")
			first, _, _ = strings.Cut(first, ".")
			second, _, _ := strings.Cut(rest, "/")
			second, _, _ = strings.Cut(second, ".")
			for _, name := range []string{first, first + "." + second} {
				if out[name] == "" {
					out[name] = by
				}
			}
		}
	}
	records, err := filepath.Glob(filepath.Join(prefix, "conda-meta", "*.json"))
	if err != nil {
		return nil, err
	}
	for _, path := range records {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var r struct {
			Name    string   `json:"name"`
			Version string   `json:"version"`
			Files   []string `json:"files"`
		}
		if err := json.Unmarshal(data, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for _, f := range r.Files {
			own(f, r.Name+" "+r.Version)
		}
	}
	for _, site := range sites {
		lists, err := filepath.Glob(filepath.Join(prefix, site, "*.dist-info", "RECORD"))
		if err != nil {
			return nil, err
		}
		for _, list := range lists {
			data, err := os.ReadFile(list)
			if err != nil {
				return nil, err
			}
			name, version, _ := strings.Cut(strings.TrimSuffix(filepath.Base(filepath.Dir(list)), ".dist-info"), "-")
			for line := range strings.Lines(string(data)) {
				path, _, _ := strings.Cut(strings.TrimSpace(line), ",")
				own(site+"/"+strings.Trim(path, `"`), name+" "+version)
			}
		}
	}
	return out, nil
}

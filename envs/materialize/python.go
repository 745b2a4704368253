package materialize

import (
	"fmt"
	"path"
	"strings"

	"github.com/hpcenv/hpcenv/envs/conda"
)

// python is what linking needs to know of the environment's python; it comes
// from the locked record, never from running the interpreter.
type python struct {
	// Short is major.minor, e.g. "3.11".
	Short string
	// Site is site-packages, relative to the prefix.
	Site string
}

// findPython looks for the package named python. nil = there is none.
func findPython(pkgs []Package) (*python, error) {
	for _, p := range pkgs {
		if p.Lock.Name != "python" {
			continue
		}
		parts := strings.SplitN(p.Lock.Version, ".", 3)
		if len(parts) < 2 || !digits(parts[0]) || !digits(parts[1]) {
			return nil, fmt.Errorf("package %s: python's version %q is not major.minor: %w", label(p), p.Lock.Version, ErrUnlinkable)
		}
		py := &python{Short: parts[0] + "." + parts[1]}
		py.Site = "lib/python" + py.Short + "/site-packages"
		if s := p.Lock.PythonSitePackagesPath; s != "" {
			c := path.Clean(s)
			if path.IsAbs(c) || c == "." || c == ".." || strings.HasPrefix(c, "../") || strings.ContainsAny(c, "\x00\n\t\\") {
				return nil, fmt.Errorf("package %s: python_site_packages_path %q leaves the prefix: %w", label(p), s, ErrUnlinkable)
			}
			py.Site = c
		}
		return py, nil
	}
	return nil, nil
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// place maps a path of a noarch python package to its place in the prefix.
func (py *python) place(p string) string {
	if rest, ok := strings.CutPrefix(p, "site-packages/"); ok {
		return py.Site + "/" + rest
	}
	if rest, ok := strings.CutPrefix(p, "python-scripts/"); ok {
		return "bin/" + rest
	}
	switch p {
	case "site-packages":
		return py.Site
	case "python-scripts":
		return "bin"
	}
	return p
}

// stdlib is the standard library's directory, relative to the prefix.
func (py *python) stdlib() string {
	if path.Base(py.Site) == "site-packages" {
		return path.Dir(py.Site)
	}
	return "lib/python" + py.Short
}

// entryPointScript is the text of bin/<command> for an entry point.
func entryPointScript(prefix string, py *python, ep conda.EntryPoint) []byte {
	interpreter := prefix + "/bin/python" + py.Short
	first := "#!" + interpreter
	if len(first) > maxShebang {
		first = trampoline(interpreter, "")
	}
	imported, _, _ := strings.Cut(ep.Func, ".")
	return []byte(strings.Join([]string{
		first,
		"# -*- coding: utf-8 -*-",
		"import re",
		"import sys",
		"",
		"from " + ep.Module + " import " + imported,
		"",
		"if __name__ == '__main__':",
		"\tsys.argv[0] = re.sub(r'(-script\\.pyw?|\\.exe)?$', '', sys.argv[0])",
		"\tsys.exit(" + ep.Func + "())",
		"",
	}, "\n"))
}

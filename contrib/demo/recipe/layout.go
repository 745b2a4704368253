package recipe

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/hpcenv/hpcenv/contrib/demo/debian"
)

// layout maps paths of Debian packages below one prefix.
type layout struct {
	arch   Arch
	py     string
	noarch string
}

// dropped are directories (with trailing slash) of no use below a prefix:
// documentation, and what only Debian's own tools read.
var dropped = []string{
	"usr/share/doc/", "usr/share/doc-base/", "usr/share/man/", "usr/share/lintian/", "usr/share/python3/", "usr/share/bug/",
	"usr/share/info/", "usr/share/binfmts/", "usr/share/applications/", "usr/share/pixmaps/", "usr/share/perl5/", "usr/share/numpy3/",
	"usr/share/bash-completion/", "usr/share/zsh/", "usr/share/fish/", "usr/share/menu/", "usr/share/sgml/", "usr/share/xml/",
	"usr/share/gdb/", "usr/share/ca-certificates/", "usr/lib/binfmt.d/", "usr/sbin/", "sbin/", "etc/", "var/",
}

// target is where a Debian path goes; "" = it is left out.
func (l *layout) target(p string) string {
	for _, d := range dropped {
		if strings.HasPrefix(p, d) {
			return ""
		}
	}
	lib := "usr/lib/python" + l.py + "/"
	if strings.HasPrefix(p, lib) {
		switch rest := strings.TrimPrefix(p, lib); rest {
		case "EXTERNALLY-MANAGED", "sitecustomize.py", "_distutils_system_mod.py":
			// Debian's own policy for its own Python.
			return ""
		default:
			return strings.Replace("lib/python"+l.py+"/"+rest, "/"+debianSite+"/", "/"+condaSite+"/", 1)
		}
	}
	site, bin := "lib/python"+l.py+"/site-packages/", "bin/"
	if l.noarch == "python" {
		site, bin = "site-packages/", "python-scripts/"
	}
	for _, m := range []struct{ from, to string }{
		{"usr/lib/python3/dist-packages/", site},
		{"usr/lib/" + l.arch.Triplet + "/blas/", "lib/"}, // the alternatives system's directories
		{"usr/lib/" + l.arch.Triplet + "/lapack/", "lib/"},
		{"usr/lib/" + l.arch.Triplet + "/", "lib/"},
		{"lib/" + l.arch.Triplet + "/", "lib/"},
		{"usr/include/" + l.arch.Triplet + "/", "include/"},
		{"usr/include/", "include/"},
		{"usr/bin/", bin},
		{"bin/", bin},
		{"lib/terminfo/", "share/terminfo/"},
		{"usr/share/", "share/"},
	} {
		if strings.HasPrefix(p, m.from) {
			return m.to + strings.TrimPrefix(p, m.from)
		}
	}
	return ""
}

// link is the text of a symbolic link at Debian path from, once both ends have
// moved; "" = its target is left out.
func (l *layout) link(e *debian.Entry) string {
	to := e.Link
	if !path.IsAbs(to) {
		to = path.Join("/", path.Dir(e.Path), to)
	}
	dst := l.target(strings.TrimPrefix(path.Clean(to), "/"))
	if dst == "" {
		return ""
	}
	rel, err := filepath.Rel(path.Dir(l.target(e.Path)), dst)
	if err != nil {
		return "" // cannot be: both are relative and clean
	}
	return rel
}

// twice tells whether a path of Debian's directory for one Python version is
// also in its directory for all versions (NumPy's packages have their extension
// modules in both, as copies or links); here the two are one.
func (l *layout) twice(p string, paths map[string]bool) bool {
	rest, ok := strings.CutPrefix(p, "usr/lib/python"+l.py+"/"+debianSite+"/")
	return ok && paths["usr/lib/python3/"+debianSite+"/"+rest]
}

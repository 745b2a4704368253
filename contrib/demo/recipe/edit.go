package recipe

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/hpcenv/hpcenv/contrib/demo/condapkg"
)

// edit changes what a text file knows of Debian's directories. An edit that
// finds nothing to change is an error: a Python that looks into the host's
// directories must never get into the channel.
func (l *layout) edit(f *condapkg.File) error {
	pythonShebang(f, l.py)
	base := path.Base(f.Path)
	switch {
	case f.Path == "lib/python"+l.py+"/site.py":
		return replace(f, debianSite, condaSite)
	case f.Path == "lib/python"+l.py+"/sysconfig.py":
		return replace(f, "'DEB_PYTHON_INSTALL_LAYOUT', 'posix_local'", "'DEB_PYTHON_INSTALL_LAYOUT', 'posix_prefix'",
			"prefix_scheme = 'posix_local'", "prefix_scheme = 'posix_prefix'")
	case strings.HasPrefix(base, "_sysconfigdata_") && strings.HasSuffix(base, ".py"):
		return replace(f, "'/usr'", "'"+condapkg.Placeholder+"'", "'/usr/", "'"+condapkg.Placeholder+"/",
			condapkg.Placeholder+"/lib/"+l.arch.Triplet, condapkg.Placeholder+"/lib")
	case strings.HasSuffix(f.Path, "site-packages/certifi/core.py"):
		return replace(f, "'/etc/ssl/certs/ca-certificates.crt'", "'"+condapkg.Placeholder+"/ssl/cacert.pem'")
	case strings.HasSuffix(f.Path, "site-packages/pytz/__init__.py"):
		return replace(f, "/usr/share/zoneinfo", condapkg.Placeholder+"/share/zoneinfo")
	case strings.HasSuffix(f.Path, ".pc"):
		return replace(f, "=/usr\n", "="+condapkg.Placeholder+"\n", "/lib/"+l.arch.Triplet, "/lib")
	}
	return nil
}

var shebang = regexp.MustCompile(`^#! ?/usr/bin/(env )?python3?(\.[0-9]+)?\b`)

// pythonShebang makes a script start the environment's own Python.
func pythonShebang(f *condapkg.File, py string) {
	if f.Executable && shebang.Match(f.Data) {
		f.Data = shebang.ReplaceAllLiteral(f.Data, []byte("#!"+condapkg.Placeholder+"/bin/python"+py))
	}
}

// replace takes pairs (old, new); each old must occur.
func replace(f *condapkg.File, pairs ...string) error {
	for i := 0; i < len(pairs); i += 2 {
		if !bytes.Contains(f.Data, []byte(pairs[i])) {
			return fmt.Errorf("%s: %q is not in the file: this Debian release's file differs from what the edit was written for", f.Path, pairs[i])
		}
		f.Data = bytes.ReplaceAll(f.Data, []byte(pairs[i]), []byte(pairs[i+1]))
	}
	return nil
}

// Debian's site module looks below sys.prefix for dist-packages where others
// have site-packages. The interpreter has that module compiled in (frozen), so
// the names, which are equally long, are exchanged in the binary as well.
const (
	debianSite = "dist-packages"
	condaSite  = "site-packages"
)

// editInterpreter exchanges the name in the Python binary itself.
func editInterpreter(f *condapkg.File) error {
	return replace(f, debianSite, condaSite)
}

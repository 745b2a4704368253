package channel

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"path"
	"sort"
	"strings"

	"github.com/hpcenv/hpcenv/contrib/demo/condapkg"
)

// libc are the libraries that are the host's: the C library's own.
var libc = []string{"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1",
	"libresolv.so.2", "libanl.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}

// Check refuses packages that do not make a whole: two that own one path of a
// prefix, a library that neither the packages nor the C library have, an RPATH
// that leads elsewhere than to the prefix's lib.
func Check(packages []*condapkg.Package, platforms []string) error {
	var errs []error
	for _, platform := range platforms {
		owner := map[string]string{}
		var mine []*condapkg.Package
		for _, p := range packages {
			if p.Subdir != platform && p.Subdir != "noarch" {
				continue
			}
			mine = append(mine, p)
			for _, f := range p.Files {
				name := installed(f.Path)
				if other := owner[name]; other != "" {
					errs = append(errs, fmt.Errorf("%s: packages %s and %s both have %s", platform, other, p.Name, name))
				}
				owner[name] = p.Name
			}
		}
		for _, p := range mine {
			for i := range p.Files {
				if err := checkELF(&p.Files[i], owner); err != nil {
					errs = append(errs, fmt.Errorf("%s: package %s: %w", platform, p.Name, err))
				}
			}
		}
	}
	return errors.Join(errs...)
}

// installed is where a path of a noarch python package lands, as far as
// telling paths apart needs it.
func installed(name string) string {
	if rest, ok := strings.CutPrefix(name, "python-scripts/"); ok {
		return "bin/" + rest
	}
	return name
}

func checkELF(f *condapkg.File, owner map[string]string) error {
	if !bytes.HasPrefix(f.Data, []byte(elf.ELFMAG)) {
		return nil
	}
	e, err := elf.NewFile(bytes.NewReader(f.Data))
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	if e.Type != elf.ET_DYN && e.Type != elf.ET_EXEC {
		return nil
	}
	needed, err := e.ImportedLibraries()
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	rpath, err := e.DynString(elf.DT_RPATH)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	var missing []string
	own := false
	for _, n := range needed {
		if contains(libc, n) {
			continue
		}
		own = true
		if owner["lib/"+n] == "" {
			missing = append(missing, n)
		}
	}
	if len(missing) > 0 {
		sort.Strings(missing)
		return fmt.Errorf("%s needs %s, which no package has in lib/", f.Path, strings.Join(missing, ", "))
	}
	if own && (len(rpath) != 1 || path.Clean(strings.Replace(rpath[0], "$ORIGIN", path.Dir(f.Path), 1)) != "lib") {
		return fmt.Errorf("%s: its RPATH %q does not lead to lib/", f.Path, rpath)
	}
	return nil
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

package editable_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/editable"
)

// FuzzRead: whatever a pyproject.toml holds, it is refused, or gives an overlay
// that stays below its directory, in whose headers nothing ends a line.
func FuzzRead(f *testing.F) {
	for _, b := range []string{"hatchling.build", "setuptools.build_meta", "flit_core.buildapi", "pdm.backend", "poetry.core.masonry.api", "uv_build"} {
		f.Add(pyproject(b, "description = \"a\\nb\"\nkeywords = [\"k\"]\n[project.scripts]\nc = \"p:main\"\n[project.optional-dependencies]\nx = [\"q; os_name=='a' or os_name=='b'\"]"))
	}
	f.Add(pyproject("hatchling.build", "[tool.hatch.build.targets.wheel]\ninclude = [\"**/*.py\", \"!x\"]\nsources = [\"p\"]"))
	f.Add(pyproject("setuptools.build_meta", "[tool.setuptools.packages.find]\nwhere = [\"..\"]\ninclude = [\"[\"]\n[tool.setuptools.package-dir]\n\"\" = \"/\""))
	f.Add(strings.Replace(pyproject("hatchling.build", "dynamic = [\"version\"]\n[tool.hatch.version]\npath = \"../../etc/hostname\"\npattern = \"(?P<version>.*)\""), "version = \"1\"\n", "", 1))
	dir := tree(f, map[string]string{"p/__init__.py": "__version__ = '1'\n", "src/p/__init__.py": ""})
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(filepath.Join(dir, "pyproject.toml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		p, err := editable.Read(editable.Tree{Name: "p", Version: "1", Dir: dir})
		if err != nil {
			if !errors.Is(err, editable.ErrRefused) {
				t.Fatalf("not of the class: %v", err)
			}
			return
		}
		o, err := editable.New([]*editable.Project{p}, map[string]string{"": "/opt/e/a"})
		if err != nil {
			if !errors.Is(err, editable.ErrRefused) {
				t.Fatalf("not of the class: %v", err)
			}
			return
		}
		for path, file := range o.Files {
			if !filepath.IsLocal(path) || filepath.Clean(path) != path {
				t.Errorf("%q leaves the overlay", path)
			}
			if strings.HasSuffix(path, "/METADATA") {
				head, _, _ := strings.Cut(string(file.Data), "\n\n")
				for _, line := range strings.Split(strings.TrimSuffix(head, "\n"), "\n") {
					if key, _, ok := strings.Cut(line, ": "); !ok || strings.ContainsAny(key, " \t") {
						t.Errorf("METADATA has the line %q", line)
					}
				}
			}
			if strings.HasSuffix(path, ".pth") {
				for _, line := range strings.Split(strings.TrimSuffix(string(file.Data), "\n"), "\n") {
					if line != "" && line[0] != '/' && line != "import _hpcenv_editable_p" && !strings.HasPrefix(line, `import os, sys; sys.path.append(os.fsdecode(b"/`) {
						t.Errorf("a .pth file has the line %q", line)
					}
				}
			}
		}
	})
}

package editable_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/editable"
)

// A project whose path is not plain is importable whatever the locale is; a job
// script's LC_ALL=C makes Python read .pth files as ASCII.
func TestLocales(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED: there is no python3 here to read overlays")
	}
	for _, dir := range []string{"plain", "b la nk", "kä☃𝔘", `qu'o"te\n`, "lat\xe4in"} {
		for backend, more := range map[string]string{
			"hatchling.build":       "",                                                                   // a path
			"setuptools.build_meta": "[tool.setuptools]\npackages = [\"p\"]\npackage-dir = { p = \"p\" }", // the finder
		} {
			base := t.TempDir()
			project := filepath.Join(base, dir)
			for name, text := range map[string]string{
				"pyproject.toml": pyproject(backend, more), "p/__init__.py": "name = 'found'\n",
			} {
				file := filepath.Join(project, name)
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			p, err := editable.Read(editable.Tree{Name: "p", Version: "1", Dir: project})
			if err != nil {
				t.Fatalf("%q, %s: %v", dir, backend, err)
			}
			at, err := overlay(t, map[string]string{"": "/opt/e/a"}, p).Write(filepath.Join(base, "overlays"), "a")
			if err != nil {
				t.Fatal(err)
			}
			for _, locale := range []string{"LC_ALL=C", "LC_ALL=C.UTF-8", "LC_ALL=C PYTHONUTF8=0"} {
				cmd := exec.Command(python, "-c", "import site, sys; site.addsitedir(sys.argv[1]); import p; print(p.name)", filepath.Join(at, editable.Site))
				cmd.Env = append(strings.Fields(locale), "PYTHONDONTWRITEBYTECODE=1")
				if out, err := cmd.CombinedOutput(); err != nil || string(out) != "found\n" {
					t.Errorf("%q, %s, %s: %v\n%s", dir, backend, locale, err, out)
				}
			}
		}
	}
}

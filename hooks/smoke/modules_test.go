package smoke

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// write makes files below a new prefix.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	prefix := t.TempDir()
	for path, text := range files {
		at := filepath.Join(prefix, path)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return prefix
}

// TestImportable: what a package offers, by the names that it is imported by, with the
// package from conda's records or a wheel's; nothing private, no tests, no data.
func TestImportable(t *testing.T) {
	const site = "lib/python3.12/site-packages/"
	prefix := write(t, map[string]string{
		site + "numpy/__init__.py":                                 "",
		site + "numpy.libs/libx.so":                                "",
		site + "six.py":                                            "",
		site + "fast.abi3.so":                                      "",
		site + "faster.cpython-312-x86_64-linux-gnu.so":            "",
		site + "compiled/__init__.cpython-312-x86_64-linux-gnu.so": "",
		site + "nvidia/cublas/__init__.py":                         "",
		site + "nvidia/data/readme":                                "",
		site + "nvidia/deep/deeper/__init__.py":                    "",
		site + "_private/__init__.py":                              "",
		site + "tests/__init__.py":                                 "",
		site + "fast_tests/__init__.py":                            "",
		site + "setup.py":                                          "",
		site + "easy-install.pth":                                  "",
		site + "README.txt":                                        "",
		site + "six-1.16.0.dist-info/RECORD":                       "six.py,sha256=x,1\nsix-1.16.0.dist-info/RECORD,,\n",
		site + "nvidia_cublas_cu12-12.4.5.dist-info/RECORD":        "nvidia/cublas/__init__.py,,\n",
		"conda-meta/numpy-2.1.0-py312_0.json":                      `{"name":"numpy","version":"2.1.0","files":["` + site + `numpy/__init__.py","bin/f2py"]}`,
		"conda-meta/fast-0.9-0.json":                               `{"name":"fast","version":"0.9","files":["` + site + `fast.abi3.so","` + site + `faster.cpython-312-x86_64-linux-gnu.so"]}`,
		"lib/python3.12/os.py":                                     "",
		"conda-meta/history":                                       "",
	})
	if err := os.Symlink("python3.12", filepath.Join(prefix, "lib/python3.1")); err != nil {
		t.Fatal(err)
	}
	got, err := Importable(prefix)
	if err != nil {
		t.Fatal(err)
	}
	want := []Module{
		{Name: "compiled", How: Import},
		{Name: "fast", How: Import, Package: "fast 0.9"},
		{Name: "faster", How: Import, Package: "fast 0.9"},
		{Name: "numpy", How: Import, Package: "numpy 2.1.0"},
		{Name: "nvidia.cublas", How: Import, Package: "nvidia_cublas_cu12 12.4.5"},
		{Name: "six", How: Import, Package: "six 1.16.0"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got, err := Importable(t.TempDir()); got != nil || err != nil {
		t.Errorf("of an empty prefix: %v, %v", got, err)
	}
}

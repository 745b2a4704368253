package satisfy_test

import (
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/envs/satisfy"
)

const (
	treeLock = `version: 6
environments:
  default:
    channels:
    - url: https://conda.example/conda-forge/
    packages:
      linux-64:
      - conda: https://conda.example/conda-forge/linux-64/python-3.12.4-0.conda
      - conda: https://conda.example/conda-forge/noarch/six-1.16-py_0.conda
      - conda: https://conda.example/conda-forge/noarch/pytorch-2.1-py_0.conda
      - pypi: https://pypi.example/files/tqdm-4.66-py3-none-any.whl
      - pypi: ./
packages:
- conda: https://conda.example/conda-forge/linux-64/python-3.12.4-0.conda
  sha256: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
- conda: https://conda.example/conda-forge/noarch/six-1.16-py_0.conda
  sha256: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
  depends:
  - python
- conda: https://conda.example/conda-forge/noarch/pytorch-2.1-py_0.conda
  sha256: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
  depends:
  - python
- pypi: https://pypi.example/files/tqdm-4.66-py3-none-any.whl
  name: tqdm
  version: '4.66'
  sha256: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
  requires_dist:
  - torch ; extra == 'x'
- pypi: ./
  name: app
  version: '1.0'
  requires_dist:
  - tqdm>=4
  - six ; extra == 'fast'
  - tqdm ; extra == 'all'
  - six ; extra == 'all'
  requires_python: '>=3.10'
  editable: true
`
	treeManifest = `[workspace]
channels = ["conda-forge"]
platforms = ["linux-64"]
[dependencies]
python = "*"
pytorch = "*"
[pypi-dependencies]
tqdm = "*"
six = ">=1"
app = { path = ".", editable = true }
`
	treeProject = `[project]
name = "app"
version = "1.0.0"
requires-python = ">= 3.10"
dependencies = ["tqdm >=4.0"]
[project.optional-dependencies]
fast = ["six"]
all = ["tqdm", "app[fast]"]
`
)

// A project beside a pixi.toml, and Python packages that conda packages stand for
// which do not say what they are.
func TestTrees(t *testing.T) {
	const manifest, own, lock = "pixi.toml", "pyproject.toml", "pixi.lock"
	for name, c := range map[string]change{
		"nothing":               {manifest, "", "", ""},
		"requirement added":     {own, `["tqdm >=4.0"]`, `["tqdm >=4.0", "numpy"]`, "default on linux-64: app asks for `numpy`, and the lock was made without it (pyproject.toml, line 5)"},
		"bound":                 {own, ">=4.0", ">=4.50", "app asks for `tqdm >=4.50`, and the lock was made for `tqdm >=4`"},
		"requirement gone":      {own, `["tqdm >=4.0"]`, `[]`, "the lock was made for `tqdm >=4`, which app does not ask for"},
		"extra":                 {own, `fast = ["six"]`, `fast = ["six", "numpy"]`, "the extra fast of app asks for `numpy`"},
		"version":               {own, "1.0.0", "1.1", "the version of app is 1.1, and 1.0 in the lock (pyproject.toml, line 3)"},
		"version, dynamic":      {own, `version = "1.0.0"`, `dynamic = ["version"]`, ""},
		"Python":                {own, ">= 3.10", ">=3.11", "requires-python of app is `>=3.11`, and `>=3.10` in the lock"},
		"dynamic":               {own, `dependencies = ["tqdm >=4.0"]`, `dynamic = ["dependencies"]`, ""},
		"another's":             {own, `name = "app"`, `name = "other"`, ""},
		"no requirement":        {own, `["tqdm >=4.0"]`, `["??"]`, ""},
		"source":                {own, "[project.optional", "[tool.uv.sources]\ntqdm = {path = \"x\"}\n[project.optional", ""},
		"asked for, not locked": {manifest, "[pypi-dependencies]", "[pypi-dependencies]\nnumpy = \"*\"", "the Python package numpy is asked for and not locked (line 8)"},
		"called otherwise":      {manifest, "[pypi-dependencies]", "[pypi-dependencies]\ntorch = \"*\"", "the Python package torch is asked for and not locked (line 8)"},
		"bound of conda's":      {manifest, `six = ">=1"`, `six = ">=2"`, "the Python package six >=2 is asked for, and the conda package six 1.16 is locked for it (line 9)"},
		"needed by another":     {manifest, `tqdm = "*"`, `tqdm = {version = "*", extras = ["x"]}`, ""},
		"of another channel":    {lock, "conda-forge/noarch/six", "other/noarch/six", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			texts := map[string]string{manifest: treeManifest, own: treeProject, lock: treeLock}
			if !strings.Contains(texts[c.file], c.old) {
				t.Fatalf("%s has no %s", c.file, c.old)
			}
			texts[c.file] = strings.ReplaceAll(texts[c.file], c.old, c.new)
			for file, text := range texts {
				write(t, dir, file, text)
			}
			p, lock := pair(t, dir)
			problems, err := satisfy.Check(p, lock)
			if err != nil {
				t.Fatal(err)
			}
			if all := strings.Join(problems, "\n"); c.says == "" && problems != nil || !strings.Contains(all, c.says) {
				t.Errorf("lacks %q: %s", c.says, all)
			}
		})
	}
}

// The manifest of a package is not the one that a lock was made from.
func TestPackageManifest(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "pixi.toml", "[package]\nname = \"x\"\n[dependencies]\nmore = \"*\"\n")
	p, err := project.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := satisfy.Verify(p, "pixi.lock", []byte(goodLock), ""); err != nil {
		t.Error(err)
	}
}

package editable_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/editable"
)

// TestRefused: what cannot be decided from the files alone, or is compiled.
func TestRefused(t *testing.T) {
	hatch, setup := "hatchling.build", "setuptools.build_meta"
	pkg := map[string]string{"p/__init__.py": ""}
	with := func(text string, more ...string) map[string]string {
		out := map[string]string{"pyproject.toml": text}
		for k, v := range pkg {
			out[k] = v
		}
		for i := 0; i < len(more); i += 2 {
			out[more[i]] = more[i+1]
		}
		return out
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no pyproject":       {map[string]string{"setup.py": "setup()"}, "has no pyproject.toml"},
		"not TOML":           {with("[project"), "pyproject.toml:"},
		"no project table":   {with("[build-system]\nrequires = []\n", "setup.cfg", "[metadata]\n"), "no [project] table"},
		"wrong kind":         {with("[project]\nname = 1\n"), "`project.name` must be a text"},
		"name of another":    {with("[project]\nname = \"q\"\nversion = \"1\"\n"), "the lock calls it p"},
		"version":            {with(strings.Replace(pyproject(hatch, ""), `"1"`, `"x y"`, 1)), "its version"},
		"maturin":            {with(pyproject("maturin", "")), "maturin (Rust), which compiles"},
		"scikit-build-core":  {with(pyproject("scikit_build_core.build", "")), "which compiles"},
		"meson":              {with(pyproject("mesonpy", "")), "which compiles"},
		"unknown backend":    {with(pyproject("mine.api", "")), "build backend (mine.api)"},
		"own backend":        {with(pyproject(hatch, "") + "backend-path = [\".\"]\n"), "backend-path"},
		"cython":             {with(strings.Replace(pyproject(setup, ""), "requires = []", "requires = [\"Cython>=3\"]", 1)), "needs Cython to build"},
		"ext-modules":        {with(pyproject(setup, "[[tool.setuptools.ext-modules]]\nname = \"a\"")), "are compiled modules"},
		"cmdclass":           {with(pyproject(setup, "[tool.setuptools.cmdclass]\na = \"b\"")), "programs"},
		"setup.py":           {with(pyproject(setup, ""), "setup.py", "import os\nfrom setuptools import setup\nsetup()\n"), "setup.py is a program"},
		"scm file":           {with(pyproject(setup, "[tool.setuptools_scm]\nversion_file = \"p/_v.py\"")), "writes p/_v.py"},
		"setup.py behind":    {with(pyproject(setup, ""), "setup.py", "from setuptools import setup\nsetup()\nprint()\n"), "setup.py is a program"},
		"setup.cfg":          {with(pyproject(setup, ""), "setup.cfg", "[options]\npackages = find:\n"), "setup.cfg says"},
		"two packages":       {with(pyproject(setup, ""), "q/__init__.py", ""), "does not choose between p, q"},
		"two modules":        {map[string]string{"pyproject.toml": pyproject(setup, ""), "a.py": "", "b.py": ""}, "does not choose between a, b"},
		"package elsewhere":  {with(pyproject(setup, "[tool.setuptools]\npackages = [\"a\"]\n[tool.setuptools.package-dir]\na = \"p\"")), "a directory of another name"},
		"nothing there":      {map[string]string{"pyproject.toml": pyproject(hatch, "")}, "hatchling finds nothing"},
		"hook":               {with(pyproject(hatch, "[tool.hatch.build.hooks.custom]")), "build hook \"custom\""},
		"version hook":       {with(pyproject(hatch, "[tool.hatch.build.hooks.vcs]\nversion-file = \"p/_v.py\"")), "p/_v.py, which is not there"},
		"metadata hook":      {with(pyproject(hatch, "[tool.hatch.metadata.hooks.custom]\npath = \"h.py\"")), "would have to be run"},
		"force-include":      {with(pyproject(hatch, "[tool.hatch.build.force-include]\n\"a\" = \"b\"")), "copies of files"},
		"sources renamed":    {with(pyproject(hatch, "[tool.hatch.build.targets.wheel.sources]\n\"p\" = \"q\"")), "another name"},
		"pdm hook":           {with(pyproject("pdm.backend", ""), "pdm_build.py", ""), "pdm_build.py is a program"},
		"poetry build":       {with(pyproject("poetry.core.masonry.api", "[tool.poetry.build]\nscript = \"b.py\"")), "would have to be run"},
		"poetry to":          {with(pyproject("poetry.core.masonry.api", "[tool.poetry]\npackages = [{include = \"p\", to = \"x\"}]")), "to = \"x\""},
		"flit twice":         {with(pyproject("flit_core.buildapi", ""), "src/p.py", ""), "more than once"},
		"uv nothing":         {with(pyproject("uv_build", "")), "there is no src/p/__init__.py"},
		"dynamic scripts":    {with(pyproject(hatch, "dynamic = [\"scripts\"]")), "scripts are computed"},
		"requirement":        {with(pyproject(hatch, "dependencies = [\"a b\"]")), "the dependency"},
		"readme gone":        {with(pyproject(hatch, "readme = \"R.md\"")), "the readme"},
		"readme kind":        {with(pyproject(hatch, "readme = \"R.what\""), "R.what", ""), "kind of the readme"},
		"field of two lines": {with(pyproject(hatch, "keywords = [\"a\\nInjected: b\"]")), "several lines"},
		"version file":       {with(strings.Replace(pyproject(hatch, "dynamic = [\"version\"]\n[tool.hatch.version]\npath = \"p/__init__.py\""), "version = \"1\"\n", "", 1)), "states no version"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := read(t, c.files)
			var refusal *editable.Refusal
			if !errors.As(err, &refusal) || !errors.Is(err, editable.ErrRefused) {
				t.Fatalf("%+v, %v", p, err)
			}
			if !strings.Contains(err.Error(), c.want) || refusal.Next == "" || !strings.HasPrefix(err.Error(), "p (") {
				t.Errorf("%q lacks %q", err, c.want)
			}
		})
	}
}

// TestVersionOfTheLock: a version that only a program knows is the lock's, and
// the user is told.
func TestVersionOfTheLock(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"no repository": {"pyproject.toml": strings.Replace(pyproject("hatchling.build", "dynamic = [\"version\"]\n[tool.hatch.version]\nsource = \"vcs\""), "version = \"1\"\n", "", 1), "p/__init__.py": ""},
		"computed": {"pyproject.toml": strings.Replace(pyproject("setuptools.build_meta", "dynamic = [\"version\"]\n[tool.setuptools.dynamic]\nversion = {attr = \"p.V\"}"), "version = \"1\"\n", "", 1),
			"p/__init__.py": "V = '.'.join(['1', '2'])\n"},
		"given twice": {"pyproject.toml": strings.Replace(pyproject("setuptools.build_meta", "dynamic = [\"version\"]\n[tool.setuptools.dynamic]\nversion = {attr = \"p.V\"}"), "version = \"1\"\n", "", 1),
			"p/__init__.py": "V = '1'\nV = '2'\n"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := read(t, files)
			if err != nil {
				t.Fatal(err)
			}
			if p.Version != "9" || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "version of the lock, 9") {
				t.Errorf("version %s, notes %q", p.Version, p.Notes)
			}
		})
	}
}

func TestShimsAreNoPrograms(t *testing.T) {
	for _, text := range []string{
		"from setuptools import setup\nsetup()\n", "import setuptools\n\nif __name__ == '__main__':\n    setuptools.setup()\n",
		"#!/usr/bin/env python\n# a shim\n\"\"\"For old tools.\"\"\"\nfrom setuptools import setup\n\nsetup()\n",
	} {
		p, err := read(t, map[string]string{"pyproject.toml": pyproject("setuptools.build_meta", ""), "src/p/__init__.py": "", "setup.py": text})
		if err != nil || paths(p) != "src" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

package editables

import (
	"fmt"
	"strings"
)

// Case is a project.
type Case struct {
	// Name of the case, Dist of its distribution.
	Name, Dist string
	Files      map[string]string
	// Modules to ask for; what must not be importable is asked for too.
	Modules []string
	// Git: the project is a repository with a tag v1.4 and a commit after it.
	Git bool
}

// backends by what build-system calls them.
var backends = map[string]string{
	"hatchling": "hatchling.build", "setuptools": "setuptools.build_meta", "flit_core": "flit_core.buildapi",
	"pdm-backend": "pdm.backend", "poetry-core": "poetry.core.masonry.api", "uv_build": "uv_build",
}

const cli = "def main():\n    print('said by', __name__)\n\ngui = plug = main\n"

// full is a [project] table with every field.
const full = `[project]
name = "%s"
version = "1.2.0RC1"
description = "A thing: with é"
readme = "README.md"
requires-python = ">=3.8"
license = "MIT"
license-files = ["LICENSE*"]
keywords = ["one", "two words"]
authors = [{name = "Ann Ex", email = "ann@x.example"}]
maintainers = [{name = "M, M", email = "m@x.example"}]
classifiers = ["Programming Language :: Python :: 3"]
dependencies = ["numpy >=1.20,<3", "tomli; python_version<'3.11'", "requests[socks]>2"]
[project.optional-dependencies]
Test_Ex = ["pytest>=7", "x; sys_platform=='linux' or os_name=='nt'"]
[project.urls]
Homepage = "https://x.example/h"
Docs = "https://x.example/d"
[project.scripts]
my-cmd = "my_proj.cli:main"
[project.gui-scripts]
my-gui = "my_proj.cli:gui"
[project.entry-points."my.group"]
plug = "my_proj.cli:plug"
`

func build(backend string) string {
	return fmt.Sprintf("[build-system]\nrequires = [%q]\nbuild-backend = %q\n", backend, backends[backend])
}

// project is a case with a small [project] table of one script; head goes into
// the table, tail after it.
func project(name, backend, head, tail string, files map[string]string, modules ...string) Case {
	if !strings.Contains(head, "version") {
		head = "version = \"1.0\"\n" + head
	}
	all := map[string]string{"pyproject.toml": "[project]\nname = \"my-proj\"\n" + head + "\n" + tail + "\n" + build(backend)}
	for f, text := range files {
		all[f] = text
	}
	return Case{Name: backend + "/" + name, Dist: "my-proj", Files: all, Modules: modules}
}

// Cases are all projects.
func Cases() []Case {
	var out []Case
	for backend := range backends {
		for _, layout := range []string{"src/", ""} {
			tail := ""
			if backend == "uv_build" && layout == "" {
				tail = "[tool.uv.build-backend]\nmodule-root = \"\"\n"
			}
			if backend == "flit_core" {
				tail = "[tool.flit.module]\nname = \"my_proj\"\n"
			}
			head := fmt.Sprintf(full, "My-Proj")
			if backend == "poetry-core" {
				head = strings.Replace(head, "RC1", "rc1", 1) // it takes no other spelling
			}
			files := map[string]string{
				"pyproject.toml": head + tail + build(backend), "README.md": "# Hello é\n\ntext\n", "LICENSE": "free\n",
				layout + "my_proj/__init__.py": "", layout + "my_proj/cli.py": cli, "tests/__init__.py": "", "tests/test_x.py": "", "docs/conf.py": "",
			}
			out = append(out, Case{Name: backend + "/full/" + strings.TrimSuffix(layout+"flat", "/flat"), Dist: "my-proj", Files: files, Modules: []string{"my_proj", "my_proj.cli", "tests", "docs", "conf"}})
		}
	}
	pkg := map[string]string{"src/my_proj/__init__.py": "__version__ = \"3.4\"  # the version\n", "src/my_proj/cli.py": cli}
	flat := map[string]string{"my_proj/__init__.py": "__version__ = '3.4'\n", "my_proj/cli.py": cli}
	dynamic := "dynamic = [\"version\"]"
	with := func(more map[string]string, f map[string]string) map[string]string {
		all := map[string]string{}
		for k, v := range f {
			all[k] = v
		}
		for k, v := range more {
			all[k] = v
		}
		return all
	}
	out = append(out,
		project("version path", "hatchling", dynamic, "[tool.hatch.version]\npath = \"src/my_proj/__init__.py\"", pkg, "my_proj"),
		project("version pattern", "hatchling", dynamic, "[tool.hatch.version]\npath = \"V.txt\"\npattern = \"v=(?P<version>.+)\"", with(map[string]string{"V.txt": "x\nv=1.2.3\n"}, pkg), "my_proj"),
		project("packages", "hatchling", "", "[tool.hatch.build.targets.wheel]\npackages = [\"lib/other\", \"one\"]", map[string]string{"lib/other/__init__.py": "", "one/__init__.py": ""}, "other", "one", "lib"),
		project("only-include", "hatchling", "", "[tool.hatch.build.targets.wheel]\nonly-include = [\"lib/other\"]\nsources = [\"lib\"]", map[string]string{"lib/other/__init__.py": ""}, "other", "lib"),
		project("only-include without sources", "hatchling", "", "[tool.hatch.build.targets.wheel]\nonly-include = [\"lib/other\"]", map[string]string{"lib/other/__init__.py": ""}, "other", "lib.other"),
		project("include", "hatchling", "", "[tool.hatch.build]\ninclude = [\"lib/**/*.py\", \"/one\"]", map[string]string{"lib/other/__init__.py": "", "one/__init__.py": ""}, "other", "one", "lib.other"),
		project("sources table", "hatchling", "", "[tool.hatch.build.targets.wheel]\ninclude = [\"lib\"]\n[tool.hatch.build.targets.wheel.sources]\n\"lib\" = \"\"", map[string]string{"lib/other/__init__.py": ""}, "other", "lib.other"),
		project("dev-mode-dirs", "hatchling", "", "[tool.hatch.build]\ndev-mode-dirs = [\"src\", \".\"]", pkg, "my_proj", "src.my_proj"),
		project("module", "hatchling", "", "", map[string]string{"my_proj.py": ""}, "my_proj"),
		project("namespace", "hatchling", "", "", map[string]string{"space/my_proj/__init__.py": ""}, "space.my_proj", "my_proj"),
		project("no build-system", "setuptools", "", "", flat, "my_proj"),
		project("attr src", "setuptools", dynamic, "[tool.setuptools.dynamic]\nversion = {attr = \"my_proj.__version__\"}", pkg, "my_proj"),
		project("attr tuple", "setuptools", dynamic, "[tool.setuptools.dynamic]\nversion = {attr = \"my_proj.version.VERSION\"}", with(map[string]string{"my_proj/version.py": "VERSION = (1, 2, \"dev3\")\n"}, flat), "my_proj"),
		project("version file", "setuptools", dynamic, "[tool.setuptools.dynamic]\nversion = {file = \"VERSION\"}", with(map[string]string{"VERSION": "2.0\n"}, pkg), "my_proj"),
		project("listed", "setuptools", "", "[tool.setuptools]\npackages = [\"my_proj\", \"extra\"]", with(map[string]string{"extra/__init__.py": ""}, flat), "my_proj", "extra", "tests"),
		project("package-dir", "setuptools", "", "[tool.setuptools]\npackages = [\"my_proj\"]\n[tool.setuptools.package-dir]\n\"\" = \"src\"", pkg, "my_proj", "src"),
		project("package-dir of one", "setuptools", "", "[tool.setuptools]\npackages = [\"my_proj\"]\n[tool.setuptools.package-dir]\nmy_proj = \"lib/my_proj\"", map[string]string{"lib/my_proj/__init__.py": "", "lib/tests.py": ""}, "my_proj", "tests"),
		project("find where", "setuptools", "", "[tool.setuptools.packages.find]\nwhere = [\"lib\"]", map[string]string{"lib/my_proj/__init__.py": "", "lib/second/__init__.py": ""}, "my_proj", "second"),
		project("find include", "setuptools", "", "[tool.setuptools.packages.find]\ninclude = [\"my_*\"]", with(map[string]string{"tests/__init__.py": ""}, flat), "my_proj", "tests"),
		project("py-modules", "setuptools", "", "[tool.setuptools]\npy-modules = [\"single\"]", map[string]string{"single.py": "", "other.py": ""}, "single", "other"),
		project("one module", "setuptools", "", "", map[string]string{"single.py": "", "setup.py": "\"\"\"Shim.\"\"\"\nfrom setuptools import setup\n\nsetup()  # all is in pyproject.toml\n"}, "single"),
		project("namespace flat", "setuptools", "", "[tool.setuptools]\npackages = [\"space.my_proj\"]", map[string]string{"space/my_proj/__init__.py": ""}, "space.my_proj"),
		project("module name", "flit_core", "description = \"d\"", "[tool.flit.module]\nname = \"other\"", map[string]string{"src/other/__init__.py": ""}, "other"),
		project("dynamic", "flit_core", "dynamic = [\"version\", \"description\"]", "", map[string]string{"my_proj.py": "\"\"\"What it does.\n\nMore.\n\"\"\"\n__version__ = '0.9'\n"}, "my_proj"),
		project("version file", "pdm-backend", dynamic, "[tool.pdm.version]\nsource = \"file\"\npath = \"src/my_proj/__init__.py\"", pkg, "my_proj"),
		project("package-dir", "pdm-backend", "", "[tool.pdm.build]\npackage-dir = \"lib\"", map[string]string{"lib/my_proj/__init__.py": ""}, "my_proj"),
		project("packages", "poetry-core", "", "[tool.poetry]\npackages = [{include = \"other\", from = \"lib\"}]", map[string]string{"lib/other/__init__.py": ""}, "other"),
		project("module-name", "uv_build", "", "[tool.uv.build-backend]\nmodule-name = \"other\"\nmodule-root = \"lib\"", map[string]string{"lib/other/__init__.py": ""}, "other"),
		project("namespace", "uv_build", "", "[tool.uv.build-backend]\nmodule-name = \"space.my_proj\"", map[string]string{"src/space/my_proj/__init__.py": ""}, "space.my_proj"),
	)
	vcs := project("vcs", "hatchling", dynamic, "[tool.hatch.version]\nsource = \"vcs\"", pkg, "my_proj")
	vcs.Git = true
	vcs.Files["pyproject.toml"] = strings.Replace(vcs.Files["pyproject.toml"], `["hatchling"]`, `["hatchling", "hatch-vcs"]`, 1)
	scm := project("scm", "setuptools", dynamic, "[tool.setuptools_scm]", pkg, "my_proj")
	scm.Git = true
	scm.Files["pyproject.toml"] = strings.Replace(scm.Files["pyproject.toml"], `["setuptools"]`, `["setuptools", "setuptools-scm"]`, 1)
	old := Case{Name: "poetry-core/old table", Dist: "my-proj", Modules: []string{"my_proj"}, Files: map[string]string{
		"my_proj/__init__.py": "", "my_proj/cli.py": cli,
		"pyproject.toml": "[tool.poetry]\nname = \"my-proj\"\nversion = \"1\"\ndescription = \"d\"\nauthors = [\"A <a@x.example>\"]\n[tool.poetry.scripts]\nmy-cmd = \"my_proj.cli:main\"\n[tool.poetry.plugins.\"my.group\"]\nplug = \"my_proj.cli:plug\"\n" + build("poetry-core"),
	}}
	return append(out, vcs, scm, old)
}

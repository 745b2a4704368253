package lockfile_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// wantError checks that an error is of this package and tells a person what it
// must tell.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if !errors.Is(err, lockfile.ErrLock) {
		t.Fatalf("error is %v", err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the message lacks %q: %v", part, err)
		}
	}
}

func TestNotALock(t *testing.T) {
	for text, says := range map[string]string{
		"":                             "empty",
		"# only a comment\n":           "empty",
		"version: 7\na: [":             "not YAML",
		"{":                            "not YAML",
		"version: 7\na: \xff":          "line 2: it is not UTF-8",
		"- 1":                          "a list",
		"hello":                        "a text",
		"environments: {}":             "no `version`",
		"version:":                     "`version` must be",
		"version: x":                   "`version` must be",
		"version: 0":                   "`version` must be",
		"version: -6":                  "`version` must be",
		"version: '7'":                 "`version` must be",
		"version: 6.0":                 "`version` must be",
		"version: [7]":                 "`version` must be",
		"version: 6\nversion: 7":       "line 2",
		"version: 7\n---\nversion: 7":  "second YAML document",
		"a: &x 1\nb: *x\nversion: 7":   "alias",
		"version: 7\n? [a]\n: b":       "key",
		"version: 7":                   "`environments`",
		"version: 6\nenvironments: {}": "`packages`",
		"version: 6\nplatforms: []\nenvironments: {}\npackages: []":                                     "came with version 7",
		"version: 7\nenvironments: []\npackages: []":                                                    "`environments` must be a mapping",
		"version: 7\nenvironments: {a: {packages: {}}}\npackages: []":                                   "`channels`",
		"version: 7\nenvironments: {a: {channels: []}}\npackages: []":                                   "`packages`",
		"version: 6\nenvironments: {a: {channels: [], packages: {linux-65: []}}}\npackages: []":         `unknown platform "linux-65"`,
		"version: 7\nenvironments: {a: {channels: [], packages: {linux-64: []}}}\npackages: []":         "does not declare",
		"version: 7\nplatforms: [{name: ''}]\nenvironments: {}\npackages: []":                           "no name for a platform",
		"version: 6\nenvironments: {}\npackages: [{name: x}]":                                           "neither `conda` nor `pypi`",
		"version: 7\nenvironments: {}\npackages: [{name: x}]":                                           "`conda_source`",
		"version: 7\nenvironments: {}\npackages: [{conda_source: x}]":                                   "hex digits",
		"version: 7\nenvironments: {}\npackages: [{conda: ../x}]":                                       "name of a conda archive",
		"version: 7\nenvironments: {}\npackages: [{pypi: ../x}]":                                        "`name`",
		"version: 6\nenvironments: {}\npackages: [{pypi: ../x}]":                                        "`name`",
		"version: 6\nenvironments: {}\npackages: [{conda: ../x}]":                                       "`name`",
		"version: 6\nenvironments: {e: {channels: [], packages: {linux-64: [{}]}}}\npackages: []":       "neither",
		"version: 6\nenvironments: {e: {channels: [{}], packages: {}}}\npackages: []":                   "`url`",
		"version: 6\nenvironments: {e: {channels: [], packages: {win-64: [{conda: x}]}}}\npackages: []": "package x is not among",
	} {
		lock, err := lockfile.Parse([]byte(text))
		if lock != nil && err != nil {
			t.Errorf("%q: a lock besides an error", text)
		}
		t.Run(text, func(t *testing.T) { wantError(t, err, says) })
	}
}

func TestOtherVersions(t *testing.T) {
	for text, says := range map[string][]string{
		"version: 8":                     {"8", "up to 7", "next:"},
		"version: 1000":                  {"1000", "up to 7"},
		"package: []\nversion: 2":        {"version 2 of pixi's locks is not read", "`pixi lock`"},
		"# c\nversion: 3\npackages: [1]": {"version 3 of pixi's locks is not read", "`pixi lock`"},
	} {
		_, err := lockfile.Parse([]byte(text))
		var version *lockfile.VersionError
		if !errors.As(err, &version) {
			t.Errorf("%q: %v", text, err)
		}
		wantError(t, err, says...)
	}
}

const variety = `# the version need not come first
packages:
- conda: https://conda.example/main/linux-64/b-1-0.conda
  sha256: bb
- conda: https://conda.example/main/win-64/w-1-0.conda
- conda: "src"
  name: s
  version: "1"
  build: one
  subdir: linux-64
- conda: "./src"
  name: s
  version: "1"
  build: two
  subdir: linux-64
- pypi: https://pypi.example/x-1.0-py3-none-any.whl
  name: x
  version: "1.0"
- pypi: https://pypi.example/y-1.0.tar.gz
  name: y
- pypi: .
  name: z
- conda: https://conda.example/main/noarch/a-1-py_0.conda
environments:
  zeta:
    channels:
    - url: https://conda.example/main
    packages:
      linux-aarch64: []
      linux-64:
      - conda: https://conda.example/main/noarch/a-1-py_0.conda
      - conda: src
        build: two
      - conda: https://conda.example/main/linux-64/b-1-0.conda
      - conda: https://conda.example/main/linux-64/b-1-0.conda
      - pypi: https://pypi.example/x-1.0-py3-none-any.whl
      - pypi: https://pypi.example/y-1.0.tar.gz
      - pypi: ./
      win-64:
      - conda: https://conda.example/main/win-64/w-1-0.conda
  alpha:
    channels: []
    packages: {}
version: 6
`

func TestShape(t *testing.T) {
	lock, err := lockfile.Parse([]byte(variety))
	if err != nil {
		t.Fatal(err)
	}
	if lock.Version != 6 || len(lock.Digest) != 64 || len(lock.Environments) != 2 || lock.Environments[0].Name != "alpha" {
		t.Fatalf("%+v", lock)
	}
	env, err := lock.Environment("zeta")
	if err != nil {
		t.Fatal(err)
	}
	if got := env.Subdirs(); !slices.Equal(got, []string{"linux-64", "linux-aarch64"}) || !slices.Equal(env.Skipped, []string{"win-64"}) {
		t.Errorf("platforms %v, skipped %v", got, env.Skipped)
	}
	p, err := env.Platform("linux-64")
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Conda) != 2 || p.Conda[0].Name != "a" || p.Conda[1].Name != "b" {
		t.Errorf("packages are not each once, in order: %v", p.Conda)
	}
	wantError(t, p.Supported(), "s (./src, line 11) is a source package", "y (", "source archive")
	if trees := lockfile.SourceTrees(p, p); len(trees) != 1 || trees[0].Name != "z" || trees[0].Location != "." || trees[0].Line != 21 {
		t.Errorf("source trees: %+v", trees)
	}
	wantError(t, p.Validate(), "a-1-py_0 (line 23) has no sha256", "the sha256 of b-1-0", "python is not there", "source package")
	if err := p.Check(); strings.Contains(err.Error(), "source package") {
		t.Errorf("Check speaks of what is not inconsistent: %v", err)
	}
}

// A name reaches messages, command lines and other users' terminals.
func TestNamesOfEnvironments(t *testing.T) {
	for _, version := range []string{"version: 6\n", "version: 7\nplatforms: [{name: linux-64}]\n"} {
		parse := func(name string) error {
			_, err := lockfile.Parse([]byte(version + "environments:\n  " + name + ":\n    channels: []\n    packages: {}\npackages: []\n"))
			return err
		}
		for _, name := range []string{"default", "py311-cuda", "py_3.11", "größe", "CPU"} {
			if err := parse(name); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, name := range []string{`"a\e[31m"`, `"a\nb"`, `"a\u009b31m"`, `"a\u202eb"`, `"../x"`, `"a/b"`, `"a b"`, `"-e"`, `"$(x)"`, `"a'b"`, `""`, strings.Repeat("x", 129)} {
			wantError(t, parse(name), "line ", "no name for an environment")
		}
	}
}

func TestUnknownEnvironmentAndPlatform(t *testing.T) {
	lock, err := lockfile.Parse([]byte(variety))
	if err != nil {
		t.Fatal(err)
	}
	_, err = lock.Environment("beta")
	var unknown *lockfile.UnknownEnvironmentError
	if !errors.As(err, &unknown) || !slices.Equal(unknown.Known, []string{"alpha", "zeta"}) {
		t.Fatalf("%v", err)
	}
	wantError(t, err, `"beta"`, "alpha, zeta")
	env, _ := lock.Environment("zeta")
	_, err = env.Platform("linux-ppc64le")
	var platform *lockfile.MissingPlatformError
	if !errors.As(err, &platform) {
		t.Fatalf("%v", err)
	}
	wantError(t, err, "linux-ppc64le", "linux-64, linux-aarch64", "win-64", "zeta", "next:")
}

func TestSeveralPlatformsOfOneSubdir(t *testing.T) {
	for names, want := range map[string]string{"p2 p1": "p1", "p1 linux-64": "linux-64", "linux-64 a": "linux-64", "z": "z", "größe p1": "größe"} {
		text := "version: 7\npackages: []\nplatforms:\n"
		use := ""
		for _, name := range strings.Fields(names) {
			text += "- name: " + name + "\n  subdir: linux-64\n  virtual-packages: [__cuda=12]\n"
			use += "      " + name + ": []\n"
		}
		lock, err := lockfile.Parse([]byte(text + "environments:\n  default:\n    channels: []\n    packages:\n" + use))
		if err != nil {
			t.Fatal(err)
		}
		p, err := lock.Environments[0].Platform("linux-64")
		if err != nil {
			t.Fatal(err)
		}
		if p.Name != want || p.VirtualPackages[0] != "__cuda=12" {
			t.Errorf("of %s, %s is taken", names, p.Name)
		}
	}
}

func TestReferenceVerbatimInVersion7(t *testing.T) {
	text := lock7("./linux-64/a-1-0.conda", "subdir: linux-64")
	text = strings.Replace(text, "packages:\n- conda: \"./linux-64", "packages:\n- conda: \"linux-64", 1)
	_, err := lockfile.Parse([]byte(text))
	wantError(t, err, "line 10", `environment "default", platform "linux-64"`, "./linux-64/a-1-0.conda is not among")
}

func TestContradiction(t *testing.T) {
	both(t, func(t *testing.T, lock func(string, string) string) {
		text := lock("https://conda.example/m/linux-64/a-1-0.conda", "sha256: aa")
		again := "- conda: https://conda.example/m/linux-64/a-1-0.conda\n  sha256: "
		if _, err := lockfile.Parse([]byte(text + again + "AA\n")); err != nil {
			t.Errorf("the same entry twice: %v", err)
		}
		_, err := lockfile.Parse([]byte(text + again + "bb\n"))
		wantError(t, err, "another hash")
	})
}

func TestBuildPackagesAreLookedUp(t *testing.T) {
	text := "version: 7\nenvironments: {}\npackages:\n- conda_source: s[0123abcd] @ .\n  host_packages:\n  - conda: https://conda.example/m/noarch/h-1-0.conda\n"
	_, err := lockfile.Parse([]byte(text))
	wantError(t, err, "line 6", "h-1-0.conda", "build s")
	if _, err := lockfile.Parse([]byte(text + "- conda: https://conda.example/m/noarch/h-1-0.conda\n")); err != nil {
		t.Error(err)
	}
}

// FuzzParse: any bytes are a lock or an error of the class, and a lock can be
// asked everything.
func FuzzParse(f *testing.F) {
	f.Add([]byte(variety))
	f.Add([]byte(lock6("https://conda.example/m/linux-64/a-1-0.conda", "depends: [b >=1]\npurls: []")))
	f.Add([]byte(lock7("../m/linux-64/a-1-0.conda", "subdir: linux-64\nrun_exports:\n  weak: [a]\ntimestamp: 1696321871976")))
	f.Add([]byte("version: 8"))
	f.Add([]byte("version: 5\nenvironments:\n  default:\n    channels: []\n    find-links:\n    - path: ./w\n    packages:\n      linux-64:\n      - conda: https://conda.example/m/noarch/a-1-0.conda\n      - pypi: ./w/b-1-py3-none-any.whl\npackages:\n- kind: conda\n  url: https://conda.example/m/noarch/a-1-0.conda\n- kind: conda\n  url: https://conda.example/m/noarch/a-1-0.conda\n  purls: []\n- kind: pypi\n  path: ./w/b-1-py3-none-any.whl\n  name: b\n  version: '1'\n"))
	f.Add([]byte("version: 1\nmetadata:\n  channels:\n  - url: c\n  - d\n  platforms: [linux-64]\npackage:\n- name: a\n  version: '1'\n  manager: conda\n  platform: linux-64\n  dependencies: {b: '>=1', c: ['1', '2']}\n  url: https://conda.example/m/noarch/a-1-0.conda\n  hash: {md5: aa}\n  category: dev\n- name: p\n  version: '1'\n  manager: pip\n  platform: linux-64\n  url: git+https://git.example/p@0123456789012345678901234567890123456789\n"))
	f.Add([]byte("# platform: linux-64\n@EXPLICIT\nhttps://conda.example/m/noarch/a-1-0.conda#d7c89558ba9fa0495403155b64376d81\n# pip b @ https://pypi.example/b-1-py3-none-any.whl#sha256=00\n"))
	f.Add([]byte("version = 1\nrequires-python = '>=3'\n[[package]]\n"))
	f.Add([]byte("lock-version = '1.0'\n"))
	f.Add([]byte("version: 7\nplatforms: [{name: p1, subdir: linux-64}]\nenvironments: {}\npackages: []"))
	f.Fuzz(func(t *testing.T, data []byte) {
		lock, err := lockfile.Parse(data)
		format, derr := lockfile.Detect(data)
		if err != nil {
			if lock != nil || !errors.Is(err, lockfile.ErrLock) || derr != nil && !errors.Is(derr, lockfile.ErrLock) {
				t.Fatalf("lock %v, errors %v, %v", lock, err, derr)
			}
			return
		}
		if format != lock.Format {
			t.Fatalf("detected as %v, read as %v", format, lock.Format)
		}
		lock.Resolve("/somewhere")
		for _, env := range lock.Environments {
			for _, subdir := range env.Subdirs() {
				p, err := env.Platform(subdir)
				if err != nil {
					t.Fatal(err)
				}
				if p.Validate() == nil && (p.Check() != nil || p.Supported() != nil) {
					t.Fatal("Validate misses what Check or Supported sees")
				}
				for _, pkg := range p.Conda {
					if strings.ContainsAny(pkg.Dist()+pkg.FileName, "/\\\x00") {
						t.Fatalf("%q would escape", pkg.Dist())
					}
					pkg.Record()
				}
				for _, pkg := range p.PyPI {
					if strings.ContainsAny(pkg.Name+pkg.Version+pkg.FileName, "/\\\x00") {
						t.Fatalf("%q would escape", pkg.FileName)
					}
					if pkg.Kind == "" || pkg.URL == "" || (pkg.Kind == lockfile.PyPIGit) != (pkg.Commit != "") {
						t.Fatalf("incomplete: %+v", pkg)
					}
				}
			}
		}
	})
}

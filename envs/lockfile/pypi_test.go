package lockfile_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/lockfile"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

// onlyPython parses a lock with one Python package in version 6 or 7.
func onlyPython(t *testing.T, version7 bool, location, keys string) (*lockfile.PyPIPackage, error) {
	t.Helper()
	text := lock6(location, keys)
	if version7 {
		text = lock7(location, keys)
	}
	lock, err := lockfile.Parse([]byte(strings.ReplaceAll(text, "- conda: ", "- pypi: ")))
	if err != nil {
		return nil, err
	}
	p := lock.Environments[0].Platforms[0]
	if len(p.PyPI) != 1 || len(p.Unsupported) != 0 {
		t.Fatalf("%d packages, unsupported: %v", len(p.PyPI), p.Unsupported)
	}
	return p.PyPI[0], nil
}

func TestPyPILocation(t *testing.T) {
	const given = "name: x\nversion: '1'"
	for _, c := range []struct {
		location, keys string
		want           lockfile.PyPIPackage
		only           int // 0 = versions 6 and 7
	}{
		{"https://pypi.example/a/x-1-py3-none-any.whl", given, lockfile.PyPIPackage{Kind: lockfile.PyPIWheel, URL: "https://pypi.example/a/x-1-py3-none-any.whl", FileName: "x-1-py3-none-any.whl"}, 0},
		{"https://pypi.example/a/x-1%2Bcu12-py3-none-any.whl#sha256=" + strings.ToUpper(sha), given, lockfile.PyPIPackage{Kind: lockfile.PyPIWheel, URL: "https://pypi.example/a/x-1%2Bcu12-py3-none-any.whl", FileName: "x-1+cu12-py3-none-any.whl", SHA256: sha}, 0},
		{"https://pypi.example/a/x-1.tar.gz", given + "\nmd5: " + md5, lockfile.PyPIPackage{Kind: lockfile.PyPISdist, URL: "https://pypi.example/a/x-1.tar.gz", FileName: "x-1.tar.gz", MD5: md5}, 0},
		{"direct+https://host.example/x-1-py3-none-any.whl", given, lockfile.PyPIPackage{Kind: lockfile.PyPIWheel, URL: "https://host.example/x-1-py3-none-any.whl", FileName: "x-1-py3-none-any.whl", Direct: true}, 0},
		{"direct+https://host.example/x-1.zip#subdirectory=sub%20dir&egg=x", given, lockfile.PyPIPackage{Kind: lockfile.PyPISdist, URL: "https://host.example/x-1.zip", FileName: "x-1.zip", Direct: true, Subdirectory: "sub dir"}, 0},
		{"./links/x-1-py3-none-any.whl", given, lockfile.PyPIPackage{Kind: lockfile.PyPIWheel, URL: "./links/x-1-py3-none-any.whl", FileName: "x-1-py3-none-any.whl", Local: true, Direct: true}, 0},
		{"file:///l/x-1-py3-none-any.whl", given, lockfile.PyPIPackage{Kind: lockfile.PyPIWheel, URL: "file:///l/x-1-py3-none-any.whl", FileName: "x-1-py3-none-any.whl", Local: true, Direct: true}, 0},
		{"./links/x-1-py3-none-any.whl", given + "\nindex: https://u:p@pypi.example/simple/", lockfile.PyPIPackage{Kind: lockfile.PyPIWheel, URL: "./links/x-1-py3-none-any.whl", FileName: "x-1-py3-none-any.whl", Local: true, Index: "https://pypi.example/simple"}, 7},
		{"./x.tar.gz", "name: x", lockfile.PyPIPackage{Kind: lockfile.PyPISdist, URL: "./x.tar.gz", FileName: "x.tar.gz", Local: true, Direct: true}, 6},
		{"./x.tar.gz", "name: x", lockfile.PyPIPackage{Kind: lockfile.PyPIDirectory, URL: "./x.tar.gz", Local: true, Direct: true}, 7},
		{".", "name: x\neditable: true", lockfile.PyPIPackage{Kind: lockfile.PyPIDirectory, URL: ".", Local: true, Direct: true, Editable: true}, 6},
		{"..", given, lockfile.PyPIPackage{Kind: lockfile.PyPIDirectory, URL: "..", Local: true, Direct: true}, 0},
		{"git+https://git.example/o/x.git?rev=v1&subdirectory=a%2Fb#" + commit, given, lockfile.PyPIPackage{Kind: lockfile.PyPIGit, URL: "https://git.example/o/x.git", Direct: true, Ref: "v1", Commit: commit, Subdirectory: "a/b"}, 0},
		{"git+ssh://git@git.example/o/x@" + commit, given, lockfile.PyPIPackage{Kind: lockfile.PyPIGit, URL: "ssh://git@git.example/o/x", Direct: true, Ref: commit, Commit: commit}, 0},
		{"git+https://git.example/o/x@feature/y#" + commit, given, lockfile.PyPIPackage{Kind: lockfile.PyPIGit, URL: "https://git.example/o/x", Direct: true, Ref: "feature/y", Commit: commit}, 0},
		{"git+file:///o/x?branch=b&keep=1#" + commit, given, lockfile.PyPIPackage{Kind: lockfile.PyPIGit, URL: "file:///o/x?keep=1", Local: true, Direct: true, Ref: "b", Commit: commit}, 0},
	} {
		for _, version := range []int{6, 7} {
			if c.only != 0 && c.only != version {
				continue
			}
			got, err := onlyPython(t, version == 7, c.location, c.keys)
			if err != nil {
				t.Errorf("%s in version %d: %v", c.location, version, err)
				continue
			}
			if got.Location != c.location || got.Name != "x" || got.Line == 0 {
				t.Errorf("%+v", got)
			}
			have := []any{got.Kind, got.URL, got.FileName, got.Local, got.Direct, got.SHA256, got.MD5, got.Index, got.Subdirectory, got.Ref, got.Commit, got.Editable}
			want := []any{c.want.Kind, c.want.URL, c.want.FileName, c.want.Local, c.want.Direct, c.want.SHA256, c.want.MD5, c.want.Index, c.want.Subdirectory, c.want.Ref, c.want.Commit, c.want.Editable}
			if !slices.Equal(have, want) {
				t.Errorf("%s in version %d:\n got %v\nwant %v", c.location, version, have, want)
			}
		}
	}
}

func TestPyPIFields(t *testing.T) {
	lock := mustParse(t, `version: 7
platforms:
- name: linux-64
environments:
  default:
    channels: []
    indexes:
    - https://user:secret@pypi.example/simple/
    find-links:
    - path: ./wheels
    - url: https://links.example/
    packages:
      linux-64:
      - pypi: ./src
packages:
- pypi: ./src
  name: My.Project
  requires_dist:
  - numpy>=1 ; python_full_version < '3.13'
  requires_python: '>=3.10,<4'
  build_packages:
  - conda: https://conda.example/m/linux-64/cc-1-0.conda
  host_packages:
  - pypi: https://pypi.example/hatchling-1-py3-none-any.whl
- conda: https://conda.example/m/linux-64/cc-1-0.conda
- pypi: https://pypi.example/hatchling-1-py3-none-any.whl
  name: hatchling
  version: '1'
`)
	env := lock.Environments[0]
	if !slices.Equal(env.Indexes, []string{"https://pypi.example/simple"}) || !slices.Equal(env.FindLinks, []string{"./wheels", "https://links.example/"}) {
		t.Errorf("indexes %v, find-links %v", env.Indexes, env.FindLinks)
	}
	p := env.Platforms[0].PyPI[0]
	if p.NormalizedName() != "my-project" || p.RequiresPython != ">=3.10,<4" || !slices.Equal(p.RequiresDist, []string{"numpy>=1 ; python_full_version < '3.13'"}) ||
		!slices.Equal(p.BuildPackages, []string{"https://conda.example/m/linux-64/cc-1-0.conda"}) || !slices.Equal(p.HostPackages, []string{"https://pypi.example/hatchling-1-py3-none-any.whl"}) {
		t.Errorf("%+v", p)
	}
	if b := lock.Building; len(b.Conda) != 1 || b.Conda[0].Name != "cc" || len(b.PyPI) != 1 || b.PyPI[0].Name != "hatchling" {
		t.Errorf("%+v", b)
	}
	lock.Resolve("/home/u/p")
	if p.URL != "file:///home/u/p/src" || p.Location != "./src" {
		t.Errorf("resolved to %s", p.URL)
	}
}

func TestBadPyPI(t *testing.T) {
	for _, c := range []struct{ location, keys, says string }{
		{"https://pypi.example/x-1-py3-none-any.whl#sha256=" + sha, "name: x\nsha256: " + strings.Repeat("0", 64), "behind the #"},
		{"https://pypi.example/x-1-py3-none-any.whl", "name: ../x", "no name for a Python package"},
		{"https://pypi.example/x-1-py3-none-any.whl", "name: x\nversion: ../1", "`version`"},
		{"https://pypi.example/a%2Fb.whl", "name: x", ""},
		{"git+https://git.example/x", "name: x", "names no commit"},
		{"git+https://git.example/x?rev=%zz#" + commit, "name: x", "the query of its location"},
	} {
		for _, version7 := range []bool{false, true} {
			pkg, err := onlyPython(t, version7, c.location, c.keys)
			if c.says == "" && err == nil {
				if strings.ContainsAny(pkg.FileName, "/") {
					t.Errorf("%s: file name %q", c.location, pkg.FileName)
				}
				continue
			}
			wantError(t, err, c.says, "line ")
		}
	}
}

func TestCheckPyPI(t *testing.T) {
	text := "version: 6\nenvironments:\n  default:\n    channels: []\n    packages:\n      linux-64:\n      - pypi: https://pypi.example/a.whl\n      - pypi: https://pypi.example/b.whl\npackages:\n" +
		"- pypi: https://pypi.example/a.whl\n  name: Foo_Bar\n  sha256: zz\n- pypi: https://pypi.example/b.whl\n  name: foo-bar\n"
	p := mustParse(t, text).Environments[0].Platforms[0]
	wantError(t, p.Check(), "Foo_Bar and foo-bar (lines 10 and 13) are one Python package twice", "the sha256 of Foo_Bar (line 10)")
}

package lockinfo_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/lockinfo"
	"github.com/hpcenv/hpcenv/envs/stack"
)

func sha(c string) string { return strings.Repeat(c, 64) }

func conda(name, version, build, digest string, size int64, depends ...string) *lockfile.CondaPackage {
	return &lockfile.CondaPackage{Name: name, Version: version, Build: build, SHA256: digest, Size: size, Depends: depends, Channel: "https://conda.example/main"}
}

func lock(digest string, x86, arm *lockfile.Platform) *lockfile.Lock {
	return &lockfile.Lock{Version: 6, Digest: digest, Environments: []*lockfile.Environment{{
		Name: "default", Channels: []string{"https://conda.example/main", "https://conda.example/legate/label/gex-experimental"},
		Platforms: []*lockfile.Platform{arm, x86}, Skipped: []string{"osx-arm64"},
	}}}
}

func TestDescribe(t *testing.T) {
	version := conda("cuda-version", "12.9", "h0", sha("c"), 21000)
	version.Constrains = []string{"__cuda >=12", "cudatoolkit 12.9"}
	x86 := &lockfile.Platform{Name: "linux-64", Subdir: "linux-64",
		Conda: []*lockfile.CondaPackage{
			version, conda("ucx", "1.19.0", "h1", sha("a"), 7000, "__glibc >=2.17,<3.0.a0", "libgcc >=13"),
			conda("numpy", "2.0", "py_0", "", 0, "__glibc >=2.17,<3.0.a0"), conda("legate", "25.3.2", "cuda12_py312_g1_0_gpu", sha("d"), 7000, "__cuda"),
		},
		PyPI: []*lockfile.PyPIPackage{
			{Name: "libucx_cu12", Version: "1.18.1", Kind: lockfile.PyPIWheel, SHA256: sha("b"), Size: 14000},
			{Name: "own", Kind: lockfile.PyPIDirectory, Location: "./own"},
			{Name: "built", Kind: lockfile.PyPISdist, SHA256: sha("f"), Location: "https://pypi.example/built-1.tar.gz", Line: 9, Size: 1},
		},
	}
	arm := &lockfile.Platform{Name: "linux-aarch64", Subdir: "linux-aarch64", VirtualPackages: []string{"__glibc=2.28"},
		Conda: []*lockfile.CondaPackage{conda("numpy", "2.1", "py_0", sha("e"), 7000)}}
	got := lockinfo.Describe(lock("d1", x86, arm), "pixi.lock 6", func(sha256 string) (int, bool) { return 40, sha256 == sha("a") })
	env := got.Environments[0]
	wantX86 := lockinfo.Platform{
		Name: "linux-64", Subdir: "linux-64", Conda: 4, PyPI: 3, Bytes: 49001, UnknownSizes: 1,
		Files: 40 + 4 + 2 + 3 + lockinfo.GuessFiles(0) + lockinfo.GuessFiles(1), Estimated: true,
		Requirements: []lockinfo.Requirement{
			{Spec: "__cuda", Packages: []string{"legate"}},
			{Spec: "__cuda >=12", If: true, Packages: []string{"cuda-version"}},
			{Spec: "__glibc >=2.17,<3.0.a0", Packages: []string{"numpy", "ucx"}},
		},
		Stack: []stack.Part{
			{Name: "UCX", Package: "libucx_cu12-1.18.1", Origin: "PyPI"},
			{Name: "UCX", Package: "ucx-1.19.0-h1", Origin: "https://conda.example/main"},
			{Name: "CUDA", Package: "cuda-version-12.9-h0", Origin: "https://conda.example/main"},
		},
	}
	if trees := env.Platforms[1].Trees; len(trees) != 1 || trees[0] != "own (./own)" {
		t.Errorf("source trees: %q", trees)
	}
	if not := env.Platforms[1].Unsupported; len(not) != 1 || !strings.Contains(not[0], "built (https://pypi.example/built-1.tar.gz, line 9) is a Python source archive") {
		t.Errorf("not installable: %q", not)
	}
	env.Platforms[1].Trees, env.Platforms[1].Unsupported = nil, nil
	warned := env.Platforms[1].Warnings
	env.Platforms[1].Warnings = nil
	if d := cmp.Diff(wantX86, env.Platforms[1]); d != "" {
		t.Error(d)
	}
	for _, part := range []string{"without verbs and rdmacm", "UCX is there twice", "have no sha256", `never matches them; next: write "*_gpu*"`} {
		if !slices.ContainsFunc(warned, func(w string) bool { return strings.Contains(w, part) }) {
			t.Errorf("no warning has %q: %q", part, warned)
		}
	}
	if len(warned) != 4 {
		t.Errorf("warnings: %q", warned)
	}
	if want := []lockinfo.Requirement{{Spec: "__glibc=2.28"}}; cmp.Diff(want, env.Platforms[0].Requirements) != "" {
		t.Errorf("aarch64: %+v", env.Platforms[0].Requirements)
	}
	wantEnv := []string{
		"numpy differs between platforms: 2.0 on linux-64; 2.1 on linux-aarch64",
		"channel https://conda.example/legate/label/gex-experimental is an old label that gets no new builds; next: use legate/label/gex",
	}
	if d := cmp.Diff(wantEnv, env.Warnings); d != "" {
		t.Error(d)
	}
}

func TestCompare(t *testing.T) {
	old := lock("d1", &lockfile.Platform{Name: "linux-64", Subdir: "linux-64", Conda: []*lockfile.CondaPackage{
		conda("numpy", "2.0", "0", sha("1"), 100), conda("gone", "1", "0", sha("2"), 100), conda("rebuilt", "1", "0", sha("3"), 100), conda("same", "1", "0", sha("4"), 100),
	}}, &lockfile.Platform{Name: "linux-aarch64", Subdir: "linux-aarch64"})
	next := lock("d2", &lockfile.Platform{Name: "linux-64", Subdir: "linux-64",
		Conda: []*lockfile.CondaPackage{
			conda("numpy", "2.1", "0", sha("5"), 1000), conda("rebuilt", "1", "0", sha("6"), 10), conda("same", "1", "0", sha("4"), 100), conda("moved", "1", "0", sha("2"), 100),
		},
		PyPI: []*lockfile.PyPIPackage{{Name: "Wheel.X", Version: "3", Kind: lockfile.PyPIWheel, SHA256: sha("7")}},
	}, &lockfile.Platform{Name: "linux-aarch64", Subdir: "linux-aarch64", Conda: []*lockfile.CondaPackage{conda("numpy", "2.1", "0", sha("5"), 1000)}})
	next.Environments = append(next.Environments, &lockfile.Environment{Name: "extra"})
	want := &lockinfo.Difference{
		Old: "d1", New: "d2", Added: []string{"extra"}, Fetch: 3, FetchBytes: 1010, UnknownSizes: 1,
		Changed: []lockinfo.EnvironmentDifference{
			{
				Environment: "default", Platform: "linux-64", Added: []string{"moved 1 0", "Wheel.X (PyPI) 3"}, Removed: []string{"gone 1 0"},
				Changed: []lockinfo.Change{{Name: "numpy", Old: "2.0 0", New: "2.1 0"}, {Name: "rebuilt", Old: "1 0 33333333", New: "1 0 66666666"}},
				Fetch:   3, FetchBytes: 1010, UnknownSizes: 1,
			},
			{Environment: "default", Platform: "linux-aarch64", Added: []string{"numpy 2.1 0"}, Fetch: 1, FetchBytes: 1000},
		},
	}
	if d := cmp.Diff(want, lockinfo.Compare(old, next)); d != "" {
		t.Error(d)
	}
	same := lockinfo.Compare(next, next)
	if len(same.Added)+len(same.Removed)+len(same.Changed)+same.Fetch != 0 {
		t.Errorf("a lock differs from itself: %+v", same)
	}
}

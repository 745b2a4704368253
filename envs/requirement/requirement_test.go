package requirement_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/envs/conda/matchspec"
	"github.com/hpcenv/hpcenv/envs/conda/version"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/requirement"
)

// node makes one of "NAME VERSION BUILD" texts.
func node(ancestors string, texts ...string) requirement.Node {
	n := requirement.Node{Virtuals: map[string]requirement.Virtual{}, Ancestors: strings.Fields(ancestors)}
	for _, text := range texts {
		f := append(strings.Fields(text), "", "")
		n.Virtuals[f[0]] = requirement.Virtual{Name: f[0], Version: f[1], Build: f[2]}
	}
	return n
}

func zen4() requirement.Node {
	n := node("zen4 zen3 zen2 zen x86_64_v4 x86_64_v3 x86_64_v2 x86_64", "__archspec 1 zen4", "__glibc 2.34 0", "__linux 5.14.0 0", "__unix 0 0", "__cuda 12.4 0")
	n.Driver = "550.54.15"
	return n
}

func TestCheck(t *testing.T) {
	plain := node("x86_64_v3 x86_64_v2 x86_64", "__archspec 1 x86_64_v3", "__glibc 2.17 0", "__linux 3.10 0", "__unix 0 0")
	assumed := node("", "__cuda", "__archspec")
	assumed.Assumed = true
	lying := node("", "__cuda none_ 0", "__glibc 2.x-y_z 0")
	for name, c := range map[string]struct {
		node   requirement.Node
		source requirement.Source
		specs  string // one a line
		want   requirement.State
	}{
		"it has them": {zen4(), requirement.Depends, "__cuda\n__cuda >=12\n__cuda  >=12.4\n__glibc >=2.17,<3.0.a0\n__cuda ==12.4\n__cuda=12\n__cuda 12.*\n__cuda !=11.8\n__cuda ~=12.1\n__cuda 11.8|>=12\n__linux >=4.18\n__unix\n__unix 0 0\n conda-forge::__glibc >=2.28\n__CUDA >=12", requirement.Met},
		"it has not":  {zen4(), requirement.Depends, "__cuda >=12.8\n__cuda >=13\n__glibc >=2.35\n__cuda ==12\n__cuda 11.*\n__cuda !=12.4\n__cuda ~=11.8\n__cuda 11.8|>=13\n__cuda_arch\n__cuda_arch >=9.0\n__win\n__osx\n__libc >= 32\n__unix 0 1", requirement.Unmet},
		// A microarchitecture has what its ancestors have.
		"an ancestor":      {zen4(), requirement.Depends, "__archspec\n__archspec 1 zen4\n__archspec 1 x86_64_v3\n__archspec 1 x86_64\n__archspec=*=zen*\n__archspec=1=zen2\n__archspec * *_v4\n__archspec >=1", requirement.Met},
		"no ancestor":      {zen4(), requirement.Depends, "__archspec 1 zen5\n__archspec 1 sapphirerapids\n__archspec 1 aarch64\n__archspec=*=neoverse*\n__archspec 2 zen4", requirement.Unmet},
		"a generic name":   {plain, requirement.Depends, "__archspec 1 x86_64_v2\n__archspec 1 x86_64_v3", requirement.Met},
		"above it":         {plain, requirement.Depends, "__archspec 1 x86_64_v4\n__archspec=*=zen*", requirement.Unmet},
		"not there":        {plain, requirement.Depends, "__cuda\n__cuda >=12", requirement.Unmet},
		"it binds not":     {plain, requirement.Constrains, "__cuda >=13\n__win\n__osx >=11", requirement.Met},
		"it binds":         {zen4(), requirement.Constrains, "__cuda >=13\n__glibc >=2.40\n__archspec 1 zen5", requirement.Unmet},
		"it binds and is":  {zen4(), requirement.Constrains, "__cuda >=12\n__archspec 1 zen3", requirement.Met},
		"a platform":       {zen4(), requirement.Platform, "__unix=0=0\n__linux=4.18\n__glibc=2.28\n__cuda=12\n__cuda=12.0=other\n__archspec=0=x86_64\n__archspec=0=zen3\n__glibc >=2.28", requirement.Met},
		"a newer platform": {zen4(), requirement.Platform, "__linux=6.0\n__glibc=2.40\n__cuda=13\n__archspec=0=m1\n__archspec=0=zen5\n__libc >= 32\n__cuda_arch=9.0", requirement.Unmet},
		// Of assumed nodes nothing is known but what Slurm says.
		"assumed":            {assumed, requirement.Depends, "__cuda >=13\n__archspec 1 zen4\n__glibc >=2.28\n__linux", requirement.Assumed},
		"assumed, not bound": {assumed, requirement.Constrains, "__glibc >=2.40\n__cuda >=12", requirement.Assumed},
		"no Linux":           {assumed, requirement.Depends, "__osx\n__win", requirement.Unmet},
		"a condition":        {plain, requirement.Depends, "__cuda >=12[when=\"__cuda\"]\n__cuda; if __win", requirement.Met},
		"a condition holds":  {plain, requirement.Depends, "__cuda >=12[when=\"__linux\"]\n__cuda >=12[when=\"python >=3.8\"]", requirement.Unmet},
		"nonsense":           {zen4(), requirement.Depends, "__cuda >>12\n__cuda [x\n__glibc >=2.17,", requirement.Unmet},
		"nonsense does bind": {plain, requirement.Constrains, "__cuda >>12", requirement.Unmet},
		"a lying node":       {lying, requirement.Depends, "__cuda >=12\n__glibc >=2.17", requirement.Unmet},
	} {
		t.Run(name, func(t *testing.T) {
			for spec := range strings.SplitSeq(c.specs, "\n") {
				r := requirement.Requirement{Spec: spec, Source: c.source, Packages: []string{"pkg 1"}}
				v := requirement.Check(r, c.node)
				if v.State != c.want || v.OK() != (c.want != requirement.Unmet) {
					t.Errorf("%q is %+v: %s", spec, v, requirement.Text(r, v, c.node))
				}
			}
		})
	}
}

func TestText(t *testing.T) {
	old := zen4()
	old.Virtuals["__cuda"], old.Driver = requirement.Virtual{Name: "__cuda", Version: "11.8", Build: "0"}, "520.61.05"
	cpu := node("zen2 x86_64", "__archspec 1 zen2", "__glibc 2.17 0", "__linux 3.10 0")
	blind := node("x86_64", "__archspec 1 x86_64")
	blind.Driver = "700.1"
	guess := node("", "__cuda")
	guess.Assumed = true
	for _, c := range []struct {
		node requirement.Node
		r    requirement.Requirement
		want string
	}{
		{old, requirement.Requirement{Spec: "__cuda >=12", Source: requirement.Constrains, Packages: []string{"cuda-version 12.9"}}, "has driver 520.61.05, needs >= 525.60.13 (cuda-version 12.9)"},
		{old, requirement.Requirement{Spec: "__cuda >=12,<13", Source: requirement.Constrains, Packages: []string{"a 1"}}, "has driver 520.61.05 (__cuda 11.8), needs __cuda >=12,<13 (a 1)"},
		{cpu, requirement.Requirement{Spec: "__cuda  >=12.8", Source: requirement.Depends, Packages: []string{"a 1", "b 1", "c 1", "d 1"}, More: 2}, "has no GPU driver (no __cuda), needs __cuda >=12.8 (a 1, b 1, c 1 and 3 more)"},
		{cpu, requirement.Requirement{Spec: "__glibc=2.28", Source: requirement.Platform}, "has glibc 2.17, needs __glibc >=2.28 (the lock's platform)"},
		{cpu, requirement.Requirement{Spec: "__linux >=4.18", Source: requirement.Manifest}, "has Linux 3.10, needs __linux >=4.18 (the manifest's system requirements)"},
		{cpu, requirement.Requirement{Spec: "__archspec 1 x86_64_v4", Source: requirement.Depends, Packages: []string{"_x86_64-microarch-level 4"}}, "has a zen2, needs __archspec 1 x86_64_v4 (_x86_64-microarch-level 4)"},
		{blind, requirement.Requirement{Spec: "__cuda >=12", Source: requirement.Manifest}, "has driver 700.1, of which it is not known what CUDA it serves (no __cuda), needs __cuda >=12 (the manifest's system requirements)"},
		{blind, requirement.Requirement{Spec: "__cuda_arch >=9.0", Source: requirement.Depends, Packages: []string{"a 1"}}, "has driver 700.1, and no GPU of a known compute capability (no __cuda_arch), needs __cuda_arch >=9.0 (a 1)"},
		{guess, requirement.Requirement{Spec: "__cuda >=12", Source: requirement.Depends, Packages: []string{"legate 25.3"}}, "is taken to have __cuda in a version that fits, as its own is not known, needs __cuda >=12 (legate 25.3)"},
		{guess, requirement.Requirement{Spec: "__glibc >=2.17", Source: requirement.Wheel, Packages: []string{"numpy 2"}}, "is taken to have __glibc, of which nothing is known, needs __glibc >=2.17 (numpy 2)"},
		{cpu, requirement.Requirement{Spec: "__glibc >=2.34", Source: requirement.Files, Packages: []string{"foo 1.2"}, File: "lib/libfoo.so"}, "has glibc 2.17, needs __glibc >=2.34 (lib/libfoo.so of foo 1.2)"},
		{cpu, requirement.Requirement{Spec: "__glibc >=2.34", Source: requirement.Files, File: "bin/made"}, "has glibc 2.17, needs __glibc >=2.34 (bin/made)"},
		{guess, requirement.Requirement{Spec: "__glibc >=2.34", Source: requirement.Files, File: "bin/made"}, "is taken to have __glibc, of which nothing is known, needs __glibc >=2.34 (bin/made)"},
		{cpu, requirement.Requirement{Spec: "__cuda >=12", Source: requirement.Constrains, Packages: []string{"ucx 1"}}, "has no __cuda, so that __cuda >=12 does not bind it (ucx 1)"},
	} {
		if got := requirement.Text(c.r, requirement.Check(c.r, c.node), c.node); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
	r := requirement.Requirement{Spec: "__cuda >>12", Source: requirement.Depends, Packages: []string{"odd 3.1"}}
	err := requirement.Readable(r)
	if !errors.Is(err, matchspec.ErrMatchSpec) {
		t.Errorf("no class: %v", err)
	}
	for _, part := range []string{"odd 3.1", `"__cuda >>12"`} {
		if !strings.Contains(requirement.Text(r, requirement.Check(r, old), old), part) {
			t.Errorf("the text lacks %s", part)
		}
	}
	if err := requirement.Readable(requirement.Requirement{Spec: "__glibc=2.x-y_z", Source: requirement.Platform}); !errors.Is(err, version.ErrVersion) || !strings.Contains(err.Error(), "the lock's platform") {
		t.Errorf("a platform's: %v", err)
	}
}

func pkg(name, version string, depends ...string) *lockfile.CondaPackage {
	return &lockfile.CondaPackage{Name: name, Version: version, Depends: depends}
}

func wheel(name, file string) *lockfile.PyPIPackage {
	return &lockfile.PyPIPackage{Name: name, Version: "1", Kind: lockfile.PyPIWheel, FileName: file}
}

func TestOf(t *testing.T) {
	cuda := pkg("cuda-version", "12.9")
	cuda.Constrains = []string{"__cuda >=12", "cudatoolkit 12.9|12.9.*"}
	p := &lockfile.Platform{
		Name: "linux-64", Subdir: "linux-64", VirtualPackages: []string{"__glibc=2.28", "__unix=0=0"},
		Conda: []*lockfile.CondaPackage{
			cuda, pkg("numpy", "2.1", "__glibc >=2.17,<3.0.a0", "python"), pkg("ucx", "1.18", "__glibc >=2.17,<3.0.a0"),
			pkg("legate", "25.3", "__cuda", "__glibc >=2.28"), pkg("fancy", "1", "conda-forge::__linux"), pkg("not__this", "1", "x__cuda"),
		},
		PyPI: []*lockfile.PyPIPackage{
			wheel("old", "old-1-cp311-cp311-manylinux_2_5_x86_64.manylinux1_x86_64.manylinux_2_17_x86_64.whl"), wheel("pure", "pure-1-py3-none-any.whl"),
			wheel("new", "new-1-cp311-cp311-manylinux_2_28_x86_64.musllinux_1_2_x86_64.whl"), wheel("own", "own-1-cp311-cp311-linux_x86_64.whl"),
			wheel("arm", "arm-1-cp311-cp311-manylinux2014_aarch64.whl"), wheel("mac", "mac-1-cp311-cp311-macosx_11_0_arm64.whl"),
			wheel("musl", "musl-1-cp311-cp311-musllinux_1_2_x86_64.whl"), wheel("win", "win-1-cp311-cp311-win_amd64.whl"),
			{Name: "tree", Kind: lockfile.PyPIDirectory},
		},
	}
	got := requirement.Of(p, map[string]string{"__cuda": "12.2", "__archspec": "x86_64_v3", "__glibc": "2.28", "__linux": ">=5"})
	var lines []string
	for _, r := range got {
		lines = append(lines, r.Spec+" / "+string(r.Source)+" / "+strings.Join(r.Packages, ", "))
	}
	want := []string{
		"__archspec 1 aarch64 / wheel / arm 1",
		"__archspec 1 x86_64_v3 / manifest / ",
		"__cuda / depends / legate 25.3",
		"__cuda >=12 / constrains / cuda-version 12.9",
		"__cuda >=12.2 / manifest / ",
		"__glibc >=2.17,<3.0.a0 / depends / numpy 2.1, ucx 1.18",
		"__glibc >=2.28 / depends / legate 25.3",
		"__glibc >=2.28 / wheel / new 1",
		"__glibc >=2.28 / manifest / ",
		"__glibc >=2.5 / wheel / old 1",
		"__glibc=2.28 / platform / ",
		"__linux >=5 / manifest / ",
		"__musl / wheel / musl 1",
		"__osx / wheel / mac 1",
		"__unix=0=0 / platform / ",
		"__win / wheel / win 1",
		"conda-forge::__linux / depends / fancy 1",
		"cuda-compute 12.9 / cuda / cuda-version 12.9",
		"cuda-driver 12.9 / cuda / cuda-version 12.9",
	}
	if d := cmp.Diff(want, lines); d != "" {
		t.Error(d)
	}
	// Wheels for another machine or system fit no node of the platform.
	for _, r := range got {
		bad := r.Source == requirement.Wheel && !strings.HasPrefix(r.Spec, "__glibc")
		if v := requirement.Check(r, zen4()); v.OK() == bad {
			t.Errorf("%+v: %+v", r, v)
		}
	}
}

func TestShort(t *testing.T) {
	r := requirement.Requirement{Packages: []string{"a 1", "b 1", "c 1"}}
	s := r.Short(2)
	if !slices.Equal(s.Packages, []string{"a 1", "b 1"}) || s.More != 1 || len(r.Packages) != 3 || s.By() != "a 1, b 1 and 1 more" {
		t.Errorf("%+v", s)
	}
	if again := s.Short(1); again.More != 2 || again.By() != "a 1 and 2 more" {
		t.Errorf("%+v", again)
	}
	if whole := r.Short(3); whole.More != 0 {
		t.Errorf("%+v", whole)
	}
}

// FuzzCheck: any spec has a verdict and a text, and what nobody can read is not
// met.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{"__cuda >=12", "__archspec=*=zen*", "__glibc=2.28", "__cuda[when='__linux']", "__libc >= 32", "x; if __cuda; if __cuda", "cuda-driver 12.9", "cuda-compute 13.0"} {
		f.Add(s, "12.4")
	}
	sources := []requirement.Source{requirement.Depends, requirement.Constrains, requirement.Platform, requirement.Manifest, requirement.Wheel, requirement.CUDA}
	f.Fuzz(func(t *testing.T, spec, cuda string) {
		n := node("zen4 x86_64", "__archspec 1 zen4")
		n.Virtuals["__cuda"] = requirement.Virtual{Name: "__cuda", Version: cuda}
		for _, source := range sources {
			r := requirement.Requirement{Spec: spec, Source: source}
			v := requirement.Check(r, n)
			if requirement.Text(r, v, n) == "" {
				t.Fatalf("%q as %s has no text", spec, source)
			}
			if err := requirement.Readable(r); (err != nil) && v.OK() {
				t.Fatalf("%q as %s: %v, and it is met", spec, source, err)
			}
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	r := requirement.Requirement{Spec: "__glibc >=2.17,<3.0.a0", Source: requirement.Depends}
	n := zen4()
	b.ReportAllocs()
	for b.Loop() {
		if !requirement.Check(r, n).OK() {
			b.Fatal("not met")
		}
	}
}

// What a node has is said once, and what is asked with all who ask it.
func TestTexts(t *testing.T) {
	n := zen4()
	n.Virtuals["__cuda"], n.Driver = requirement.Virtual{Name: "__cuda", Version: "11.8", Build: "0"}, "520.61.05"
	var list []requirement.Judged
	for _, r := range []requirement.Requirement{
		{Spec: "__cuda >=12", Source: requirement.Depends, Packages: []string{"cupy 13.4.1"}},
		{Spec: "__glibc >=99", Source: requirement.Depends, Packages: []string{"python 3.13.0"}},
		{Spec: "__cuda  >=12", Source: requirement.Constrains, Packages: []string{"cuda-version 12.9"}},
		{Spec: "__cuda >=12.2", Source: requirement.Manifest},
		{Spec: "__cuda >>12", Source: requirement.Depends, Packages: []string{"odd 3.1"}},
		{Spec: "__glibc >=99", Source: requirement.Files, Packages: []string{"python 3.13.0"}, File: "bin/python"},
	} {
		list = append(list, requirement.Judged{Requirement: r, Verdict: requirement.Check(r, n)})
	}
	got := requirement.Texts(list, n)
	if len(got) != 3 || !strings.Contains(got[0], "odd 3.1") ||
		got[1] != "has driver 520.61.05, needs >= 525.60.13 (cuda-version 12.9, cupy 13.4.1) and >= 535.54.03 (the manifest's system requirements)" ||
		got[2] != "has glibc "+n.Virtuals["__glibc"].Version+", needs __glibc >=99 (python 3.13.0) and __glibc >=99 (bin/python of python 3.13.0)" {
		t.Errorf("%q", got)
	}
	if got := requirement.Texts(list[:1], n); len(got) != 1 || got[0] != requirement.Text(list[0].Requirement, list[0].Verdict, n) {
		t.Errorf("one: %q", got)
	}
	if list[0].Requirement.Packages[0] != "cupy 13.4.1" || len(list[0].Requirement.Packages) != 1 {
		t.Errorf("the requirement was changed: %+v", list[0].Requirement)
	}
}

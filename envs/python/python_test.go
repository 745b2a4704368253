package python_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/envs/python/tag"
	"github.com/hpcenv/hpcenv/envs/python/version"
)

const sum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func offer(platform string, versions ...string) (all []python.Interpreter) {
	for _, v := range versions {
		v, free := strings.CutSuffix(v, "t")
		all = append(all, python.Interpreter{Version: v, Platform: platform, Kind: python.Standalone, FreeThreaded: free, URL: "https://files.example/" + v + platform, SHA256: sum})
	}
	return all
}

func TestChoose(t *testing.T) {
	both := []string{"linux-64", "linux-aarch64"}
	site := slices.Concat(offer("linux-64", "3.10.4", "3.11.9", "3.12.1", "3.12.10", "3.13.0t", "3.13.2", "3.14.0rc1"), offer("linux-aarch64", "3.11.9", "3.12.1", "3.12.10", "3.9.20"))
	for _, c := range []struct {
		name, pin, requires string
		platforms           []string
		want                string // "" = refused
	}{
		{"the newest", "", "", both[:1], "3.13.2"},
		{"the newest that both platforms have", "", "", both, "3.12.10"},
		{"the newest in requires-python", "", ">=3.9,<3.12", both, "3.11.9"},
		{"a series", "3.12\n", ">=3.9", both, "3.12.10"},
		{"exactly", "# pinned\n\n3.12.1\n3.11.9\n", "", both, "3.12.1"},
		{"in words", "cpython@3.11", "", both, "3.11.9"},
		{"uv's long form", "cpython-3.12.1-linux-x86_64-gnu", "", both, "3.12.1"},
		{"uv's long form, of another machine", "cpython-3.12.1-macos-aarch64-none", "", both, "3.12.1"},
		{"uv's long form, cut", "cpython-3.12-linux", "", both, "3.12.10"},
		{"with a platform alone", "3.11-windows", "", both, "3.11.9"},
		{"without a dot", "311", "", both, "3.11.9"},
		{"as wheels have it", "cp313t", "", both[:1], "3.13.0"},
		{"as Windows writes it", "\ufeff3.11\r\n3.12\r\n", "", both, "3.11.9"},
		{"clauses", ">=3.10,<3.12", "", both[:1], "3.11.9"},
		{"free-threaded", "3.13t", "", both[:1], "3.13.0"},
		{"free-threaded, in words", "3.13+freethreaded", "", both[:1], "3.13.0"},
		{"a pre-release", "3.14.0rc1", "", both[:1], "3.14.0rc1"},
		{"no pre-release by a series", "3.14", "", both[:1], ""},
		{"not offered", "3.8", "", both, ""},
		{"against requires-python", "3.11", ">=3.12", both, ""},
		{"not on both", "3.13", "", both, ""},
		{"not on this platform", "", "", []string{"linux-ppc64le"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			request, err := python.ParsePythonVersion(c.pin)
			if err != nil {
				t.Fatal(err)
			}
			requires, err := version.ParseSet(c.requires)
			if err != nil {
				t.Fatal(err)
			}
			got, err := python.Choose(site, c.platforms, request, requires)
			if c.want == "" {
				if !errors.Is(err, python.ErrInterpreter) || !strings.Contains(err.Error(), "3.12.10 linux-aarch64 standalone") || !strings.Contains(err.Error(), "next:") {
					t.Fatalf("%v, %v", got, err)
				}
				return
			}
			if err != nil || len(got) != len(c.platforms) {
				t.Fatalf("%v, %v", got, err)
			}
			for i, g := range got {
				if g.Version != c.want || g.Platform != c.platforms[i] {
					t.Errorf("%v, want %s on %s", g, c.want, c.platforms[i])
				}
			}
		})
	}
	if _, err := python.Choose(nil, both, python.Request{}, nil); !errors.Is(err, python.ErrInterpreter) || !strings.Contains(err.Error(), "none at all") {
		t.Errorf("%v", err)
	}
}

func TestPythonVersionRefused(t *testing.T) {
	for _, text := range []string{"pypy@3.10", "system", "/usr/bin/python3", "myenv", "3.x", "cpython", "3.12 3.13", "pypy-3.10-linux", "3.12-", "3.12-beos-x86_64", "linux"} {
		if _, err := python.ParsePythonVersion("\n" + text + "\n"); !errors.Is(err, python.ErrInterpreter) || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestInterpreterCheck(t *testing.T) {
	good := python.Interpreter{Version: "3.12.4", Platform: "linux-64", Kind: python.Conda, URL: "https://conda.example/python.conda", SHA256: sum,
		With: []python.Archive{{URL: "file:///srv/libffi.conda", SHA256: sum}}}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*python.Interpreter){
		"like 3.12.4":                    func(i *python.Interpreter) { i.Version = "3.12" },
		"only Linux":                     func(i *python.Interpreter) { i.Platform = "osx-64" },
		"kind: it is \"deb\"":            func(i *python.Interpreter) { i.Kind = "deb" },
		"with: only a conda":             func(i *python.Interpreter) { i.Kind = python.Standalone },
		"url: expected":                  func(i *python.Interpreter) { i.URL = "python.conda" },
		"sha256: expected 64":            func(i *python.Interpreter) { i.SHA256 = "12" },
		"with[0].sha256: expected 64":    func(i *python.Interpreter) { i.With = []python.Archive{{URL: i.URL}} },
		"interpreter lock began with 3.": func(i *python.Interpreter) { i.FreeThreaded = true },
	} {
		bad := good
		change(&bad)
		if err := bad.Check(); !errors.Is(err, python.ErrInterpreter) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
	moved := good
	moved.URL, moved.SHA256 = "https://other.example/python.conda", strings.ToUpper(sum)
	if moved.Identity() != good.Identity() {
		t.Error("where an interpreter is fetched from changes what it is")
	}
	for _, change := range []func(*python.Interpreter){
		func(i *python.Interpreter) { i.Version = "3.12.5" }, func(i *python.Interpreter) { i.Platform = "linux-aarch64" }, func(i *python.Interpreter) { i.FreeThreaded = true },
		func(i *python.Interpreter) { i.With = nil }, func(i *python.Interpreter) { i.SHA256 = strings.Repeat("0", 64) },
	} {
		other := good
		change(&other)
		if other.Identity() == good.Identity() {
			t.Errorf("%+v is taken for %+v", other, good)
		}
	}
}

func TestSelection(t *testing.T) {
	for text, want := range map[string]string{
		"": "default", "default": "default", "Foo_Bar": "package=foo-bar", "extra=GPU,extra=a,extra=gpu": "extra=a,extra=gpu",
		"no-dev,group=dev,group=docs": "no-dev,group=docs", "all-groups,group=docs": "all-groups", "all-extras,extra=x": "all-extras",
		"lib,extra=x,only-groups": "", "only-groups,group=test,no-default-groups": "only-groups,group=test", "package=a,package=b": "", "a,all-packages": "",
		"extra=": "", "extra=-x": "", "no-dev,lib": "", "color=red": "", ",": "", "all-packages": "all-packages",
	} {
		s, err := python.ParseSelection(text)
		if want == "" {
			if !errors.Is(err, python.ErrSelection) {
				t.Errorf("%q: %v, %v", text, s, err)
			}
			continue
		}
		if err != nil || s.String() != want {
			t.Errorf("%q: %q, %v; want %q", text, s, err, want)
		}
	}
}

// The canonical text reads as the selection that it was made of.
func FuzzSelection(f *testing.F) {
	f.Add("lib,extra=x,group=a,no-dev")
	f.Add("all-packages,all-extras,all-groups,no-default-groups")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := python.ParseSelection(text)
		if err != nil {
			if !errors.Is(err, python.ErrSelection) {
				t.Fatalf("%q: the error has no class: %v", text, err)
			}
			return
		}
		again, err := python.ParseSelection(s.String())
		if err != nil || again.String() != s.String() {
			t.Fatalf("%q prints as %q, which reads as %q (%v)", text, s, again, err)
		}
	})
}

// No text makes reading fail other than by its class.
func FuzzPythonVersion(f *testing.F) {
	f.Add("3.12\n")
	f.Add("# x\ncpython-3.13.1+freethreaded-linux-x86_64-gnu")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := python.ParsePythonVersion(text)
		if err != nil && !errors.Is(err, python.ErrInterpreter) {
			t.Fatalf("%q: the error has no class: %v", text, err)
		}
		if err == nil && (r.Text == "") != (r.Versions == nil) {
			t.Fatalf("%q: %+v", text, r)
		}
	})
}

func TestWhyNot(t *testing.T) {
	plain, err := python.NewTarget("linux-64", "3.13.1", false, tag.Glibc{Major: 2, Minor: 28})
	if err != nil {
		t.Fatal(err)
	}
	free, err := python.NewTarget("linux-64", "3.13.1", true, tag.Glibc{Major: 2, Minor: 28})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		target *python.Target
		file   string
		want   string
	}{
		{plain, "a-1-py3-none-any.whl", ""},
		{plain, "a-1-cp313-cp313-manylinux_2_31_x86_64.manylinux_2_34_x86_64.whl", "needs glibc 2.31"},
		{plain, "a-1-cp313-cp313-manylinux_2_17_aarch64.whl", "is for manylinux_2_17_aarch64"},
		{plain, "a-1-cp313-cp313-musllinux_1_2_x86_64.whl", "is for musllinux_1_2_x86_64"},
		{plain, "a-1-cp313-cp313t-linux_x86_64.whl", "is for Python cp313 (cp313t)"},
		{plain, "a-1-py2-none-any.whl", "is for Python py2"},
		{free, "a-1-cp313-cp313-linux_x86_64.whl", "is for Python cp313, which has the global interpreter lock"},
		{free, "a-1-cp38-abi3-linux_x86_64.whl", "is for Python abi3, which has the global interpreter lock"},
	} {
		w, err := tag.ParseWheelName(c.file)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.target.WhyNot(w); got != c.want {
			t.Errorf("%s on %s: %q, want %q", c.file, c.target, got, c.want)
		}
	}
}

func TestTargetRefused(t *testing.T) {
	for _, c := range [][2]string{{"osx-64", "3.12.4"}, {"linux-64", "3.12"}, {"linux-64", "2.7.18"}, {"linux-64", "x"}, {"linux-64", "3.12.4.post1"}} {
		if _, err := python.NewTarget(c[0], c[1], false, tag.Glibc{Major: 2, Minor: 28}); !errors.Is(err, python.ErrTarget) {
			t.Errorf("%v: %v", c, err)
		}
	}
}

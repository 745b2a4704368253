package bundle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/pyenv"
	"github.com/hpcenv/hpcenv/envs/python"
)

// site is a list of Pythons and a uv.lock, with all that they name.
type site struct {
	archives map[string][]byte
	lock     []byte
}

// file notes a file and returns its digest.
func (s *site) file(content string) string {
	digest := sum([]byte(content))
	s.archives[digest] = []byte(content)
	return digest
}

func newSite() *site {
	s := &site{archives: map[string][]byte{}}
	wheel := func(tags string) string {
		name := "w-1-" + tags + ".whl"
		return fmt.Sprintf("    { url = \"https://files.example/%s\", hash = \"sha256:%s\" },\n", name, s.file(name))
	}
	s.lock = []byte("version = 1\nrequires-python = \">=3.11\"\n\n[[package]]\nname = \"app\"\nversion = \"1\"\nsource = { virtual = \".\" }\ndependencies = [{ name = \"w\" }]\n\n" +
		"[[package]]\nname = \"w\"\nversion = \"1\"\nsource = { registry = \"https://pypi.example/simple\" }\nwheels = [\n" +
		wheel("cp312-cp312-manylinux_2_17_x86_64") + wheel("cp312-cp312-manylinux_2_28_x86_64") + wheel("cp312-cp312-manylinux_2_17_aarch64") + "]\n")
	return s
}

func (s *site) conda(version, subdir, build string) python.Interpreter {
	name := "python-" + version + "-" + build + ".conda"
	return python.Interpreter{Version: version, Platform: subdir, Kind: python.Conda, URL: "https://conda.example/" + subdir + "/" + name, SHA256: s.file(subdir + name)}
}

func (s *site) alone(version, subdir string) python.Interpreter {
	name := "cpython-" + version + "-" + subdir + ".tar.zst"
	return python.Interpreter{Version: version, Platform: subdir, Kind: python.Standalone, URL: "https://files.example/" + name, SHA256: s.file(name)}
}

var bothPlatforms = []string{"linux-aarch64", "linux-64"}

func offered(glibc string, all ...python.Interpreter) *Pythons {
	return &Pythons{Offer: &pyenv.Offer{Glibc: glibc, Interpreters: all}, Platforms: bothPlatforms}
}

// write makes a bundle.
func (s *site) write(t testing.TB, p *Pythons, platforms []string) (*Plan, []byte) {
	t.Helper()
	plan, err := NewPlan(Project{LockName: "uv.lock", Lock: s.lock}, p, nil, false, platforms)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = plan.Write(context.Background(), &out, func(_ context.Context, src cache.Source) (io.ReadCloser, int64, error) {
		data := s.archives[src.SHA256]
		return io.NopCloser(bytes.NewReader(data)), int64(len(data)), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return plan, out.Bytes()
}

// TestPythons: what a bundle of a lock without a Python holds, and who can make it.
func TestPythons(t *testing.T) {
	s := newSite()
	for name, c := range map[string]struct {
		first, second python.Interpreter
		platforms     []string
		foreign       bool
		members       []string // of the first content and others, without digests
		needs         string
	}{
		"conda": {s.conda("3.12.4", "linux-64", "0"), s.conda("3.12.4", "linux-aarch64", "0"), nil, true,
			[]string{"channel/linux-64/python-3.12.4-0.conda", "pypi/w-1-cp312-cp312-manylinux_2_28_x86_64.whl"}, "python=3.12.4=0"},
		"archives": {s.alone("3.12.4", "linux-64"), s.alone("3.12.4", "linux-aarch64"), nil, false,
			[]string{"pypi/w-1-cp312-cp312-manylinux_2_28_x86_64.whl"}, "python=3.12.4\n"},
		"one of each": {s.conda("3.12.4", "linux-64", "0"), s.alone("3.12.4", "linux-aarch64"), []string{"linux-aarch64"}, false,
			[]string{"pypi/w-1-cp312-cp312-manylinux_2_17_aarch64.whl"}, "python=3.12.4\n"},
	} {
		older := s.conda("3.11.1", "linux-64", "0")
		plan, data := s.write(t, offered("", older, c.first, c.second), c.platforms)
		if _, again := s.write(t, offered(pyenv.DefaultGlibc, older, c.first, c.second), c.platforms); !bytes.Equal(data, again) {
			t.Errorf("%s: other bytes", name)
		}
		got := members(t, data)
		if plan.Foreign != c.foreign {
			t.Errorf("%s: foreign is %v", name, plan.Foreign)
		}
		for _, m := range c.members {
			if _, ok := got[m]; !ok {
				t.Errorf("%s: no %s in %v", name, m, slices.Sorted(maps.Keys(got)))
			}
		}
		if !strings.Contains(got[environmentName], "  - "+c.needs) {
			t.Errorf("%s: %s", name, got[environmentName])
		}
		if list := got[pythonsName]; strings.Contains(list, "3.11.1") || !strings.Contains(list, c.second.SHA256) || !strings.Contains(list, "glibc: \"2.28\"") {
			t.Errorf("%s: %s", name, list)
		}
		// All archives come out of it again: also the Python that compiles for another
		// platform.
		b, err := openBytes(data)
		if err != nil {
			t.Fatal(err)
		}
		for _, src := range plan.Sources() {
			f, _, err := b.Archive(src.SHA256)
			if err != nil || f == nil {
				t.Fatalf("%s: %s: %v", name, src.Name, err)
			}
			if have, err := io.ReadAll(f); err != nil || !bytes.Equal(have, s.archives[src.SHA256]) {
				t.Errorf("%s: %s: %v", name, src.Name, err)
			}
		}
		if c.platforms != nil && len(plan.Sources()) != 3 { // wheel, its Python, the compiler
			t.Errorf("%s: %v", name, plan.Sources())
		}
		if err := b.Fits(offered("", older, c.first, c.second)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFits: where a site would make something else, that is said.
func TestFits(t *testing.T) {
	s := newSite()
	x86, arm := s.conda("3.12.4", "linux-64", "0"), s.alone("3.12.4", "linux-aarch64")
	_, data := s.write(t, offered("", x86, arm), nil)
	b, err := openBytes(data)
	if err != nil {
		t.Fatal(err)
	}
	newer := s.conda("3.12.5", "linux-64", "0")
	for name, c := range map[string]struct {
		site *Pythons
		says string
	}{
		"none":            {offered(""), "gets none: no Python for this lock: the lock names no Python, and this site offers none"},
		"not for one":     {offered("", x86), `environment "default" for linux-aarch64 was bundled with Python 3.12.4 linux-aarch64 standalone`},
		"another build":   {offered("", s.conda("3.12.4", "linux-64", "1"), arm), "and here it gets 3.12.4 linux-64 conda"},
		"another kind":    {offered("", s.alone("3.12.4", "linux-64"), arm), "and here it gets 3.12.4 linux-64 standalone"},
		"another version": {offered("", newer, s.alone("3.12.5", "linux-aarch64"), x86, arm), "and here it gets 3.12.5 linux-64 conda"},
		"glibc":           {offered("2.17", x86, arm), "with wheels for glibc 2.28, and here wheels for glibc 2.17"},
		"one platform":    {&Pythons{Offer: &pyenv.Offer{Interpreters: []python.Interpreter{x86, arm}}, Platforms: []string{"linux-64"}}, "no environments are made for linux-aarch64"},
	} {
		var other *PythonError
		if err := b.Fits(c.site); !errors.As(err, &other) || !errors.Is(err, python.ErrInterpreter) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A newer one that is for one platform only is not taken, here or there.
	if err := b.Fits(offered("", newer, x86, arm)); err != nil {
		t.Error(err)
	}
}

// TestPythonsRefused: what is missing or was changed.
func TestPythonsRefused(t *testing.T) {
	s := newSite()
	if _, err := NewPlan(Project{Lock: s.lock}, nil, nil, false, nil); !errors.Is(err, python.ErrInterpreter) {
		t.Error(err)
	}
	p := offered("", s.conda("3.12.4", "linux-64", "0"))
	plan, err := NewPlan(Project{Lock: s.lock}, p, nil, false, []string{"linux-64", "linux-aarch64"})
	if err != nil || len(plan.Skipped) != 1 || !strings.Contains(plan.Skipped[0], "not for linux-aarch64: ") {
		t.Errorf("%+v, %v", plan, err)
	}
	var missing *lockfile.MissingPlatformError
	if _, err := NewPlan(Project{Lock: s.lock}, p, nil, false, []string{"linux-aarch64"}); !errors.As(err, &missing) || !strings.Contains(err.Error(), "this site offers: 3.12.4 linux-64 conda") {
		t.Error(err)
	}
	_, data := s.write(t, p, nil)
	for name, c := range map[string]struct {
		spoil func(map[string]string)
		says  string
	}{
		"no list":      {func(m map[string]string) { delete(m, pythonsName) }, pythonsName},
		"another list": {func(m map[string]string) { m[pythonsName] += "#\n" }, "has sha256"},
		"elsewhere": {func(m map[string]string) {
			m[ownName] = strings.ReplaceAll(m[ownName], pythonsName, "hpcenv/project/uv.lock")
		}, "which is not " + pythonsName},
		"no list named": {func(m map[string]string) { m[ownName] = strings.Replace(m[ownName], `"python"`, `"pythons"`, 1) }, "names no Python"},
		"no list at all": {func(m map[string]string) {
			m[pythonsName] = "[]"
			m[ownName] = strings.ReplaceAll(m[ownName], sum([]byte(members(t, data)[pythonsName])), sum([]byte("[]")))
		}, pythonsName},
	} {
		m := members(t, data)
		c.spoil(m)
		_, err := Open(writeDir(t, m))
		if !errors.Is(err, ErrBundle) && !errors.Is(err, python.ErrInterpreter) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

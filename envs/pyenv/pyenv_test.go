package pyenv_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/lockfile/target"
	"github.com/hpcenv/hpcenv/envs/pyenv"
	"github.com/hpcenv/hpcenv/envs/python"
)

const sum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

const lock = `version = 1
requires-python = ">=3.11"

[[package]]
name = "app"
version = "1"
source = { editable = "." }
dependencies = [{ name = "fast" }]
optional-dependencies = { intel = [{ name = "intel" }], built = [{ name = "built" }] }

[[package]]
name = "fast"
version = "1"
source = { registry = "https://pypi.example/simple" }
wheels = [
    { url = "https://files.example/fast-1-cp312-cp312-manylinux_2_17_x86_64.whl", hash = "sha256:` + sum + `" },
    { url = "https://files.example/fast-1-cp312-cp312-manylinux_2_17_aarch64.whl", hash = "sha256:` + sum + `" },
]

[[package]]
name = "intel"
version = "1"
source = { registry = "https://pypi.example/simple" }
wheels = [{ url = "https://files.example/intel-1-py3-none-manylinux_2_17_x86_64.whl", hash = "sha256:` + sum + `" }]

[[package]]
name = "built"
version = "1"
source = { registry = "https://pypi.example/simple" }
sdist = { url = "https://files.example/built-1.tar.gz", hash = "sha256:` + sum + `" }
wheels = [{ url = "https://files.example/built-1-py3-none-manylinux_2_17_aarch64.whl", hash = "sha256:` + sum + `" }]
`

// entry is a Python of the list, as a file has it.
func entry(version, platform string) string {
	return fmt.Sprintf("- {version: %s, platform: %s, kind: conda, url: 'https://conda.example/%s/python-%s-0.conda', sha256: %s, with: [{url: 'https://conda.example/noarch/tzdata-1-0.conda', sha256: %s}]}\n",
		version, platform, platform, version, sum, strings.Repeat("1", 63)+"a")
}

// alone is a Python that comes as one archive.
func alone(platform, file string) string {
	return fmt.Sprintf("- {version: 3.12.4, platform: %s, kind: standalone, url: 'https://files.example/%s', sha256: %s}\n", platform, file, strings.ToUpper(sum))
}

func offer(t *testing.T, entries ...string) *pyenv.Offer {
	t.Helper()
	o, err := pyenv.Parse("list.yaml", []byte("interpreters:\n"+strings.Join(entries, "")))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

var both = []string{"linux-64", "linux-aarch64"}

func TestMake(t *testing.T) {
	source, err := target.Parse([]byte(lock), nil)
	if err != nil {
		t.Fatal(err)
	}
	x313, x312, a312, a311 := entry("3.13.1", both[0]), entry("3.12.4", both[0]), entry("3.12.4", both[1]), entry("3.11.1", both[1])
	for name, c := range map[string]struct {
		wish    string
		offer   []string
		python  string
		has     []string
		lacking string
		class   error
		says    string
	}{
		"both":                     {"default", []string{x312, a312}, "3.12.4", both, "", nil, ""},
		"newest for both":          {"default", []string{x313, x312, a311, a312}, "3.12.4", both, "", nil, ""},
		"one has no Python":        {"default", []string{x312}, "3.12.4", both[:1], "this site offers: 3.12.4 linux-64 conda", nil, ""},
		"one has no wheel":         {"extra=intel", []string{x312, a312}, "3.12.4", both[:1], "intel", nil, ""},
		"one would be built":       {"extra=built", []string{x312, a312}, "3.12.4", both[1:], "", nil, ""},
		"asked for":                {"python=3.12", []string{x313, x312}, "3.12.4", both[:1], "asked for Python 3.12", nil, ""},
		"none offered":             {"default", nil, "", nil, "", python.ErrInterpreter, "interpreters:\n  - version"},
		"none fits":                {"python=3.10", []string{x312, a312}, "", nil, "", python.ErrInterpreter, "3.12.4 linux-64 conda, 3.12.4 linux-aarch64 conda"},
		"no version for both":      {"default", []string{x313, a312}, "", nil, "", python.ErrInterpreter, "one version must be there for every platform"},
		"no extra":                 {"extra=lost", []string{x312, a312}, "", nil, "", python.ErrSelection, "it has built, intel"},
		"other Pythons would do":   {"default", []string{x313, x312}, "", nil, "", lockfile.ErrLock, "--python 3.12"},
		"all would be built, told": {"extra=built", []string{x312}, "", nil, "", lockfile.ErrLock, "built-1.tar.gz"},
		// A Python is named only if it helps.
		"no Python would do": {"extra=built", []string{x313, x312}, "", nil, "", lockfile.ErrLock, "fast-1-cp312-cp312"},
	} {
		o := &pyenv.Offer{}
		if c.offer != nil {
			o = offer(t, c.offer...)
		}
		wish, err := python.ParseWish(c.wish)
		if err != nil {
			t.Fatal(err)
		}
		made, err := pyenv.Make(source, wish, both, o)
		if c.class != nil {
			if hint := strings.Contains(fmt.Sprint(err), "--python"); hint != (name == "other Pythons would do" || c.class == python.ErrInterpreter && c.offer != nil) {
				t.Errorf("%s: another Python is named: %v: %v", name, hint, err)
			}
			if !errors.Is(err, c.class) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		env := made.Lock.Environments[0]
		if env.Name != c.wish || !slices.Equal(env.Subdirs(), c.has) || len(made.Lacking)+len(c.has) != 2 {
			t.Errorf("%s: %s for %v, lacking %v", name, env.Name, env.Subdirs(), made.Lacking)
		}
		for _, p := range env.Platforms {
			if len(p.Conda) != 2 || p.Conda[0].Name != "python" || p.Conda[0].Version != c.python || p.Conda[0].Subdir != p.Subdir || p.Conda[0].SHA256 != sum || p.Validate() != nil {
				t.Errorf("%s, %s: %+v, %v", name, p.Subdir, p.Conda, p.Validate())
			}
		}
		for _, why := range made.Lacking {
			if !strings.Contains(why, c.lacking) || strings.Contains(why, "\n") {
				t.Errorf("%s: lacking %q", name, why)
			}
		}
		// What was taken makes the same again.
		again, err := pyenv.Make(source, wish, both, made.Offer)
		if err != nil || !slices.Equal(again.Lock.Environments[0].Subdirs(), c.has) {
			t.Errorf("%s: again %+v, %v", name, again, err)
		}
	}
}

// TestStandalone: kinds may differ between the platforms of one environment.
func TestStandalone(t *testing.T) {
	source, err := target.Parse([]byte(lock), nil)
	if err != nil {
		t.Fatal(err)
	}
	made, err := pyenv.Make(source, python.Wish{}, both, offer(t, alone(both[0], "cpython-3.12.4%2B20240101-x86_64-unknown-linux-gnu-install_only.tar.gz"), entry("3.12.4", both[1])))
	if err != nil || len(made.Lacking) > 0 {
		t.Fatalf("%+v, %v", made, err)
	}
	platforms := made.Lock.Environments[0].Platforms
	want := lockfile.StandalonePython{
		Version: "3.12.4", Subdir: "linux-64", SHA256: sum,
		URL:      "https://files.example/cpython-3.12.4%2B20240101-x86_64-unknown-linux-gnu-install_only.tar.gz",
		FileName: "cpython-3.12.4+20240101-x86_64-unknown-linux-gnu-install_only.tar.gz",
	}
	if p := platforms[0]; p.Python == nil || *p.Python != want || p.Conda != nil || len(p.PyPI) != 2 || p.Validate() != nil {
		t.Errorf("%+v, %v", p, p.Validate())
	}
	if p := platforms[1]; p.Python != nil || len(p.Conda) != 2 || p.Validate() != nil {
		t.Errorf("%+v, %v", p, p.Validate())
	}
	made, err = pyenv.Make(source, python.Wish{}, both[1:], offer(t, strings.Replace(alone(both[1], "c.tar.zst"), "https://files.example", "file:///srv", 1)))
	if err != nil || made.Lock.Environments[0].Platforms[0].Python == nil || !made.Lock.Environments[0].Platforms[0].Python.Local {
		t.Errorf("%+v, %v", made, err)
	}
	// Two Pythons, or one for another platform, are none.
	p := *platforms[0]
	p.Conda = []*lockfile.CondaPackage{{Name: "python", Version: "3.12.4", Subdir: "linux-64", SHA256: sum}}
	if err := p.Validate(); !errors.Is(err, lockfile.ErrLock) || !strings.Contains(err.Error(), "two Pythons") {
		t.Error(err)
	}
	p = *platforms[0]
	p.Subdir = "linux-aarch64"
	if err := p.Validate(); !errors.Is(err, lockfile.ErrLock) || !strings.Contains(err.Error(), "built for linux-64") {
		t.Error(err)
	}
}

func TestOffersAreRefused(t *testing.T) {
	good := entry("3.12.4", "linux-64")
	for name, c := range map[string]struct{ text, says string }{
		"not YAML":        {"interpreters: [", "list.yaml"},
		"unknown key":     {"interpreter: []\n", "interpreter"},
		"unknown field":   {"interpreters:\n" + strings.Replace(good, "kind:", "knid:", 1), "knid"},
		"no version":      {"interpreters:\n" + strings.Replace(good, "version: 3.12.4", "version: '3.12'", 1), "entry 1"},
		"other package":   {"interpreters:\n" + strings.Replace(good, "python-3.12.4-0", "perl-3.12.4-0", 1), "expected the conda package python"},
		"other platform":  {"interpreters:\n" + strings.Replace(good, "example/linux-64", "example/linux-aarch64", 1), "linux-aarch64"},
		"twice":           {"interpreters:\n" + strings.Replace(good, "noarch/tzdata-1-0", "linux-64/python-3.12.4-1", 1), "twice"},
		"with a password": {"interpreters:\n" + strings.Replace(good, "https://conda", "https://u:hunter2@conda", 1), "credential"},
		"glibc":           {"glibc: musl\ninterpreters:\n" + good, "glibc"},
		"no archive":      {"interpreters:\n" + alone("linux-64", "c.zip"), "install_only"},
		"odd name":        {"interpreters:\n" + alone("linux-64", "c%0a.tar.gz"), "cannot be called"},
		"its password":    {"interpreters:\n" + strings.Replace(alone("linux-64", "c.tar.gz"), "https://", "https://u:hunter2@", 1), "credential"},
		"with packages":   {"interpreters:\n" + strings.Replace(alone("linux-64", "c.tar.gz"), "}", ", with: [{url: 'https://x.example/y', sha256: "+sum+"}]}", 1), "only a conda interpreter"},
	} {
		_, err := pyenv.Parse("list.yaml", []byte(c.text))
		if !errors.Is(err, python.ErrInterpreter) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
	a, b := offer(t, good), offer(t, entry("3.12.5", "linux-64"))
	if a.Digest() == b.Digest() || a.Digest() != offer(t, good).Digest() {
		t.Error("digests do not tell offers apart")
	}
}

// FuzzOffer: whatever a list holds, it is read or refused with the class of its
// errors, and what was read makes an environment or is refused so.
func FuzzOffer(f *testing.F) {
	for _, s := range []string{
		"interpreters:\n" + entry("3.12.4", "linux-64"), "glibc: '2.34'\ninterpreters:\n" + entry("3.13.1", "linux-aarch64"), "interpreters:\n" + alone("linux-64", "c.tar.gz"), "glibc: 2.28\n", "interpreters: [{}]", "[", "interpreters:\n- with: [{url: x}]\n",
	} {
		f.Add(s)
	}
	source, err := target.Parse([]byte(lock), nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, err := pyenv.Parse("list.yaml", []byte(text))
		if err == nil {
			_, err = pyenv.Make(source, python.Wish{}, both, o)
			if errors.Is(err, lockfile.ErrLock) {
				err = nil
			}
		}
		if err != nil && !errors.Is(err, python.ErrInterpreter) {
			t.Fatalf("%q: an error of no class: %v", text, err)
		}
	})
}

package satisfy_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hpcenv/hpcenv/envs/satisfy"
	"github.com/hpcenv/hpcenv/envs/tomltree"
	"github.com/hpcenv/hpcenv/internal/peer"
	"github.com/hpcenv/hpcenv/internal/testdata"
)

// uv asks `uv lock --check` without a network.
type uv struct{ program, python, home string }

func newUV(t *testing.T) *uv {
	t.Helper()
	python := peer.Python(t)
	u := &uv{program: filepath.Join(filepath.Dir(python), "uv"), python: python, home: t.TempDir()}
	if other := os.Getenv("HPCENV_UV_PYTHON"); other != "" {
		u.python = other
	}
	return u
}

// verdict of uv on a project.
type verdict int

const (
	refused   verdict = iota // the manifest is none, or wants what is not here
	satisfied                // the lock is as uv would write it
	stale                    // uv would resolve anew
)

var whyResolve = regexp.MustCompile(`(?s)((?:Resolving despite|Ignoring) existing lockfile.{0,300})`)

var registries = regexp.MustCompile(`registry = "(http[^"]*)"`)

func (u *uv) check(t *testing.T, dir string) (verdict, string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "uv.lock"))
	if err != nil {
		t.Fatal(err)
	}
	// The index of most packages is the one that uv was told of.
	index, counts := "https://pypi.example/simple", map[string]int{}
	for _, m := range registries.FindAllStringSubmatch(string(data), -1) {
		if counts[m[1]]++; counts[m[1]] > counts[index] {
			index = m[1]
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, u.program, "lock", "--check", "--offline", "-v", "--no-python-downloads", "--python", u.python)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + u.home, "UV_CACHE_DIR=" + filepath.Join(u.home, "cache"), "UV_DEFAULT_INDEX=" + index, "NO_COLOR=1"}
	out, err := cmd.CombinedOutput()
	switch why := whyResolve.FindString(string(out)); {
	case err == nil:
		return satisfied, ""
	case why != "":
		return stale, why
	}
	return refused, string(out[max(0, len(out)-600):])
}

// uvProjects copies every project with a uv.lock below a directory to one of its own.
func uvProjects(t *testing.T, base string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(base, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Name() != "uv.lock" {
			return err
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), "pyproject.toml")); err != nil {
			return nil
		}
		// What lies around it may be used by path.
		name := strings.Trim(strings.TrimPrefix(filepath.Dir(path), base), "/")
		repository, inside, _ := strings.Cut(name, "/")
		to := t.TempDir()
		if err := os.CopyFS(to, os.DirFS(filepath.Join(base, repository))); err != nil {
			return err
		}
		found["/"+name] = filepath.Join(to, inside)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// invented makes manifests for the locks of the shared data.
func inventedUV(t *testing.T) map[string]string {
	t.Helper()
	base := filepath.Join(testdata.Shared(t), "data", "locks")
	found := map[string]string{}
	err := filepath.WalkDir(base, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Name() != "uv.lock" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		// Its Python need not be here; the lock is as good with an older one.
		data = regexp.MustCompile(`(?m)^requires-python = .*$`).ReplaceAll(data, []byte(`requires-python = ">=3.8"`))
		root, err := tomltree.Parse(data)
		if err != nil {
			return err
		}
		dir := t.TempDir()
		write(t, dir, "uv.lock", string(data))
		write(t, dir, "pyproject.toml", manifestOf(root))
		found[strings.TrimPrefix(filepath.Dir(path), base)] = dir
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 3 {
		t.Errorf("only %d locks", len(found))
	}
	return found
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// manifestOf is a manifest with what a lock of one project recorded.
func manifestOf(lock *tomltree.Value) string {
	var b strings.Builder
	list := func(key string, v *tomltree.Value) {
		fmt.Fprintf(&b, "%s = [\n", key)
		if v != nil {
			for _, item := range v.Items {
				text := item.Get("name").Text
				if extras := item.Get("extras"); extras != nil {
					var names []string
					for _, e := range extras.Items {
						names = append(names, e.Text)
					}
					text += "[" + strings.Join(names, ",") + "]"
				}
				if s := item.Get("specifier"); s != nil {
					text += s.Text
				}
				if m := item.Get("marker"); m != nil {
					text += " ; " + m.Text
				}
				fmt.Fprintf(&b, "    %q,\n", text)
			}
		}
		b.WriteString("]\n")
	}
	for _, p := range lock.Get("package").Items {
		source := p.Get("source")
		if source.Get("editable") == nil && source.Get("virtual") == nil {
			continue
		}
		fmt.Fprintf(&b, "[project]\nname = %q\nversion = %q\nrequires-python = \">=3.8\"\n", p.Get("name").Text, p.Get("version").Text)
		list("dependencies", p.Get("metadata", "requires-dist"))
		b.WriteString("[dependency-groups]\n")
		if groups := p.Get("metadata", "requires-dev"); groups != nil {
			for _, e := range groups.Entries {
				list(e.Key, e.Value)
			}
		}
		if source.Get("editable") != nil {
			b.WriteString("[build-system]\nrequires = [\"hatchling\"]\nbuild-backend = \"hatchling.build\"\n")
		}
	}
	b.WriteString("[tool.uv]\n")
	list("build-constraint-dependencies", lock.Get("manifest", "build-constraints"))
	if lock.Get("options", "exclude-newer-span") != nil {
		b.WriteString("exclude-newer = \"P7D\"\n")
	}
	return b.String()
}

var (
	dependencyLine = regexp.MustCompile(`(?m)^(\s*)["']([A-Za-z0-9._-]+)(\[[^\]"']*\])?([^"'\n]*)["'],?(\s*#.*)?$`)
	listBegin      = regexp.MustCompile(`(?m)^[A-Za-z0-9_-]+ = \[$`)
	keyValue       = func(key string) *regexp.Regexp { return regexp.MustCompile(`(?m)^` + key + ` = .*$`) }
)

// uvMutations change the text of a manifest; the same text = it does not apply.
var uvMutations = map[string]func(r *rand.Rand, text string) string{
	"bound": func(r *rand.Rand, text string) string {
		return oneOf(r, text, dependencyLine, `$1"$2$3>=0.0.1",`)
	},
	"same":      func(r *rand.Rand, text string) string { return oneOf(r, text, dependencyLine, `$1"$2 $3 $4 ",`) },
	"extra":     func(r *rand.Rand, text string) string { return oneOf(r, text, dependencyLine, `$1"$2[nosuch]$4",`) },
	"taken out": func(r *rand.Rand, text string) string { return oneOf(r, text, dependencyLine, ``) },
	"twice":     func(r *rand.Rand, text string) string { return oneOf(r, text, dependencyLine, "$0\n$0") },
	"other":     func(r *rand.Rand, text string) string { return oneOf(r, text, dependencyLine, `$1"nosuch",`) },
	"condition": func(r *rand.Rand, text string) string {
		return oneOf(r, text, dependencyLine, `$1"$2$3 ; python_version < '3.12' and sys_platform == 'linux'",`)
	},
	"idle condition": func(r *rand.Rand, text string) string {
		return oneOf(r, text, regexp.MustCompile(`(?m)^(\s*)"([A-Za-z0-9._-]+)(>=[0-9.]+)",$`), `$1"$2$3 ; python_version >= '3.0'",`)
	},
	"added":   func(r *rand.Rand, text string) string { return oneOf(r, text, listBegin, "$0\n    \"nosuch>=1\",") },
	"version": func(r *rand.Rand, text string) string { return oneOf(r, text, keyValue("version"), `version = "99.1"`) },
	"python": func(r *rand.Rand, text string) string {
		return oneOf(r, text, keyValue("requires-python"), `requires-python = ">=3.9,<3.15"`)
	},
	"same python": func(r *rand.Rand, text string) string {
		return oneOf(r, text, regexp.MustCompile(`(?m)^requires-python = "(>=[0-9.]+)"$`), `requires-python = "$1.0,!=3.1.*"`)
	},
	"name": func(r *rand.Rand, text string) string { return oneOf(r, text, keyValue("name"), `name = "renamed"`) },
	"group": func(_ *rand.Rand, text string) string {
		return strings.Replace(text, "[dependency-groups]\n", "[dependency-groups]\nmore = [\"nosuch\"]\n", 1)
	},
	"empty group": func(_ *rand.Rand, text string) string {
		return strings.Replace(text, "[dependency-groups]\n", "[dependency-groups]\nnothing = []\n", 1)
	},
	"extras": func(_ *rand.Rand, text string) string {
		return strings.Replace(text, "[project.optional-dependencies]\n", "[project.optional-dependencies]\nmore = [\"nosuch\"]\n", 1)
	},
	"empty extra": func(_ *rand.Rand, text string) string {
		return strings.Replace(text, "[project.optional-dependencies]\n", "[project.optional-dependencies]\nnothing = []\n", 1)
	},
	"no package": func(_ *rand.Rand, text string) string {
		return strings.Replace(text, "[tool.uv]\n", "[tool.uv]\npackage = false\n", 1)
	},
	"override":         ofUV(`override-dependencies = ["idna<99"]`),
	"constraint":       ofUV(`constraint-dependencies = ["idna<99"]`),
	"build constraint": ofUV(`build-constraint-dependencies = ["idna<99"]`),
	"exclude":          ofUV(`exclude-dependencies = ["idna"]`),
	"idle override":    ofUV(`override-dependencies = ["nosuch<3"]`),
	"idle constraint":  ofUV(`constraint-dependencies = ["nosuch<3"]`),
	"idle exclude":     ofUV(`exclude-dependencies = ["nosuch"]`),
	"source gone": func(r *rand.Rand, text string) string {
		return oneOf(r, text, regexp.MustCompile(`(?m)^[A-Za-z0-9_-]+ = \{ ?(git|workspace|path|index|url) = .*$`), "")
	},
	"source": func(_ *rand.Rand, text string) string {
		return strings.Replace(text, "[tool.uv.sources]\n", "[tool.uv.sources]\nnosuch = { git = \"https://git.example/x\" }\n", 1)
	},
	"revision": func(r *rand.Rand, text string) string {
		return oneOf(r, text, regexp.MustCompile(`(rev|tag|branch) = "[^"]*"`), `$1 = "other"`)
	},
	"resolution":   ofUV(`resolution = "lowest"`),
	"environments": ofUV(`environments = ["sys_platform == 'linux'"]`),
}

// ofUV adds a key to [tool.uv], and leaves out the one that is there.
func ofUV(line string) func(*rand.Rand, string) string {
	key, _, _ := strings.Cut(line, " ")
	there := regexp.MustCompile(`(?m)^` + key + ` = \[[^\]]*\]\n`)
	return func(_ *rand.Rand, text string) string {
		return strings.Replace(there.ReplaceAllString(text, ""), "[tool.uv]\n", "[tool.uv]\n"+line+"\n", 1)
	}
}

// oneOf replaces one match, chosen by r.
func oneOf(r *rand.Rand, text string, what *regexp.Regexp, by string) string {
	all := what.FindAllStringSubmatchIndex(text, -1)
	if len(all) == 0 {
		return text
	}
	m := all[r.IntN(len(all))]
	return text[:m[0]] + string(what.ExpandString(nil, by, text, m)) + text[m[1]:]
}

// What this package calls stale, `uv lock --check` calls stale. More projects than
// those of the shared data lie below HPCENV_UV_PROJECTS, which HPCENV_UV_PYTHON can
// run.
func TestSameAsUV(t *testing.T) {
	u := newUV(t)
	projects := inventedUV(t)
	if more := os.Getenv("HPCENV_UV_PROJECTS"); more != "" {
		for name, dir := range uvProjects(t, more) {
			projects["more"+name] = dir
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	counts := map[string]*[3]int{} // by mutation: both stale, uv only, both satisfied
	names := slices.Sorted(maps.Keys(projects))
	for _, name := range names {
		dir := projects[name]
		t.Run(strings.TrimPrefix(name, "/"), func(t *testing.T) {
			was, why := u.check(t, dir)
			ours := checkUV(t, dir)
			switch {
			case was == satisfied && ours != nil:
				t.Fatalf("uv is satisfied, and we are not: %q", ours)
			case was != satisfied && strings.HasPrefix(name, "more"):
				t.Skipf("uv is not satisfied as it is; ours: %q; %.400s", ours, why)
			case was != satisfied:
				t.Fatal(why)
			}
			for _, file := range manifestsIn(t, dir) {
				old, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				for _, what := range slices.Sorted(maps.Keys(uvMutations)) {
					n := counts[what]
					if n == nil {
						n = &[3]int{}
						counts[what] = n
					}
					text := uvMutations[what](r, string(old))
					if text == string(old) {
						continue
					}
					write(t, filepath.Dir(file), "pyproject.toml", text)
					theirs, why := u.check(t, dir)
					ours := checkUV(t, dir)
					switch {
					case theirs == refused:
					case theirs == satisfied && ours != nil:
						t.Errorf("%s of %s: uv is satisfied, and we are not: %q\n%s", what, file, ours, text)
					case theirs == satisfied:
						n[2]++
					case ours == nil:
						n[1]++
						t.Logf("%s of %s: only uv sees it: %.200s", what, file, why)
					default:
						n[0]++
					}
				}
				write(t, filepath.Dir(file), "pyproject.toml", string(old))
			}
		})
	}
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		n := counts[what]
		t.Logf("%-15s stale for both %3d, for uv only %3d; satisfied for both %3d", what, n[0], n[1], n[2])
	}
	for _, what := range []string{"bound", "added", "taken out", "version", "python", "name", "group", "override", "constraint", "build constraint", "exclude", "condition"} {
		if n := counts[what]; n == nil || n[0] == 0 {
			t.Errorf("%s: never seen", what)
		}
	}
}

// manifestsIn are at most eight manifests of a project.
func manifestsIn(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Name() == "pyproject.toml" && len(out) < 8 {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func checkUV(t *testing.T, dir string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "uv.lock"))
	if err != nil {
		t.Fatal(err)
	}
	ours, err := satisfy.CheckUV(dir, data)
	if err != nil {
		return nil // no manifest: uv says so, too
	}
	return ours
}

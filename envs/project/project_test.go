package project_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/envs/activation"
	"github.com/hpcenv/hpcenv/envs/project"
	"github.com/hpcenv/hpcenv/internal/testdata"
)

// write makes files ("name", "content", …) in a new directory.
func write(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		name := filepath.Join(dir, files[i])
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(files[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func load(t *testing.T, dir string) *project.Project {
	t.Helper()
	p, err := project.Load(dir)
	if err != nil || p == nil {
		t.Fatalf("project %v, error %v", p, err)
	}
	return p
}

func activate(t *testing.T, dir, env string) *activation.Manifest {
	t.Helper()
	m, err := load(t, dir).Activation(env)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

const workspace = "[workspace]\nname = \"w\"\nversion = \"1.2\"\nplatforms = [\"linux-64\", \"linux-aarch64\", \"osx-arm64\"]\n"

type (
	envs    = map[string]map[string]string
	scripts = map[string]string // subdir → paths, joined
)

func TestMerge(t *testing.T) {
	for name, c := range map[string]struct {
		manifest, env string
		vars          envs
		scripts       scripts
	}{
		"nothing":                         {"", "default", nil, nil},
		"default":                         {"[activation]\nscripts = [\"a.sh\"]\nenv = { A = \"1\" }", "default", envs{"": {"A": "1"}}, scripts{"": "a.sh"}},
		"dotted":                          {"activation.env.A = \"1\"\nactivation.scripts = [\n  \"a.sh\", # why\n  'b.sh',\n]", "default", envs{"": {"A": "1"}}, scripts{"": "a.sh b.sh"}},
		"earlier wins":                    {"activation.env = {A=\"d\", D=\"d\"}\nactivation.scripts=[\"d.sh\"]\n[feature.x.activation]\nenv={A=\"x\", X=\"x\"}\nscripts=[\"x.sh\"]\n[feature.y.activation]\nenv={A=\"y\", X=\"y\"}\nscripts=[\"y.sh\"]\n[environments]\nxy=[\"x\",\"y\"]", "xy", envs{"": {"A": "x", "X": "x", "D": "d"}}, scripts{"": "x.sh y.sh d.sh"}},
		"other order":                     {"[feature.x.activation.env]\nA=\"x\"\n[feature.y.activation.env]\nA=\"y\"\n[environments]\nyx={features=[\"y\",\"x\"]}", "yx", envs{"": {"A": "y"}}, nil},
		"no default":                      {"activation.env={D=\"d\"}\nfeature.x.activation.env={X=\"x\"}\n[environments]\nx={features=[\"x\"], no-default-feature=true}", "x", envs{"": {"X": "x"}}, nil},
		"inline":                          {"activation.env={A=\"d\"}\nfeature.x.activation.env={A=\"x\", B=\"x\"}\n[environments.x]\nfeatures=[\"x\"]\nactivation.env={B=\"i\"}", "x", envs{"": {"A": "x", "B": "i"}}, nil},
		"default again":                   {"activation.env={A=\"d\"}\nfeature.x.activation.env={A=\"x\"}\n[environments]\ndefault=[\"x\"]", "default", envs{"": {"A": "x"}}, nil},
		"target":                          {"activation.env={A=\"d\", B=\"d\"}\nactivation.scripts=[\"d.sh\"]\n[target.linux-64.activation]\nenv={A=\"t\"}\nscripts=[\"t.sh\"]", "default", envs{"linux-64": {"A": "t", "B": "d"}, "linux-aarch64": {"A": "d", "B": "d"}}, scripts{"linux-64": "t.sh", "linux-aarch64": "d.sh"}},
		"no scripts":                      {"activation.scripts=[\"d.sh\"]\ntarget.linux-64.activation.scripts=[]", "default", nil, scripts{"linux-aarch64": "d.sh"}},
		"family":                          {"activation.env={A=\"d\"}\n[target.unix.activation.env]\nA=\"u\"\n[target.osx.activation.env]\nA=\"o\"\n[target.win.activation.env]\nA=\"w\"", "default", envs{"": {"A": "u"}}, nil},
		"later target":                    {"[target.unix.activation.env]\nA=\"u\"\n[target.linux.activation.env]\nA=\"l\"", "default", envs{"": {"A": "l"}}, nil},
		"later target 2":                  {"[target.linux.activation.env]\nA=\"l\"\n[target.unix.activation.env]\nA=\"u\"", "default", envs{"": {"A": "u"}}, nil},
		"feature beats target of default": {"[target.linux-64.activation.env]\nA=\"t\"\n[feature.x.activation.env]\nA=\"x\"\n[environments]\nx=[\"x\"]", "x", envs{"": {"A": "x"}}, nil},
		"platforms of a feature":          {"[feature.x]\nplatforms=[\"linux-64\"]\n[target.linux-aarch64.activation.env]\nA=\"t\"\n[target.linux-64.activation.env]\nA=\"x\"\n[environments]\nx=[\"x\"]", "x", envs{"": {"A": "x"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var files []string
			for _, s := range []string{"a.sh", "b.sh", "d.sh", "t.sh", "x.sh", "y.sh"} {
				files = append(files, s, "export "+s+"\n")
			}
			manifest := c.manifest + "\n" + workspace
			m := activate(t, write(t, append(files, "pixi.toml", manifest)...), c.env)
			if diff := cmp.Diff(c.vars, m.Env); diff != "" {
				t.Errorf("env (-want +got):\n%s", diff)
			}
			var got scripts
			for subdir, list := range m.Scripts {
				if got == nil {
					got = scripts{}
				}
				var paths []string
				for _, s := range list {
					paths = append(paths, s.Path)
					if s.Content != "export "+s.Path+"\n" {
						t.Errorf("%s has the content %q", s.Path, s.Content)
					}
				}
				got[subdir] = strings.Join(paths, " ")
			}
			if diff := cmp.Diff(c.scripts, got); diff != "" {
				t.Errorf("scripts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNamedPlatforms(t *testing.T) {
	const manifest = `[workspace]
platforms = [
  { name = "gpu", platform = "linux-64", cuda = "12" },
  { platform = "linux-aarch64", cuda = { driver = "12.8", arch = "9.0" } },
  "linux-64",
  { name = "win-64" },
]
[target.gpu.activation.env]
A = "gpu"
[target."linux-aarch64-*".activation.env]
A = "arm"
`
	m := activate(t, write(t, "pixi.toml", manifest), "default")
	if diff := cmp.Diff([]string{"gpu", "linux-aarch64-cuda-12-8", "linux-64", "win-64"}, m.Platforms); diff != "" {
		t.Error(diff)
	}
	// linux-64 is the plain one: its packages are the ones taken.
	if diff := cmp.Diff(envs{"linux-aarch64": {"A": "arm"}}, m.Env); diff != "" {
		t.Error(diff)
	}
	m = activate(t, write(t, "pixi.toml", strings.Replace(manifest, "  \"linux-64\",\n", "", 1)), "default")
	if diff := cmp.Diff(envs{"linux-64": {"A": "gpu"}, "linux-aarch64": {"A": "arm"}}, m.Env); diff != "" {
		t.Error(diff)
	}
}

func TestIdentity(t *testing.T) {
	for name, c := range map[string]struct{ file, text, name, version string }{
		"workspace":          {"pixi.toml", workspace, "w", "1.2"},
		"project":            {"pixi.toml", "[project]\nname = \"p\"", "p", ""},
		"package":            {"pixi.toml", "[package]\nname = \"p\"\nversion = \"3\"", "p", "3"},
		"directory":          {"pixi.toml", "[workspace]\n", "", ""},
		"pyproject":          {"pyproject.toml", "[project]\nname = \"py\"\nversion = \"2\"\n[tool.pixi.workspace]\nplatforms = [\"linux-64\"]", "py", "2"},
		"pyproject, own":     {"pyproject.toml", "[project]\nname = \"py\"\n[tool.pixi.workspace]\nname = \"own\"", "own", ""},
		"mojo":               {"mojoproject.toml", workspace, "w", "1.2"},
		"pyproject, dynamic": {"pyproject.toml", "[project]\nname = \"py\"\ndynamic = [\"version\"]\n[tool.pixi]\n", "py", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := write(t, c.file, c.text)
			m := activate(t, dir, "default")
			want := c.name
			if want == "" {
				want = filepath.Base(dir)
			}
			if m.Name != want || m.Version != c.version || m.Root != dir || m.File != c.file {
				t.Errorf("%+v", m)
			}
		})
	}
}

func TestWhichManifest(t *testing.T) {
	if p, err := project.Load(t.TempDir()); p != nil || err != nil {
		t.Errorf("no manifest: %v, %v", p, err)
	}
	if p, err := project.Load(write(t, "pyproject.toml", "[project]\nname = \"x\"")); p != nil || err != nil {
		t.Errorf("a pyproject.toml without pixi: %v, %v", p, err)
	}
	both := write(t, "pixi.toml", "[workspace]\nname = \"pixi\"", "pyproject.toml", "[project]\nname = \"py\"\n[tool.pixi]\n")
	if p := load(t, both); p.Name != "pixi" {
		t.Errorf("of both, %s is taken", p.File)
	}
}

func TestGroupsAreFeatures(t *testing.T) {
	dir := write(t, "pyproject.toml", "[project]\nname=\"p\"\n[project.optional-dependencies]\nmy_extra=[]\n[dependency-groups]\ndev=[]\n[tool.pixi.environments]\nall=[\"my-extra\",\"dev\"]\n")
	activate(t, dir, "all")
}

func TestErrors(t *testing.T) {
	for manifest, says := range map[string][]string{
		"a = ":                                                          {"pixi.toml: it is not TOML: line 1"},
		"[workspace]\n[workspace]\n":                                    {"pixi.toml: it is not TOML: line 2"},
		"workspace = 1":                                                 {"pixi.toml:1:", "`workspace`", "a table"},
		"[workspace]\nplatforms = \"linux-64\"":                         {"pixi.toml:2:", "an array"},
		"[workspace]\nplatforms = [\n 1]":                               {"pixi.toml:3:", "a table"},
		"[workspace]\nplatforms = [{cuda=\"12\"}]":                      {"pixi.toml:2:", "neither"},
		"[activation]\n\nscripts = \"a.sh\"":                            {"pixi.toml:3:", "an array"},
		"[activation]\nscripts = [\n\"a.sh\",\n3]":                      {"pixi.toml:4:", "a text"},
		"[activation.env]\nA = \"1\"\nB = 2":                            {"pixi.toml:3:", "activation.env.B", "a text"},
		"[target.linux.activation.env]\nA = true":                       {"pixi.toml:2:", "target.linux.activation.env.A"},
		"[environments]\na = []\nb = [\"x\"]":                           {"pixi.toml:3:", `"b"`, `"x"`, "not declared"},
		"[environments]\nb = {features=[], no-default-feature=\"yes\"}": {"pixi.toml:2:", "true or false"},
		"[environments]\nb = 1":                                         {"pixi.toml:2:", "an array"},
		"feature = []":                                                  {"pixi.toml:1:", "a table"},
		"[feature]\nx = 1":                                              {"pixi.toml:2:", "feature.x"},
		"# " + strings.Repeat("x", 4<<20):                               {"pixi.toml", "longer than"},
	} {
		name := manifest
		if len(name) > 60 {
			name = name[:60]
		}
		t.Run(name, func(t *testing.T) {
			_, err := project.Load(write(t, "pixi.toml", manifest))
			if err == nil {
				t.Fatal("no error")
			}
			if !errors.Is(err, project.ErrManifest) {
				t.Errorf("not of the class: %v", err)
			}
			for _, part := range says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("lacks %q: %v", part, err)
				}
			}
		})
	}
}

func TestUnknownEnvironment(t *testing.T) {
	_, err := load(t, write(t, "pixi.toml", "[environments]\ncpu=[]\n")).Activation("gpu")
	var unknown *project.UnknownEnvironmentError
	if !errors.As(err, &unknown) || !errors.Is(err, project.ErrManifest) || !strings.Contains(err.Error(), "cpu, default") {
		t.Errorf("%v", err)
	}
}

func TestScripts(t *testing.T) {
	dir := write(t, "pixi.toml", "[activation]\nscripts = [\"in/a.sh\", \"gone.sh\"]", "in/a.sh", "A", "gone.txt", "")
	m := activate(t, dir, "default")
	if len(m.Scripts[""]) != 1 || m.Scripts[""][0].Content != "A" {
		t.Errorf("%v", m.Scripts)
	}
	missing, err := load(t, dir).MissingScripts("default")
	if err != nil || len(missing) != 1 || !strings.Contains(missing[0], "pixi.toml:2") || !strings.Contains(missing[0], filepath.Join(dir, "gone.sh")) {
		t.Errorf("%v, %v", missing, err)
	}

	absolute := write(t, "b.sh", "B")
	m = activate(t, write(t, "pixi.toml", "activation.scripts = [\""+absolute+"/b.sh\"]"), "default")
	if m.Scripts[""][0].Content != "B" {
		t.Errorf("%v", m.Scripts)
	}

	refuse := func(what string, dir string) {
		t.Helper()
		_, err := load(t, dir).Activation("default")
		if !errors.Is(err, project.ErrManifest) {
			t.Fatalf("%s: %v", what, err)
		}
		for _, part := range []string{what, "pixi.toml:1", filepath.Join(dir, "a.sh")} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("lacks %q: %v", part, err)
			}
		}
	}
	const names = "activation.scripts = [\"a.sh\"]"
	refuse("longer than", write(t, "pixi.toml", names, "a.sh", strings.Repeat("#", project.MaxScript+1)))
	refuse("UTF-8", write(t, "pixi.toml", names, "a.sh", "\xff"))
	refuse("not a regular file", write(t, "pixi.toml", names, "a.sh/x", ""))
	pipe := write(t, "pixi.toml", names)
	if err := syscall.Mkfifo(filepath.Join(pipe, "a.sh"), 0o600); err != nil {
		t.Fatal(err)
	}
	refuse("not a regular file", pipe)
	if m := activate(t, write(t, "pixi.toml", names, "a.sh", strings.Repeat("#", project.MaxScript)), "default"); len(m.Scripts[""]) != 1 {
		t.Error("a script of just the size is left out")
	}
}

// TestCorpus: every manifest of the shared data loads, and every environment of
// it has an activation.
func TestCorpus(t *testing.T) {
	seen := 0
	err := filepath.WalkDir(filepath.Join(testdata.Shared(t), "data", "locks"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "pixi.toml" {
			return err
		}
		seen++
		p, err := project.Load(filepath.Dir(path))
		if err != nil {
			t.Error(err)
			return nil
		}
		for _, env := range p.Environments() {
			m, err := p.Activation(env)
			if err != nil {
				t.Errorf("%s: %v", env, err)
				continue
			}
			if m.Name == "" || m.Root != filepath.Dir(path) {
				t.Errorf("%s: %+v", path, m)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d manifests", seen)
	if seen < 20 {
		t.Errorf("only %d manifests", seen)
	}
}

func TestCanonical(t *testing.T) {
	m := &activation.Manifest{Name: "<w>", Root: "/p", Platforms: []string{"linux-64"},
		Env:     envs{"linux-64": {"B": "2", "A": "1 & 2"}, "": {"Z": ""}},
		Scripts: map[string][]activation.Script{"": {{Path: "a.sh", Content: "x\n"}}}}
	data, digest := project.Canonical(m)
	const want = `{"name":"<w>","root":"/p","platforms":["linux-64"],"env":{"":{"Z":""},"linux-64":{"A":"1 & 2","B":"2"}},"scripts":{"":[{"path":"a.sh","content":"x\n"}]}}`
	if string(data) != want {
		t.Errorf("got  %s\nwant %s", data, want)
	}
	if digest != "bfa1a81dfa4c85d255a7647440c9570b5c514534427c4d636939a6febe77145b" {
		t.Errorf("digest %s", digest)
	}
}

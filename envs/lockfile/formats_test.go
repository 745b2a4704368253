package lockfile_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/lockfile"
)

func mustParse(t *testing.T, text string) *lockfile.Lock {
	t.Helper()
	lock, err := lockfile.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return lock
}

func condaNames(p *lockfile.Platform) string {
	var names []string
	for _, pkg := range p.Conda {
		names = append(names, pkg.Name)
	}
	return strings.Join(names, " ")
}

const (
	sha = "aa00000000000000000000000000000000000000000000000000000000000000"
	md5 = "bb000000000000000000000000000000"
)

func condaLockEntry(name, platform, category, keys string) string {
	return "- name: " + name + "\n  version: '1'\n  manager: conda\n  platform: " + platform + "\n  url: https://conda.example/m/" + platform + "/" + name + "-1-h_2.conda\n  category: " + category + "\n" + keys
}

const condaLockHead = "version: 1\nmetadata:\n  channels:\n  - url: https://u:p@conda.example/m/\n  - bare\n  platforms: [linux-64, osx-64]\npackage:\n"

func TestCondaLock(t *testing.T) {
	lock := mustParse(t, condaLockHead+
		condaLockEntry("base", "linux-64", "main", "  hash: {md5: "+md5+", sha256: "+sha+"}\n  dependencies: {b: '>=1', c: '', d: [1.*, '>2'], e: '*'}\n")+
		condaLockEntry("base", "linux-64", "dev", "  hash: {md5: "+md5+"}\n")+
		condaLockEntry("tool", "linux-64", "dev", "  optional: true\n")+
		condaLockEntry("check", "linux-64", "test", "  optional: true\n")+
		condaLockEntry("base", "osx-64", "main", "")+
		"- name: wheel.of\n  version: 1.0\n  manager: pip\n  platform: linux-64\n  dependencies: {x: '>=1', y: ''}\n  url: https://pypi.example/wheel.of-1.0-py3-none-any.whl\n  hash: {sha256: "+sha+"}\n  category: main\n")
	if lock.Format != lockfile.FormatCondaLock || lock.Version != 1 {
		t.Errorf("%v %d", lock.Format, lock.Version)
	}
	got := map[string]string{}
	for _, env := range lock.Environments {
		p, err := env.Platform("linux-64")
		if err != nil {
			t.Fatal(err)
		}
		got[env.Name] = condaNames(p)
		if !slices.Equal(env.Channels, []string{"https://conda.example/m", "bare"}) || !slices.Equal(env.Skipped, []string{"osx-64"}) || len(env.Others) != 1 || condaNames(env.Others[0]) != "base" {
			t.Errorf("%s: channels %v, skipped %v", env.Name, env.Channels, env.Skipped)
		}
	}
	if len(got) != 3 || got["default"] != "base" || got["dev"] != "base tool" || got["test"] != "base check" {
		t.Errorf("environments are %v", got)
	}
	env, _ := lock.Environment("default")
	p, _ := env.Platform("linux-64")
	base := p.Conda[0]
	if base.SHA256 != sha || base.MD5 != md5 || base.Build != "h_2" || base.BuildNumber != 2 || base.Subdir != "linux-64" {
		t.Errorf("%+v", base)
	}
	if want := []string{"b >=1", "c", "d 1.*", "d >2", "e *"}; !slices.Equal(base.Depends, want) {
		t.Errorf("depends %q, want %q", base.Depends, want)
	}
	if len(p.PyPI) != 1 {
		t.Fatalf("%d Python packages", len(p.PyPI))
	}
	if w := p.PyPI[0]; w.Kind != lockfile.PyPIWheel || w.Name != "wheel.of" || w.Version != "1.0" || w.SHA256 != sha || !slices.Equal(w.RequiresDist, []string{"x>=1", "y"}) || w.NormalizedName() != "wheel-of" {
		t.Errorf("%+v", w)
	}
}

func TestBadCondaLock(t *testing.T) {
	entry := condaLockEntry("a", "linux-64", "main", "")
	for name, c := range map[string]struct{ text, says string }{
		"no metadata":        {"version: 1\npackage: []\n", "`metadata`"},
		"no package":         {"version: 1\nmetadata: {channels: [], platforms: []}\n", "`package`"},
		"unknown platform":   {strings.Replace(condaLockHead, "osx-64", "osx-65", 1) + entry, `"osx-65"`},
		"undeclared":         {condaLockHead + condaLockEntry("a", "linux-aarch64", "main", ""), `line 11: the platform "linux-aarch64"`},
		"other manager":      {condaLockHead + strings.Replace(entry, "manager: conda", "manager: cargo", 1), "`manager`"},
		"no archive":         {condaLockHead + strings.Replace(entry, "h_2.conda", "h_2.zip", 1), "name of a conda archive"},
		"no url":             {condaLockHead + strings.Replace(entry, "  url:", "  uri:", 1), "`url`"},
		"category default":   {condaLockHead + condaLockEntry("a", "linux-64", "default", ""), "category `default`"},
		"category like path": {condaLockHead + condaLockEntry("a", "linux-64", "../x", ""), "no name for an environment"},
		"contradiction":      {condaLockHead + condaLockEntry("a", "linux-64", "main", "  hash: {md5: "+md5+"}\n") + condaLockEntry("a", "linux-64", "dev", "  hash: {md5: 00}\n"), "another hash"},
		"twice":              {condaLockHead + entry + entry, "line 14: the package a is there already for linux-64 in the category main, in line 8"},
		"twice, other file":  {condaLockHead + entry + strings.Replace(entry, "h_2.conda", "h_3.conda", 1), "is there already for linux-64 in the category main, in line 8"},
		"version 2":          {strings.Replace(condaLockHead, "version: 1", "version: 2", 1) + entry, "`pixi lock`"},
		"hash is a text":     {condaLockHead + condaLockEntry("a", "linux-64", "main", "  hash: "+md5+"\n"), "`hash`"},
	} {
		_, err := lockfile.Parse([]byte(c.text))
		t.Run(name, func(t *testing.T) { wantError(t, err, c.says) })
	}
}

func TestExplicit(t *testing.T) {
	const at = "https://conda.example/m/"
	lock := mustParse(t, "# made by hand\n@EXPLICIT\n\n"+at+"linux-64/a-1-h_2.tar.bz2#"+md5+"\n"+at+"noarch/b-2-py_0.conda#sha256:"+strings.ToUpper(sha)+"\n"+
		"https://u:p@other.example/n/linux-64/c-3-0.conda#"+sha+"  \n"+at+"linux-64/d-1-0.conda\n"+at+"linux-64/d-1-0.conda\r\n# pip w @ https://pypi.example/w-1-py3-none-any.whl#sha256="+sha+"\n")
	if lock.Format != lockfile.FormatExplicit || lock.Version != 0 || len(lock.Environments) != 1 {
		t.Fatalf("%+v", lock)
	}
	env := lock.Environments[0]
	p, err := env.Platform("linux-64")
	if err != nil {
		t.Fatal(err)
	}
	if env.Name != "default" || condaNames(p) != "a b c d" || !slices.Equal(env.Channels, []string{"https://conda.example/m", "https://other.example/n"}) {
		t.Errorf("%s: %s, channels %v", env.Name, condaNames(p), env.Channels)
	}
	if a, b, c := p.Conda[0], p.Conda[1], p.Conda[2]; a.MD5 != md5 || a.SHA256 != "" || a.URL != at+"linux-64/a-1-h_2.tar.bz2" || a.Line != 4 || b.SHA256 != sha || b.Noarch != "python" || c.SHA256 != sha {
		t.Errorf("%+v\n%+v\n%+v", a, b, c)
	}
	if len(p.PyPI) != 1 || p.PyPI[0].SHA256 != sha || p.PyPI[0].Line != 9 {
		t.Errorf("%+v", p.PyPI)
	}
	// An md5 alone, or nothing, is no identity: all are named.
	wantError(t, p.Validate(), "a-1-h_2 (line 4) has an md5 but no sha256", "d-1-0 (line 7) has no sha256", "conda list --explicit --sha256")
}

func TestExplicitPlatform(t *testing.T) {
	const list = "@EXPLICIT\nhttps://conda.example/m/noarch/a-1-0.conda\n"
	lock := mustParse(t, "# platform: linux-aarch64\n"+list)
	if got := lock.Environments[0].Subdirs(); !slices.Equal(got, []string{"linux-aarch64"}) {
		t.Errorf("platforms %v", got)
	}
	if lock = mustParse(t, "# platform: win-64\n"+list); len(lock.Environments[0].Platforms) != 0 || len(lock.Environments[0].Others) != 1 {
		t.Errorf("%+v", lock.Environments[0])
	}
	for name, c := range map[string]struct{ text, says string }{
		"none":             {list, "no line tells the platform"},
		"unknown":          {"# platform: linux-65\n" + list, `line 1: unknown platform "linux-65"`},
		"two":              {"# platform: linux-64\n# platform: osx-64\n" + list, "line 2: the platform is osx-64, but linux-64 in line 1"},
		"bad hash":         {"# platform: linux-64\n" + strings.Replace(list, ".conda", ".conda#abc", 1), "line 3"},
		"hash of a length": {"# platform: linux-64\n" + strings.Replace(list, ".conda", ".conda#sha256:"+md5, 1), "sha256 (64)"},
		"no archive":       {"# platform: linux-64\n" + strings.Replace(list, ".conda", ".zip", 1), "location of a conda archive"},
		"a spec":           {"# platform: linux-64\n@EXPLICIT\npython >=3\n", "line 3"},
		"before the mark":  {"https://conda.example/m/noarch/a-1-0.conda\n" + list, "line 1"},
		"pip without URL":  {"# platform: linux-64\n" + list + "# pip x === 1.0 --hash=sha256:00\n", "line 4"},
		"contradiction":    {"# platform: linux-64\n" + strings.Replace(list, ".conda", ".conda#"+md5, 1) + strings.TrimPrefix(strings.Replace(list, ".conda", ".conda#"+strings.Repeat("0", 32), 1), "@EXPLICIT\n"), "another hash"},
	} {
		_, err := lockfile.Parse([]byte(c.text))
		t.Run(name, func(t *testing.T) { wantError(t, err, c.says) })
	}
}

// TestOneArchiveSeveralEntries: versions 4 and 5 may have an entry per platform.
func TestOneArchiveSeveralEntries(t *testing.T) {
	entry := func(subdir, keys string) string {
		return "- kind: conda\n  name: a\n  version: '1'\n  build: h_2\n  subdir: " + subdir + "\n  url: https://conda.example/m/noarch/a-1-h_2.conda\n" + keys
	}
	head := "version: 4\nenvironments:\n  default:\n    channels: []\n    indexes: [https://pypi.example/simple]\n    packages:\n"
	for _, subdir := range []string{"linux-64", "linux-aarch64"} {
		head += "      " + subdir + ":\n      - conda: https://conda.example/m/noarch/a-1-h_2.conda\n      - conda: https://conda.example/m/noarch/a-1-h_2.conda\n"
	}
	head += "packages:\n"
	lock := mustParse(t, head+entry("linux-64", "  md5: "+md5+"\n  license: one\n")+entry("linux-aarch64", "  license: two\n")+entry("linux-64", "  sha256: "+sha+"\n  purls: [p]\n"))
	env := lock.Environments[0]
	x, _ := env.Platform("linux-64")
	y, _ := env.Platform("linux-aarch64")
	if len(x.Conda) != 1 || len(y.Conda) != 1 {
		t.Fatalf("%d and %d packages", len(x.Conda), len(y.Conda))
	}
	if a := x.Conda[0]; a.License != "one" || a.MD5 != md5 || a.SHA256 != sha || !slices.Equal(a.Purls, []string{"p"}) || a.BuildNumber != 2 || a.Noarch != "" {
		t.Errorf("%+v", a)
	}
	if a := y.Conda[0]; a.License != "two" || a.MD5 != "" || a.HasPurls {
		t.Errorf("%+v", a)
	}
	if env.Indexes != nil {
		t.Errorf("version 4 knows no indexes: %v", env.Indexes)
	}
	_, err := lockfile.Parse([]byte(head + entry("noarch", "  md5: "+md5+"\n") + entry("noarch", "  md5: 00\n")))
	wantError(t, err, "another hash", "line 21")
}

func TestDetect(t *testing.T) {
	for text, want := range map[string]lockfile.Format{
		"version: 6\n":                       lockfile.FormatPixi,
		"# c\npackages: []\nversion: 99 # x": lockfile.FormatPixi,
		"---\nversion: 7\n":                  lockfile.FormatPixi,
		"{version: 6, environments: {}}":     lockfile.FormatPixi,
		"version: 6\r\n":                     lockfile.FormatPixi,
		"\"version\": 6":                     lockfile.FormatPixi,
		"version: 6\nenv":                    lockfile.FormatPixi,
		"version: 1\n":                       lockfile.FormatCondaLock,
		"metadata: {}\npackage: []\n":        lockfile.FormatCondaLock,
		"version: 1\nenvironments: {}\n":     lockfile.FormatPixi,
		"@EXPLICIT\n":                        lockfile.FormatExplicit,
		"\ufeff@EXPLICIT":                    lockfile.FormatExplicit,
		"# x\n  \n@EXPLICIT \r\nhttps://x":   lockfile.FormatExplicit,
		"x: '@EXPLICIT'\nversion: 6":         lockfile.FormatPixi,
		"version = 1\nrequires-python = \"\"\n\n[[package]]\nname = \"x\"": lockfile.FormatUV,
		"lock-version = \"1.0\"":                                 lockfile.FormatPylock,
		"# c\n'lock-version'=\"1.0\"":                            lockfile.FormatPylock,
		"created-by = \"x\"\n[[packages]]\n":                     lockfile.FormatPylock,
		"\ufeffversion = 1\r\nrequires-python = '>=3'\r\n":       lockfile.FormatUV,
		"version = 1\nrevision = 3\n[[package]]\nname = \"x\"\n": lockfile.FormatUV, // a broken one
		"\ufefflock-version = '1.0'\n":                           lockfile.FormatPylock,
	} {
		if got, err := lockfile.Detect([]byte(text)); got != want || err != nil {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	for text, says := range map[string][]string{
		"name: x\nchannels: [c]\ndependencies:\n- python\n":             {"environment.yml", "`pixi init --import environment.yml`", "`pixi lock`"},
		"[project]\nname = \"x\"\n":                                     {"manifest", "next:"},
		"[workspace]\n[dependencies]\n":                                 {"manifest", "next:"},
		"version = 4\n[[package]]\nname = \"x\"":                        {"another tool|tool", "`uv lock`"},
		"[[package]]\nname = \"x\"\n[metadata]\nlock-version = \"2.1\"": {"tool", "`uv lock`"},
		"x = 1\n":                     {"neither a uv.lock nor a pylock.toml"},
		"root:x:0:0::/:/bin/sh\n":     {""},
		"":                            {"empty"},
		"requests==2.0\nnumpy>=1.0\n": {""},
	} {
		format, err := lockfile.Detect([]byte(text))
		if format != 0 {
			t.Errorf("%q is %v", text, format)
		}
		for _, part := range says {
			wantError(t, err, strings.TrimPrefix(part, "another tool|"))
		}
	}
}

// TestManyWithoutHashes: a list without hashes is one reason and one step, however
// long it is.
func TestManyWithoutHashes(t *testing.T) {
	text := "# platform: linux-64\n@EXPLICIT\n"
	for _, name := range strings.Split("abcdefghijklm", "") {
		text += "https://conda.example/m/linux-64/" + name + "-1-0.conda\n"
	}
	p, err := mustParse(t, text).Environments[0].Platform("linux-64")
	if err != nil {
		t.Fatal(err)
	}
	err = p.Validate()
	wantError(t, err, "13 packages have no sha256: a-1-0 (line 3), ", "j-1-0 (line 12) and 3 more; next: ")
	if n := strings.Count(err.Error(), "next: "); n != 1 {
		t.Errorf("%d steps: %v", n, err)
	}
	// What else is wrong stands on lines of its own.
	text = "version: 6\nenvironments:\n  default:\n    channels: []\n    packages:\n      linux-64:\n      - conda: https://conda.example/m/linux-64/a-1-0.conda\n      - conda: ./src\npackages:\n" +
		"- conda: https://conda.example/m/linux-64/a-1-0.conda\n- conda: ./src\n  name: s\n  version: '1'\n  build: h\n  subdir: linux-64\n"
	if p, err = mustParse(t, text).Environments[0].Platform("linux-64"); err != nil {
		t.Fatal(err)
	}
	wantError(t, p.Validate(), "2 reasons:\n  s (./src, line 11) is a source package", "\n  a-1-0 (line 10) has no sha256; next: take out", "; next: write the lock anew")
}

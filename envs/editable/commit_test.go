package editable_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/editable"
)

// git runs git as a user would.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=u", "-c", "user.email=u@x.example"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func repository(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("GIT ABSENT: states of source trees are not tested here")
	}
	dir := tree(t, map[string]string{"a.txt": "a\n", "sub/b.txt": "b\n"})
	git(t, dir, "init", "-q")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "one")
	return dir
}

func TestDescribe(t *testing.T) {
	dir := repository(t)
	commit := git(t, dir, "rev-parse", "HEAD")
	want := func(in string, want editable.Source) {
		t.Helper()
		want.Name, want.Dir = "p", in
		if got := editable.Describe(t.Context(), "p", in); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	want(dir, editable.Source{Commit: commit})
	// Only what is below the project counts.
	write := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("new\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("new.txt")
	want(dir, editable.Source{Commit: commit, Dirty: true})
	want(filepath.Join(dir, "sub"), editable.Source{Commit: commit})
	write("sub/b.txt")
	want(filepath.Join(dir, "sub"), editable.Source{Commit: commit, Dirty: true})
	want(t.TempDir(), editable.Source{Unknown: "not in a git repository"})
	// Variables that name another repository do not mislead.
	t.Setenv("GIT_DIR", "/nowhere")
	want(dir, editable.Source{Commit: commit, Dirty: true})
}

// TestNothingOfTheRepositoryRuns: a repository whose configuration names programs
// for all that git would run when it compares files.
func TestNothingOfTheRepositoryRuns(t *testing.T) {
	dir := repository(t)
	ran := filepath.Join(t.TempDir(), "ran")
	program := filepath.Join(dir, ".git", "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"$0 $*\" >> "+ran+"\nexec cat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".gitattributes"), []byte("*.txt filter=evil diff=evil\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".git", "more"), []byte("[filter \"other\"]\n\tclean = "+program+"\n\tprocess = "+program+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"core.fsmonitor": program, "core.hooksPath": filepath.Join(dir, ".git"), "filter.evil.clean": program, "filter.evil.smudge": program, "filter.evil.required": "true",
		"include.path": "more", "diff.evil.textconv": program, "diff.evil.command": program, "diff.external": program, "core.pager": program, "core.editor": program, "core.sshCommand": program,
		"gpg.program": program, "alias.status": "!" + program,
	} {
		git(t, dir, "config", key, value)
	}
	for _, hook := range []string{"post-index-change", "fsmonitor-watchman"} {
		if err := os.Symlink("program", filepath.Join(dir, ".git", hook)); err != nil {
			t.Fatal(err)
		}
	}
	// The same size and another time: git has to read it.
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("b\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(ran); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, owner := range []int{os.Getuid(), 54321} {
		if owner != os.Getuid() {
			if os.Getuid() != 0 {
				continue
			}
			if out, err := exec.Command("chown", "-R", "54321", dir).CombinedOutput(); err != nil {
				t.Fatalf("%v %s", err, out)
			}
		}
		got := editable.Describe(t.Context(), "p", dir)
		if !got.Dirty || got.Commit == "" || got.Unknown != "" {
			t.Errorf("owner %d: %+v", owner, got)
		}
		if text, err := os.ReadFile(ran); !os.IsNotExist(err) {
			t.Fatalf("owner %d: a program of the repository ran: %s, %v", owner, text, err)
		}
	}
}

// evil makes a program that tells that it ran, and returns it and a function that
// fails the test if it did.
func evil(t *testing.T) (program string, quiet func()) {
	t.Helper()
	dir := t.TempDir()
	program, ran := filepath.Join(dir, "program"), filepath.Join(dir, "ran")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"$0 $*\" >> "+ran+"\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return program, func() {
		t.Helper()
		if text, err := os.ReadFile(ran); !os.IsNotExist(err) {
			t.Errorf("a program of the repository ran: %s, %v", text, err)
		}
	}
}

// versioned is a project whose version git tells.
func versioned(t *testing.T) string {
	t.Helper()
	dir := repository(t)
	text := "[project]\nname = \"p\"\ndynamic = [\"version\"]\n[build-system]\nrequires = [\"setuptools\", \"setuptools-scm\"]\nbuild-backend = \"setuptools.build_meta\"\n[tool.setuptools]\npy-modules = [\"p\"]\n[tool.setuptools_scm]\n"
	for name, text := range map[string]string{"pyproject.toml": text, "p.py": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "two")
	git(t, dir, "tag", "v1.2")
	return dir
}

func version(t *testing.T, dir string) string {
	t.Helper()
	p, err := editable.Read(editable.Tree{Name: "p", Version: "9", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return p.Version
}

// A submodule has a configuration of its own, whose filters git would run to see
// whether its files were changed.
func TestNothingOfASubmoduleRuns(t *testing.T) {
	inner, dir := repository(t), versioned(t)
	git(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner, "module")
	git(t, dir, "commit", "-qm", "three")
	git(t, dir, "tag", "v1.3")
	if v := version(t, dir); v != "1.3" {
		t.Errorf("version %s", v)
	}
	program, quiet := evil(t)
	module := filepath.Join(dir, "module")
	git(t, module, "config", "filter.e.clean", program)
	git(t, module, "config", "core.fsmonitor", program)
	if err := os.WriteFile(filepath.Join(dir, ".git/modules/module/info/attributes"), []byte("* filter=e\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// The same size and another content: git would have to read it.
	if err := os.WriteFile(filepath.Join(module, "a.txt"), []byte("b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	editable.Describe(t.Context(), "p", dir)
	if v := version(t, dir); v != "1.3" {
		t.Errorf("version %s", v)
	}
	quiet()
	// What git knows without looking into the files counts.
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("new\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if v := version(t, dir); !strings.HasPrefix(v, "1.4.dev0+d") {
		t.Errorf("version %s of a changed tree", v)
	}
}

// Of a partial clone git fetches what is missing, with a program that the
// repository's configuration names, and over the network.
func TestNothingIsFetchedForAPartialClone(t *testing.T) {
	origin := versioned(t)
	git(t, origin, "config", "uploadpack.allowFilter", "true")
	dir := filepath.Join(t.TempDir(), "clone")
	git(t, origin, "clone", "-q", "--no-local", "--filter=blob:none", "file://"+origin, dir)
	program, quiet := evil(t)
	git(t, dir, "config", "remote.origin.uploadpack", program)
	git(t, dir, "config", "protocol.file.allow", "always")
	packs, err := filepath.Glob(filepath.Join(dir, ".git/objects/pack/*.idx"))
	if err != nil || packs == nil {
		t.Fatalf("%v, %v", packs, err)
	}
	for _, pack := range packs { // the objects are as good as gone
		if err := os.Remove(pack); err != nil {
			t.Fatal(err)
		}
	}
	if s := editable.Describe(t.Context(), "p", dir); s.Unknown == "" {
		t.Errorf("%+v", s)
	}
	if v := version(t, dir); v != "9" {
		t.Errorf("version %s, want the lock's", v)
	}
	quiet()
}

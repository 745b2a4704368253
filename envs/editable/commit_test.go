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

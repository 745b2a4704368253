package elf_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hpcenv/hpcenv/internal/elftest"
)

type (
	spec     = elftest.Spec
	needSpec = elftest.Need
)

// gcc compiles a library or program, or skips loudly.
func gcc(t *testing.T, compiler, source string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skipf("NO COMPILER: this test was not run: %v", err)
	}
	dir := t.TempDir()
	c, out := filepath.Join(dir, "a.c"), filepath.Join(dir, "a.out")
	if err := os.WriteFile(c, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(compiler, append([]string{"-o", out, c}, args...)...)
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", cmd, err, b)
	}
	return out
}

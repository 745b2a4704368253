package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTheRepository(t *testing.T) {
	if !run("../../..", time.Now()) {
		t.Error("a table is not as it should be")
	}
}

// TestMistakes: each mistake in a copy of a table is told.
func TestMistakes(t *testing.T) {
	for _, c := range []struct{ file, old, new, want string }{
		{"envs/cuda/cuda.txt", "toolkit 12.1 530.30.02 notes", "toolkit 12.1 530.30.02 nobody", "no source row"},
		{"envs/cuda/cuda.txt", "toolkit 11.0", "source unused 2026-01-01 a page\ntoolkit 11.0", "no row is from the source unused"},
		{"hooks/facts/archspec.txt", "archspec-json ", "something ", "names no source"},
		{"hooks/facts/archspec.txt", "vendor 0x42 ", "vendor 0x41 ", "is there twice"},
		{"hooks/facts/archspec.txt", "vendor 0x42 Broadcom", "vendor", "is neither"},
		{"envs/elf/modules.txt", "# openucx/ucx src/ucs/sys/module.c", "", "has no source"},
		{"envs/elf/modules.txt", "lib/ucx/*.so* ", "lib/ucx/*.so* more ", "is not of the form"},
	} {
		data, err := os.ReadFile(filepath.Join("../../..", c.file))
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(string(data), c.old, c.new, 1)
		if text == string(data) {
			t.Errorf("%s does not have %q", c.file, c.old)
			continue
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "table"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		check := map[string]func(*table, []byte){"envs/cuda/cuda.txt": cudaTable, "hooks/facts/archspec.txt": archspecTable, "envs/elf/modules.txt": modulesTable}[c.file]
		got := file(dir, "table", check)
		if !strings.Contains(strings.Join(got.problems, "\n"), c.want) {
			t.Errorf("%s with %q: %q, want %q", c.file, c.new, got.problems, c.want)
		}
	}
	if got := file(t.TempDir(), "none", cudaTable); len(got.problems) != 1 {
		t.Errorf("a table that is not there: %q", got.problems)
	}
	if run("../../..", time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Error("tables of a time to come are taken")
	}
}

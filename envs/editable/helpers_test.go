package editable_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/editable"
)

// tree writes files ("name": text) into a new directory.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// pyproject is a pyproject.toml for a backend, with more lines.
func pyproject(backend, more string) string {
	return "[project]\nname = \"p\"\nversion = \"1\"\n" + more + "\n[build-system]\nrequires = []\nbuild-backend = \"" + backend + "\"\n"
}

func read(t testing.TB, files map[string]string) (*editable.Project, error) {
	t.Helper()
	return editable.Read(editable.Tree{Name: "p", Version: "9", Dir: tree(t, files)})
}

// paths of a project relative to its directory.
func paths(p *editable.Project) string {
	var out []string
	for _, dir := range p.Paths {
		rel, err := filepath.Rel(p.Dir, dir)
		if err != nil {
			panic(err) // both are absolute
		}
		out = append(out, rel)
	}
	return strings.Join(out, " ")
}

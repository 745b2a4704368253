package helper

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/satisfy"
)

// TestLockOfDirectory: a directory stands for the lock in it, whatever kind that
// is.
func TestLockOfDirectory(t *testing.T) {
	for _, c := range []struct {
		files []string
		want  string
	}{
		{[]string{"uv.lock", "conda-lock.yml", "pixi.lock"}, "pixi.lock"},
		{[]string{"uv.lock", "conda-lock.yml"}, "conda-lock.yml"},
		{nil, ""},
	} {
		dir := t.TempDir()
		for _, name := range c.files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("version: 1\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		s := &submission{}
		s.lock = dir
		w, err := s.wanted(t.Context())
		if c.want == "" {
			if err == nil {
				t.Errorf("an empty directory has %s", w.shown)
			}
			continue
		}
		if err != nil || w.shown != filepath.Join(dir, c.want) {
			t.Errorf("%v: %+v, %v", c.files, w, err)
		}
	}
}

// TestWishes: of a lock that names no environments, --env-name is a wish, which
// what lies beside the lock completes; nothing of a pixi manifest counts.
func TestWishes(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"uv.lock": "version = 1\nrequires-python = \">=3.11\"\n", ".python-version": "3.12\n",
		"pixi.toml": "[workspace]\nname = \"x\"\nchannels = []\nplatforms = [\"linux-64\"]\n[activation.env]\nX = \"1\"\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for given, want := range map[string]string{"": "python=3.12", "group=b,extra=A": "python=3.12,extra=a,group=b", "python=3.11": "python=3.11"} {
		s := &submission{lock: filepath.Join(dir, "uv.lock"), name: given}
		w, err := s.wanted(t.Context())
		if err != nil || w.name != want || w.activation != nil {
			t.Errorf("%q: %+v, %v", given, w, err)
		}
	}
	// A lock that is not what uv would make of the manifest beside it is refused, unless
	// it is to be taken as it is.
	manifest := filepath.Join(dir, "pyproject.toml")
	if err := os.WriteFile(manifest, []byte("[project]\nname = \"app\"\nversion = \"1\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	stale := &submission{lock: filepath.Join(dir, "uv.lock")}
	if _, err := stale.wanted(t.Context()); exitCode(err) != api.ExitUsage || !errors.Is(err, satisfy.ErrStale) {
		t.Errorf("a stale lock: %v", err)
	}
	t.Setenv("HPCENV_FROZEN", "1")
	if _, err := stale.wanted(t.Context()); err != nil {
		t.Errorf("a stale lock, taken as it is: %v", err)
	}
	t.Setenv("HPCENV_FROZEN", "")
	if err := os.Remove(manifest); err != nil {
		t.Fatal(err)
	}
	s := &submission{lock: dir, name: "extra=a,b"}
	if _, err := s.wanted(t.Context()); exitCode(err) != api.ExitUsage {
		t.Errorf("got %v", err)
	}
	// A step's own wish keeps the Python of the job's.
	root := filepath.Join(t.TempDir(), "store")
	digest := "ab"
	if err := os.MkdirAll(filepath.Join(root, "locks", digest), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "locks", digest, "pixi.lock"), []byte("version = 1\nrequires-python = \">=3.11\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string]string{"extra=a": "python=3.12,extra=a", "default": "python=3.12", "python=3.11": "python=3.11"} {
		s, w := &submission{name: given}, &wanted{digest: digest, name: given, before: "python=3.12,group=b"}
		if err := s.wishOfPin(&submitStore{root: root}, w); err != nil || w.name != want {
			t.Errorf("%q in a job: %q, %v", given, w.name, err)
		}
	}
}

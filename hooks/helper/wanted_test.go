package helper

import (
	"os"
	"path/filepath"
	"testing"
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
		w, err := s.wanted()
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

package project

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNotLock(t *testing.T) {
	with, without := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(with, LockName), []byte("version: 6\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, data, want string }{
		{"pixi.lock", "version: 6\nenvironments:\n  default:\n", ""},
		{"other.lock", "environments: {}\nversion: 7\npackages: []\n", ""},
		{"pixi.lock", "version: 6\nenv", ""}, // cut off: the parser says where
		{"flow.json", `{"version": 6, "environments": {}}`, ""},
		{"lock.py", "version: 6\nenvironments:\n", ""}, // a name tells nothing
		{"conda-lock.yml", "metadata: {}\npackage: []\nversion: 1\n", ""},
		{"list.txt", "# platform: linux-64\n@EXPLICIT\n", ""},
		{"uv.lock", "version = 1\nrequires-python = \">=3.12\"\n", ""},
		{"pylock.toml", "lock-version = \"1.0\"\n", ""},
		{"pixi.toml", "version = \"1\"\n[environments]\n", "is not a lock file but a manifest"},
		{"pyproject.toml", "[project]\nname = \"x\"\n", "is not a lock file but a manifest"},
		{"poetry.lock", "[[package]]\nname = \"x\"\n", "is not a lock file but the lock of a tool"},
		{"environment.yml", "name: x\ndependencies:\n- python\n", "is not a lock file but an environment.yml"},
		{"passwd", "root:x:0:0::/:/bin/sh\n", "is not a lock file"},
		{"pixi.lock", " \n", "is empty"},
	} {
		for _, dir := range []string{with, without} {
			path := filepath.Join(dir, c.name)
			err := NotLock(path, []byte(c.data))
			if c.want == "" {
				if err != nil {
					t.Errorf("%s: %v", c.name, err)
				}
				continue
			}
			if !errors.Is(err, ErrNoLock) || !strings.Contains(err.Error(), path+" "+c.want) {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			if beside := dir == with && c.name != LockName; beside != strings.Contains(err.Error(), "give the pixi.lock beside it") {
				t.Errorf("%s: %v", c.name, err)
			}
			if dir == without && c.name == "environment.yml" && !strings.Contains(err.Error(), "pixi init --import") {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}

package clientconf

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// The user's own list counts before the one that the site's file names; without
// either, the answer is where the user would write one.
func TestInterpreters(t *testing.T) {
	dir := t.TempDir()
	env := map[string]string{"HOME": dir}
	conf, own := filepath.Join(dir, "conf"), filepath.Join(dir, ".config", "hpcenv", "interpreters.yaml")
	look := func(want string, there bool) {
		t.Helper()
		file, found, err := Interpreters(conf, func(k string) string { return env[k] })
		if err != nil || file != want || found != there {
			t.Errorf("%q, %v, %v; want %q, %v", file, found, err, want, there)
		}
	}
	write := func(path, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	look(own, false)
	write(conf, "interpreters = /site/list.yaml\n")
	look("/site/list.yaml", true)
	write(own, "")
	look(own, true)
	env["XDG_CONFIG_HOME"] = filepath.Join(dir, "xdg")
	look("/site/list.yaml", true)
	write(filepath.Join(dir, "xdg", "hpcenv", "interpreters.yaml"), "")
	look(filepath.Join(dir, "xdg", "hpcenv", "interpreters.yaml"), true)
	env["XDG_CONFIG_HOME"], env["HOME"] = "", ""
	look("/site/list.yaml", true)
	write(conf, "interpreters = list.yaml\n")
	if _, _, err := Interpreters(conf, func(string) string { return "" }); !errors.Is(err, ErrConf) {
		t.Errorf("a relative path: %v", err)
	}
}

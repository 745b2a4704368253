package materialize_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/materialize"
)

// TestTreeDigestSees: every change of a tree but times changes its digest.
func TestTreeDigestSees(t *testing.T) {
	s := newStore(t)
	root, _, res := execute(t, s, testPrefix, build(t, s, sample()...), 2)
	at := func(p string) string { return filepath.Join(root, p) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	last := res.TreeDigest
	for _, c := range []struct {
		name   string
		change func()
		same   bool
	}{
		{"time", func() { must(os.Chtimes(at("etc/conf"), cache.FileTime.AddDate(1, 0, 0), cache.FileTime)) }, true},
		{"write permission", func() { must(os.Chmod(at("etc/conf"), 0o600)) }, true},
		{"executable bit", func() { must(os.Chmod(at("etc/conf"), 0o755)) }, false},
		{"content", func() { must(os.WriteFile(at("etc/conf"), []byte("x"), 0o755)) }, false},
		{"empty directory", func() { must(os.Mkdir(at("etc/more"), 0o755)) }, false},
		{"link text", func() { must(os.Remove(at("bin/python"))); must(os.Symlink("tool", at("bin/python"))) }, false},
		{"name", func() { must(os.Rename(at("etc/conf"), at("etc/conf2"))) }, false},
	} {
		c.change()
		got, err := materialize.TreeDigest(root)
		if err != nil || (got == last) != c.same {
			t.Errorf("%s: %s after %s, %v", c.name, got, last, err)
		}
		last = got
	}
	must(syscall.Mkfifo(at("etc/pipe"), 0o600))
	if _, err := materialize.TreeDigest(root); err == nil {
		t.Error("a pipe is taken for part of a prefix")
	}
}

package facts_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/facts/factstest"
)

// saved writes the record of a recorded node and returns its path and facts.
func saved(t *testing.T) (string, *facts.Facts) {
	t.Helper()
	f := facts.Read(t.Context(), factstest.Tree(t, "gh-ss11"))
	path := filepath.Join(t.TempDir(), facts.RecordFile)
	if err := facts.Save(path, f); err != nil {
		t.Fatal(err)
	}
	return path, f
}

func TestRecord(t *testing.T) {
	path, want := saved(t)
	got, err := facts.Load(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what comes back differs (-saved +loaded):\n%s", diff)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v: users must read it, and nobody else write it", info.Mode())
	}
	// Again, over the old one; nothing else stays behind.
	want.Glibc = "2.99"
	if err := facts.Save(path, want); err != nil {
		t.Fatal(err)
	}
	if got, err = facts.Load(t.Context(), path); err != nil || got.Glibc != "2.99" {
		t.Errorf("the second record: %v, %v", got, err)
	}
	names, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(names) != 1 {
		t.Errorf("beside the record: %v, %v", names, err)
	}
}

// TestRecordNotUsed: a record that cannot be trusted is not, and the node is read.
func TestRecordNotUsed(t *testing.T) {
	boot, err := facts.BootID()
	if err != nil {
		t.Fatal(err)
	}
	edit := func(change func(string) string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			t.Helper()
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(change(string(b))), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name, why string
		spoil     func(*testing.T, string)
	}{
		{"missing", "no such file", func(t *testing.T, path string) { must(t, os.Remove(path)) }},
		{"of another boot", "earlier boot", edit(func(s string) string {
			return strings.Replace(s, boot, "00000000-0000-0000-0000-000000000000", 1)
		})},
		{"of another version", "another version", edit(func(s string) string { return strings.Replace(s, `"version": 1`, `"version": 99`, 1) })},
		{"truncated", "unexpected end", edit(func(s string) string { return s[:len(s)/2] })},
		{"empty", "unexpected end", edit(func(string) string { return "" })},
		{"without facts", "another version", edit(func(string) string { return `{"version": 1, "boot": "` + boot + `"}` })},
		{"endless", "more than", edit(func(s string) string { return s + strings.Repeat(" ", 2<<20) })},
		{"that others can write", "not root's alone", func(t *testing.T, path string) { must(t, os.Chmod(path, 0o666)) }},
		{"behind a link", "no regular file", func(t *testing.T, path string) {
			must(t, os.Rename(path, path+".real"))
			must(t, os.Symlink(path+".real", path))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path, want := saved(t)
			c.spoil(t, path)
			got, err := facts.Load(t.Context(), path)
			if !errors.Is(err, facts.ErrNoRecord) || !strings.Contains(err.Error(), c.why) {
				t.Errorf("error %v, want ErrNoRecord with %q", err, c.why)
			}
			if got == nil || got.Machine == "" || cmp.Equal(got, want) {
				t.Errorf("not the facts of this host: %+v", got)
			}
		})
	}
	t.Run("of another user", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("only root can give a file away")
		}
		path, _ := saved(t)
		must(t, os.Chown(path, 12345, 12345))
		if _, err := facts.LoadRecord(path); !errors.Is(err, facts.ErrNoRecord) {
			t.Errorf("a stranger's record is believed: %v", err)
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

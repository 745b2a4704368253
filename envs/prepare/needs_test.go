package prepare

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/needs"
	"github.com/hpcenv/hpcenv/internal/condatest"
	"github.com/hpcenv/hpcenv/internal/elftest"
)

// native is a package with a library that has its prefix in it.
func native() condatest.Package {
	const placeholder = "/opt/placeholder_placeholder_placeholder_placeholder_placeholder_placeholder"
	lib := elftest.Spec{SOName: "libn.so", RunPath: placeholder + "/lib", Needed: []string{"libc.so.6"},
		Needs: []elftest.Need{{Library: "libc.so.6", Names: []string{"GLIBC_2.33"}}}}
	return condatest.Package{Name: "native", Version: "1.2", Build: "0", Subdir: "linux-64", Files: []condatest.File{
		{Path: "lib/ucx/libn.so", Content: string(lib.Make()), Placeholder: placeholder, Binary: true},
	}}
}

// TestNeeds: what an environment asks of a node is there when it is published, of one
// without it (an earlier release's, one whose maker was interrupted) after the next
// preparation, which fetches nothing, and the same.
func TestNeeds(t *testing.T) {
	w := newWorld(t)
	req := &Request{Lock: lock(map[string][]string{"linux-64": {w.addPackage(native())}}), Platforms: []string{"linux-64"}}
	store := w.deps.Store
	var missing error
	published := 0
	run := func() *Result {
		t.Helper()
		res, err := Run(context.Background(), w.deps, req, func(e Event) {
			if e.Type == EventPublished {
				published++
				found, err := filepath.Glob(filepath.Join(store.Root(), "meta", "*", e.Platform+".needs.json"))
				if err != nil || len(found) != 1 {
					missing = errors.Join(err, errors.New("it is published before it is known what it asks of a node"))
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	env := run().Environments[0]
	if published != 1 || missing != nil {
		t.Errorf("%d published, %v", published, missing)
	}
	file := store.NeedsPath(env.ID, env.Platform)
	n, err := needs.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if r := n.Requirements; len(r) != 1 || r[0].Spec != "__glibc >=2.33" || r[0].Packages[0] != "native 1.2" || r[0].File != "lib/ucx/libn.so" {
		t.Errorf("requirements %+v", r)
	}
	if f := n.Prefix.Objects["lib/ucx/libn.so"]; f == nil || f.RunPath != store.Prefix("linux-64", env.ID)+"/lib" {
		t.Errorf("the prefix is not in it: %+v", n.Prefix)
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	hits := w.total()
	for name, spoil := range map[string]func() error{
		"absent":           func() error { return os.Remove(file) },
		"damaged":          func() error { return rewrite(file, "damage") },
		"another release":  func() error { return rewrite(file, strings.ReplaceAll(string(want), `"version":1`, `"version":99`)) },
		"an older reader":  func() error { return rewrite(file, strings.ReplaceAll(string(want), `"extractor":`, `"extractor":1`)) },
		"without its lock": func() error { return errors.Join(os.Remove(file), os.RemoveAll(store.LockDir(env.Meta.LockDigest))) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if res := run(); len(res.Notes) > 0 || res.Environments[0].New {
			t.Errorf("%s: %+v", name, res)
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v\n%s\n%s", name, err, got, want)
		}
	}
	if w.total() != hits || published != 1 {
		t.Errorf("%d requests more, %d published", w.total()-hits, published)
	}

	// A dry run writes nothing, nor who can only look.
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	req.DryRun = true
	run()
	req.DryRun = false
	fetcher := w.deps.Fetcher
	w.deps.Fetcher = nil
	run()
	w.deps.Fetcher = fetcher
	if _, err := os.Stat(file); err == nil {
		t.Error("it was written")
	}

	// What cannot be read is a note, an error of the store is one.
	lib := filepath.Join(store.TreePath("linux-64", env.ID), "lib/ucx/libn.so")
	if err := os.Remove(lib); err != nil {
		t.Fatal(err)
	}
	if res := run(); len(res.Notes) != 1 || !strings.Contains(res.Notes[0], "ask of a node could not be found out") || !strings.Contains(res.Notes[0], lib) {
		t.Errorf("notes %q", res.Notes)
	}
	if err := os.WriteFile(lib, []byte("text"), 0o444); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(store.Root(), "tmp")); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), w.deps, req, nil); !errors.Is(err, cache.ErrStore) {
		t.Errorf("a store without tmp/: %v", err)
	}
}

func (w *world) total() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range w.hits {
		n += h
	}
	return n
}

// rewrite replaces a read-only file.
func rewrite(path, text string) error {
	return errors.Join(os.Remove(path), os.WriteFile(path, []byte(text), 0o444))
}

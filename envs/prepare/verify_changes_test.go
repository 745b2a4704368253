package prepare

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/internal/condatest"
)

// Whatever is changed in a published environment is named: also what is in no
// digest, and what jobs take from the description.
func TestVerifyNamesWhatWasChanged(t *testing.T) {
	w := newWorld(t)
	entry := w.addPackage(condatest.Package{Name: "a", Version: "1", Build: "0", Subdir: "linux-64", Files: []condatest.File{
		{Path: "share/f", Content: "content"}, {Path: "bin/x", Content: "#!/bin/sh\n", Exec: true}, {Path: "share/l", Link: "f"}, {Path: "share/empty", Dir: true},
	}})
	res, err := Run(context.Background(), w.deps, &Request{Lock: lock(map[string][]string{"linux-64": {entry}}), Platforms: []string{"linux-64"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	id := res.Environments[0].ID
	store := w.deps.Store
	root, meta := store.TreePath("linux-64", id), store.MetaPath(id, "linux-64")
	at := func(name string) string { return filepath.Join(root, name) }
	check := func(errs ...error) {
		t.Helper()
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	verify := func() *Verification {
		t.Helper()
		m, err := materialize.Published(store, id, "linux-64")
		check(err)
		v, err := Verify(context.Background(), store, m)
		check(err)
		return v
	}
	mode := func(name string, is, was os.FileMode) (do, undo func()) {
		return func() { check(os.Chmod(at(name), is)) }, func() { check(os.Chmod(at(name), was)) }
	}
	edit := func(key string, value any) (do, undo func()) {
		var before []byte
		return func() {
			var err error
			before, err = os.ReadFile(meta)
			check(err)
			var m map[string]any
			check(json.Unmarshal(before, &m))
			m[key] = value
			data, err := json.Marshal(m)
			check(err, os.Chmod(meta, 0o644), os.WriteFile(meta, data, 0o644))
		}, func() { check(os.WriteFile(meta, before, 0o644)) }
	}
	cases := map[string]struct {
		do, undo func()
		want     string
	}{}
	add := func(name, want string, do, undo func()) {
		cases[name] = struct {
			do, undo func()
			want     string
		}{do, undo, want}
	}
	changed := func(name, path string, is, was os.FileMode, want string) {
		do, undo := mode(path, is, was)
		add(name, want, do, undo)
	}
	changed("written by all", "share/f", 0o646, 0o444, "share/f: its mode is 0646: others than its owner may write")
	changed("read by none", "share/f", 0o400, 0o444, "share/f: its mode is 0400, without 0444 for all")
	changed("run by its owner only", "bin/x", 0o544, 0o555, "bin/x: its mode is 0544, without 0555 for all")
	changed("set-user-id", "bin/x", 0o555|os.ModeSetuid, 0o555, "bin/x: its mode is ur-xr-xr-x: it runs as somebody else")
	changed("executable", "share/f", 0o555, 0o444, "share/f: an executable file")
	changed("directory of all", "share", 0o777, 0o755, "share: its mode is 0777")
	changed("directory of none", "share/empty", 0o700, 0o755, "share/empty: its mode is 0700")
	changed("root of all", ".", 0o777, 0o755, ".: its mode is 0777")
	if os.Geteuid() == 0 {
		add("another's", "share/l: it belongs to uid 12345, the tree to uid 0", func() { check(os.Lchown(at("share/l"), 12345, -1)) }, func() { check(os.Lchown(at("share/l"), 0, -1)) })
	}
	metaEdited := func(name, key string, value any, want string) {
		do, undo := edit(key, value)
		add(name, want, do, undo)
	}
	metaEdited("activation", "activation", map[string]any{}, "its activation is not that of the tree")
	metaEdited("packages", "packages", []any{}, "it names other packages than the lock")
	metaEdited("prefix", "prefix", "/opt/evil", `it says that the prefix is "/opt/evil"`)
	metaEdited("digest", "tree_digest", strings.Repeat("0", 64), "digest")
	metaEdited("scripts that did not run", "scripts", []any{map[string]string{"script": "x"}}, "")
	add("pool file", "holds other bytes", func() {
		check(os.Chmod(at("share/f"), 0o644), os.WriteFile(at("share/f"), []byte("CONTENT"), 0o644), os.Chmod(at("share/f"), 0o444))
	}, func() {
		check(os.Chmod(at("share/f"), 0o644), os.WriteFile(at("share/f"), []byte("content"), 0o644), os.Chmod(at("share/f"), 0o444))
	})
	if v := verify(); !v.Same() || v.NoPlan != "" || v.PlanDigest != v.TreeDigest {
		t.Fatalf("before: %+v", v)
	}
	for name, c := range cases {
		c.do()
		v := verify()
		c.undo()
		var lines []string
		for _, d := range v.Differences {
			lines = append(lines, d.Path+": "+d.What)
		}
		lines = append(lines, v.Damage...)
		if v.TreeDigest != v.MetaDigest {
			lines = append(lines, "digest")
		}
		text := strings.Join(lines, "\n")
		if c.want == "" {
			if v.NoPlan != "" {
				t.Errorf("%s: there is no plan: %s", name, v.NoPlan)
			}
		} else if v.Same() || !strings.Contains(text, c.want) {
			t.Errorf("%s: same %v\n%s\nwant %s", name, v.Same(), text, c.want)
		}
		if v := verify(); !v.Same() {
			t.Fatalf("%s: it was not put back: %+v", name, v)
		}
	}
	do, undo := edit("id", strings.Repeat("f", 32))
	do()
	if _, err := materialize.Published(store, id, "linux-64"); err == nil || !strings.Contains(err.Error(), "another environment") {
		t.Errorf("another's description: %v", err)
	}
	undo()
}

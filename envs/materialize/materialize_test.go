package materialize_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/activation"
	"github.com/hpcenv/hpcenv/envs/materialize"
)

const testID = "0123456789abcdef0123456789abcdef"

func request(pkgs []materialize.Package) materialize.Request {
	return materialize.Request{
		ID: testID, Platform: testPlatform, Environment: "default", LockDigest: "d", Packages: pkgs, Options: noScripts,
		Static: activation.FromTree,
	}
}

func TestMaterialize(t *testing.T) {
	s := newStore(t)
	pkgs := build(t, s, sample()...)
	if _, err := materialize.Published(s, testID, testPlatform); !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("before: %v", err)
	}
	req := request(pkgs)
	calls, last := 0, 0
	req.Progress = func(done, total int) {
		if calls++; done <= last || done > total {
			t.Errorf("progress %d after %d of %d", done, last, total)
		}
		last = done
	}
	meta, made, err := materialize.Materialize(t.Context(), s, req)
	if err != nil || !made {
		t.Fatalf("made %v, %v", made, err)
	}
	tree := s.TreePath(testPlatform, testID)
	if got, err := materialize.TreeDigest(tree); err != nil || got != meta.TreeDigest {
		t.Errorf("tree digest %s, %v; meta has %s", got, err, meta.TreeDigest)
	}
	if meta.Prefix != "/opt/hpcenv/e/"+testID || len(meta.Packages) != 3 || len(meta.SkippedScripts) != 1 || calls == 0 ||
		len(meta.Activation.Patch.Ops) == 0 || meta.Files == 0 || meta.Bytes <= meta.BytesNew || meta.BytesNew == 0 {
		t.Errorf("meta: %+v", meta)
	}
	checkClean(t, s)

	// The same id again does no work: nothing in the store changes, and the
	// packages are not needed.
	before := snapshot(t, s.Root())
	again, made, err := materialize.Materialize(t.Context(), s, materialize.Request{ID: testID, Platform: testPlatform})
	if err != nil || made {
		t.Fatalf("made %v, %v", made, err)
	}
	if d := cmp.Diff(meta, again); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(before, snapshot(t, s.Root())); d != "" {
		t.Error(d)
	}
}

// snapshot lists all paths below root with their sizes and times.
func snapshot(t *testing.T, root string) []string {
	t.Helper()
	var out []string
	err := filepath.Walk(root, func(p string, st os.FileInfo, err error) error {
		if err == nil {
			out = append(out, fmt.Sprint(p, st.Size(), st.ModTime()))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// checkClean: no unfinished work is left.
func checkClean(t *testing.T, s *cache.Store) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(s.Root(), "tmp"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "locks" {
			t.Errorf("tmp/%s is left", e.Name())
		}
	}
}

// TestMaterializeAtOnce: one works, the others wait, all get the same.
func TestMaterializeAtOnce(t *testing.T) {
	s := newStore(t)
	pkgs := build(t, s, sample()...)
	var news, statics atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		// Each has its own Store, as another process would.
		own, err := cache.Open(s.Root())
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			req := request(pkgs)
			req.Static = func(root, prefix string) (activation.Static, error) {
				statics.Add(1)
				return activation.FromTree(root, prefix)
			}
			meta, made, err := materialize.Materialize(context.Background(), own, req)
			if err != nil || meta.ID != testID {
				t.Errorf("%+v, %v", meta, err)
			}
			if made {
				news.Add(1)
			}
		})
	}
	wg.Wait()
	if news.Load() != 1 || statics.Load() != 1 {
		t.Errorf("%d say they made it, %d computed", news.Load(), statics.Load())
	}
	checkClean(t, s)
}

// TestMaterializeFails: whatever fails, nothing is published and nothing is left.
func TestMaterializeFails(t *testing.T) {
	s := newStore(t)
	pkgs := build(t, s, sample()...)
	boom := errors.New("boom")
	cancelled, cancel := context.WithCancel(t.Context())
	for name, c := range map[string]struct {
		ctx    context.Context
		change func(*materialize.Request)
		class  error
	}{
		"activation": {t.Context(), func(r *materialize.Request) {
			r.Static = func(string, string) (activation.Static, error) { return activation.Static{}, boom }
		}, boom},
		"plan":      {t.Context(), func(r *materialize.Request) { r.Packages = r.Packages[1:] }, materialize.ErrUnlinkable},
		"id":        {t.Context(), func(r *materialize.Request) { r.ID = "../../etc" }, materialize.ErrUnlinkable},
		"platform":  {t.Context(), func(r *materialize.Request) { r.Platform = "osx-64" }, materialize.ErrUnlinkable},
		"cancelled": {cancelled, func(r *materialize.Request) { r.Progress = func(int, int) { cancel() } }, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			req := request(pkgs)
			c.change(&req)
			meta, made, err := materialize.Materialize(c.ctx, s, req)
			if !errors.Is(err, c.class) || meta != nil || made {
				t.Errorf("%+v, %v, %v", meta, made, err)
			}
			checkClean(t, s)
			if left, err := os.ReadDir(filepath.Join(s.Root(), "trees", testPlatform)); err != nil || len(left) > 0 {
				t.Errorf("published: %v, %v", left, err)
			}
		})
	}
	if _, made, err := materialize.Materialize(t.Context(), s, request(pkgs)); err != nil || !made {
		t.Errorf("after the failures: %v, %v", made, err)
	}
}

// TestOwnStore: in a user's own store the prefix is the tree itself.
func TestOwnStore(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "own")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	s, err := cache.Create(filepath.Join(dir, "s"), cache.Format{Platforms: []string{testPlatform}, OwnerUID: os.Geteuid()})
	if err != nil {
		t.Fatal(err)
	}
	pkgs := build(t, s, sample()...)
	meta, _, err := materialize.Materialize(t.Context(), s, request(pkgs))
	if err != nil {
		t.Fatal(err)
	}
	tree := s.TreePath(testPlatform, testID)
	data, err := os.ReadFile(filepath.Join(tree, "bin/pip"))
	if err != nil || meta.Prefix != tree || !strings.HasPrefix(string(data), "#!"+tree+"/bin/python3.11\n") {
		t.Errorf("prefix %s, script %q, %v", meta.Prefix, data, err)
	}
}

package service

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/sitebuild"
)

// An overlay in the store is no environment: nothing lists it, nothing trips over it. A
// tree with no description at all is still damage.
func TestOverlaysAreNotListed(t *testing.T) {
	root := filepath.Join(t.TempDir(), "store")
	store, err := cache.Create(root, cache.Format{Version: cache.FormatVersion, PrefixRoot: "/opt/hpcenv/e", Platforms: []string{"linux-64"}, OwnerUID: os.Geteuid()})
	if err != nil {
		t.Fatal(err)
	}
	overlay := strings.Repeat("e", 32)
	meta := sitebuild.MetaPath(root, overlay, "linux-64")
	for _, err := range []error{os.MkdirAll(store.TreePath("linux-64", overlay), 0o755), os.MkdirAll(filepath.Dir(meta), 0o755), os.WriteFile(meta, []byte("{}"), 0o444)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	s := New(Options{Store: store})
	if envs, err := s.List(t.Context()); err != nil || len(envs) != 0 {
		t.Errorf("%v %v", envs, err)
	}
	if builds, err := s.SiteBuilds(t.Context(), ""); err != nil || len(builds) != 0 {
		t.Errorf("%v %v", builds, err)
	}
	if _, err := s.Inspect(t.Context(), overlay[:8]); err == nil || !strings.Contains(err.Error(), "no environment has the id") {
		t.Errorf("inspect: %v", err)
	}
	if _, err := s.RetrySiteBuilds(t.Context(), overlay, ""); err == nil || !strings.Contains(err.Error(), "site_builds") {
		t.Errorf("retry without declarations: %v", err)
	}
	if err := os.Remove(meta); err != nil {
		t.Fatal(err)
	}
	if _, err := s.List(t.Context()); err == nil {
		t.Error("a tree without a description is taken for nothing")
	}
}

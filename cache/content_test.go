package cache

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Contents that were made here are pool files like any other, each once.
func TestAddedContentIsPoolContent(t *testing.T) {
	s := newStore(t)
	a, err := s.NewAdder()
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if d, err := a.Add([]byte("code")); err != nil || d != digestOf([]byte("code")) {
				t.Errorf("got %s, %v", d, err)
			}
		})
	}
	group.Wait()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(s.PoolPath(digestOf([]byte("code")), false))
	if err != nil || st.Mode() != poolMode(false) || !st.ModTime().Equal(FileTime) {
		t.Errorf("pool file: %v, %v", st, err)
	}
}

func TestPublishFiles(t *testing.T) {
	s := newStore(t)
	pkg := digestOf([]byte("p"))
	path := s.PycPath(digestOf([]byte("c")), pkg)
	for _, text := range []string{"one", "two"} {
		if err := s.PublishFiles(context.Background(), []NewFile{{Path: path, Data: []byte(text)}}); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if err := s.PublishFiles(context.Background(), []NewFile{{Path: filepath.Join(t.TempDir(), "x")}}); !errors.Is(err, ErrStore) {
		t.Errorf("outside of the store: %v", err)
	}
	left, err := os.ReadDir(s.tmp())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		if e.Name() != "locks" {
			t.Errorf("tmp/ still has %s", e.Name())
		}
	}
}

// A manifest of before times were kept counts as absent: its package comes again.
func TestOldManifestCountsAsAbsent(t *testing.T) {
	s := newStore(t)
	m := sampleManifest()
	data, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	old := strings.Replace(string(data), `"version":2`, `"version":1`, 1)
	old = strings.ReplaceAll(strings.ReplaceAll(old, "\t0\n", "\n"), "\t1700000000\n", "\n")
	if err := os.WriteFile(s.ManifestPath(m.SHA256), []byte(old), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Manifest(m.SHA256); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// whole reports what a package of the store lacks.
func whole(t *testing.T, s *Store, m *Manifest) {
	t.Helper()
	for _, e := range m.Entries {
		if e.Type != EntryFile || e.Size == 0 {
			continue
		}
		if _, err := os.Stat(s.PoolPath(e.SHA256, e.Exec)); err != nil {
			t.Errorf("package %.8s: %s is gone: %v", m.SHA256, e.Path, err)
		}
	}
}

// randomPackage has files of which some are other packages', too.
func randomPackage(t *testing.T, random *rand.Rand) []byte {
	t.Helper()
	var members []member
	for i := range 1 + random.IntN(6) {
		members = append(members, member{name: fmt.Sprintf("lib/f%d-%d", i, random.IntN(1000)), body: fmt.Sprintf("content %d", random.IntN(20)), mode: []int64{0o644, 0o755}[random.IntN(2)]})
	}
	return makeConda(t, members...)
}

// TestSweep: whatever packages there are and are kept, those that are kept are whole
// afterwards, and nothing is left that none of them needs.
func TestSweep(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 3))
		s := newStore(t)
		kept := map[string]bool{}
		needed := map[string]bool{}
		archives := map[string][]byte{}
		var manifests []*Manifest
		for range 1 + random.IntN(10) {
			data := randomPackage(t, random)
			m := mustIngest(t, s, data, FormatConda)
			archives[m.SHA256] = data
			manifests = append(manifests, m)
			kept[m.SHA256] = random.IntN(2) == 0
		}
		// A table of byte-code refers to a content of its own.
		code := strings.Repeat("cd", 32)
		table := s.PycPath("compiler", manifests[0].SHA256)
		for path, text := range map[string]string{table: code, s.PoolPath(code, false): "code", s.PoolPath(strings.Repeat("ef", 32), false): "of nobody", s.PoolPath(manifests[0].Entries[0].SHA256, false) + "~1": "a sibling"} {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		young := time.Now().Add(time.Hour)
		if seed == 0 {
			young = time.Now().Add(-time.Hour) // all of them are
		}
		n, err := s.Sweep(t.Context(), SweepOptions{
			Keep: func(sha string) bool { return kept[sha] }, Young: young,
			TableContents: func(path string, add func(string)) error {
				data, err := os.ReadFile(path)
				add(string(data))
				return err
			},
			Exclusive: func(_ context.Context, do func() error) error { return do() },
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range manifests {
			_, err := s.Manifest(m.SHA256)
			if stays := kept[m.SHA256] || seed == 0; stays != (err == nil) || err != nil && !errors.Is(err, ErrNotFound) {
				t.Errorf("seed %d: package %.8s, kept %v: %v", seed, m.SHA256, kept[m.SHA256], err)
			}
			if err == nil {
				whole(t, s, m)
				for _, e := range m.Entries {
					needed[e.SHA256] = true
				}
			}
		}
		_, terr := os.Stat(table)
		if stays := kept[manifests[0].SHA256] || seed == 0; stays != (terr == nil) {
			t.Errorf("seed %d: the table of a package that is kept (%v): %v", seed, stays, terr)
		}
		needed[code] = terr == nil
		for _, path := range poolFiles(t, s) {
			if digest := filepath.Base(path)[:64]; !needed[digest] {
				t.Errorf("seed %d: nothing needs %s", seed, path)
			}
		}
		if seed > 0 && n.Files == 0 {
			t.Errorf("seed %d: not even what is nobody's went", seed)
		}
		// What went can be had again.
		for _, m := range manifests {
			whole(t, s, mustIngest(t, s, archives[m.SHA256], FormatConda))
		}
	}
}

// TestSweepBesideTakers: packages that are taken in while sweeps run are whole, though
// they share contents with what goes.
func TestSweepBesideTakers(t *testing.T) {
	s := newStore(t)
	var gate sync.RWMutex
	random := rand.New(rand.NewPCG(7, 7))
	var archives [][]byte
	for range 60 {
		archives = append(archives, randomPackage(t, random))
	}
	stop := make(chan struct{})
	var sweeps sync.WaitGroup
	sweeps.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := s.Sweep(t.Context(), SweepOptions{
				Keep: func(sha string) bool { return sha[0] < '8' }, Young: time.Now().Add(time.Hour),
				TableContents: func(string, func(string)) error { return nil },
				Exclusive: func(_ context.Context, do func() error) error {
					gate.Lock()
					defer gate.Unlock()
					return do()
				},
			}); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for _, a := range archives {
		gate.RLock()
		m := mustIngest(t, s, a, FormatConda)
		whole(t, s, m)
		gate.RUnlock()
	}
	close(stop)
	sweeps.Wait()
	entries, err := os.ReadDir(s.PoolDir("packages"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		m, err := s.Manifest(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		whole(t, s, m)
	}
	if len(entries) == 0 {
		t.Error("nothing was kept")
	}
}

// TestSweepRefuses: an unreadable manifest may refer to anything.
func TestSweepRefuses(t *testing.T) {
	s := newStore(t)
	m := mustIngest(t, s, makeConda(t, member{name: "a", body: "x"}), FormatConda)
	path := s.ManifestPath(m.SHA256)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(path, 0o644), os.WriteFile(path, bytes.Replace(data, []byte(`"version"`), []byte(`"vversion`), 1), 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Sweep(t.Context(), SweepOptions{
		Keep: func(string) bool { return true }, TableContents: func(string, func(string)) error { return nil },
		Exclusive: func(_ context.Context, do func() error) error { return do() },
	}); !errors.Is(err, ErrStore) || !strings.Contains(err.Error(), "next: ") {
		t.Errorf("%v", err)
	}
	whole(t, s, m)
}

package cache_test

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/internal/wheeltest"
)

// asIs is an Interpreter that links everything.
func asIs(raw *cache.Raw) ([]cache.Entry, json.RawMessage, []string, error) {
	return raw.Entries, nil, nil, nil
}

func ingestWheel(t *testing.T, s *cache.Store, w wheeltest.Wheel, interpret cache.Interpreter) (*cache.Manifest, error) {
	t.Helper()
	path, sum := w.Write(t, t.TempDir())
	return s.Ingest(context.Background(), path, cache.Source{Name: w.FileName(), URL: "file://" + path, SHA256: sum, Format: cache.FormatWheel}, interpret)
}

func wheelStore(t *testing.T) *cache.Store {
	t.Helper()
	s, err := cache.Create(t.TempDir()+"/store", cache.Format{PrefixRoot: "/opt/e", Platforms: []string{"linux-64"}, OwnerUID: os.Geteuid()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Contents go to the pool under their digests, small and large, packed and stored;
// scripts are executable whatever the archive says.
func TestIngestWheel(t *testing.T) {
	s := wheelStore(t)
	big := strings.Repeat("0123456789abcdef", 1<<17)
	w := wheeltest.Wheel{Name: "w", Version: "1", Files: []wheeltest.File{
		{Path: "w/"}, {Path: "w/empty"}, {Path: "w/small", Content: "small"}, {Path: "w/big", Content: big, Deflate: true}, {Path: "w/stored", Content: big + "x"},
		{Path: "w/run", Content: "run", Mode: 0o100755}, {Path: "w-1.data/scripts/s", Content: "#!python\n", Mode: 0o100600}, {Path: "w/small", Content: "small"},
	}}
	m, err := ingestWheel(t, s, w, asIs)
	if err != nil {
		t.Fatal(err)
	}
	if m.Format != cache.FormatWheel || len(m.Notes) != 1 || !strings.Contains(m.Notes[0], "w/small") {
		t.Errorf("format %q, notes %q", m.Format, m.Notes)
	}
	seen := map[string]cache.Entry{}
	for _, e := range m.Entries {
		seen[e.Path] = e
	}
	for path, want := range map[string]string{"w/empty": "", "w/small": "small", "w/big": big, "w/stored": big + "x", "w/run": "run", "w-1.data/scripts/s": "#!python\n"} {
		e, ok := seen[path]
		if !ok {
			t.Errorf("%s is missing", path)
			continue
		}
		f, err := s.OpenEntry(e)
		if err != nil {
			t.Error(err)
			continue
		}
		data, err := os.ReadFile(f.Name())
		if err != nil || string(data) != want {
			t.Errorf("%s: %d bytes, %v", path, len(data), err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if exec := path == "w/run" || path == "w-1.data/scripts/s"; e.Exec != exec {
			t.Errorf("%s: executable %v", path, e.Exec)
		}
	}
	if seen["w"].Type != cache.EntryDir {
		t.Errorf("w is %q", seen["w"].Type)
	}
	again, err := s.Manifest(m.SHA256)
	if err != nil || len(again.Entries) != len(m.Entries) {
		t.Errorf("published: %v, %v", again, err)
	}
}

// What only waits in memory reaches the pool when the interpreter names it, and
// stays out of it when not.
func TestWheelsRecordStaysOutOfThePool(t *testing.T) {
	s := wheelStore(t)
	var record cache.Entry
	m, err := ingestWheel(t, s, wheeltest.Wheel{Name: "w", Version: "1", Files: []wheeltest.File{{Path: "a", Content: "a"}}},
		func(raw *cache.Raw) (out []cache.Entry, _ json.RawMessage, _ []string, _ error) {
			for _, e := range raw.Entries {
				if e.Path == "w-1.dist-info/RECORD" {
					record = e
					continue
				}
				out = append(out, e)
			}
			return out, nil, nil, nil
		})
	if err != nil || record.SHA256 == "" || len(m.Entries) == 0 {
		t.Fatal(m, err)
	}
	if _, err := s.OpenEntry(record); !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("RECORD is in the pool: %v", err)
	}
}

func TestUnsafeWheels(t *testing.T) {
	for name, c := range map[string]struct {
		files []wheeltest.File
		want  error
		says  string
	}{
		"two contents": {[]wheeltest.File{{Path: "a", Content: "a"}, {Path: "./a", Content: "b"}}, cache.ErrUnsafe, "the two differ"},
		"two modes":    {[]wheeltest.File{{Path: "a", Content: "a"}, {Path: "a", Content: "a", Mode: 0o100755}}, cache.ErrUnsafe, "the two differ"},
		"below a file": {[]wheeltest.File{{Path: "a", Content: "a"}, {Path: "a/b", Content: "b"}}, cache.ErrUnsafe, "lies below"},
		"link":         {[]wheeltest.File{{Path: "a", Content: "b", Mode: 0o120777}}, cache.ErrUnsafe, "symbolic link"},
		"escape":       {[]wheeltest.File{{Path: "x/../../a", Content: "b"}}, cache.ErrUnsafe, `".."`},
		"method":       {[]wheeltest.File{{Path: "a", Content: "b", Change: func(h *zip.FileHeader) { h.Flags |= 1 }}}, cache.ErrIntegrity, "encrypted"},
	} {
		t.Run(name, func(t *testing.T) {
			s := wheelStore(t)
			m, err := ingestWheel(t, s, wheeltest.Wheel{Name: "w", Version: "1", Files: c.files}, asIs)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "w-1-py3-none-any.whl") {
				t.Errorf("got %v, %v", m, err)
			}
			left, err := os.ReadDir(s.Root() + "/tmp")
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range left {
				if e.Name() != "locks" {
					t.Errorf("left in tmp/: %v", e)
				}
			}
		})
	}
}

// A hash in the lock is always checked.
func TestWheelsDigestIsChecked(t *testing.T) {
	s := wheelStore(t)
	w := wheeltest.Wheel{Name: "w", Version: "1"}
	path, sum := w.Write(t, t.TempDir())
	src := cache.Source{Name: w.FileName(), URL: "file://" + path, SHA256: strings.Repeat("0", 64), Format: cache.FormatWheel}
	if _, err := s.Ingest(context.Background(), path, src, asIs); !errors.Is(err, cache.ErrIntegrity) {
		t.Errorf("another sha256: %v", err)
	}
	src.SHA256, src.MD5 = sum, strings.Repeat("0", 32)
	if _, err := s.Ingest(context.Background(), path, src, asIs); !errors.Is(err, cache.ErrIntegrity) {
		t.Errorf("another md5: %v", err)
	}
}

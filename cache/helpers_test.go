package cache

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// newStore makes a store of this user's own in a temporary directory.
func newStore(t testing.TB) *Store {
	t.Helper()
	s, err := Create(filepath.Join(t.TempDir(), "store"), Format{Platforms: []string{"linux-64"}, OwnerUID: os.Getuid()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// member is one member of a tar that a test builds.
type member struct {
	name string
	body string
	mode int64
	kind byte // default: regular file
	link string
}

func makeTar(t testing.TB, members ...member) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, m := range members {
		h := &tar.Header{Name: m.name, Mode: m.mode, Typeflag: m.kind, Linkname: m.link}
		if h.Typeflag == 0 {
			h.Typeflag, h.Size = tar.TypeReg, int64(len(m.body))
		}
		if h.Mode == 0 {
			h.Mode = 0o644
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := w.Write([]byte(m.body)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zstdOf(t testing.TB, data []byte) []byte {
	t.Helper()
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return e.EncodeAll(data, nil)
}

// part is one member of a ZIP that a test builds.
type part struct {
	name    string
	data    []byte
	deflate bool
}

func makeZip(t testing.TB, parts ...part) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, p := range parts {
		h := &zip.FileHeader{Name: p.name, Method: zip.Store}
		if p.deflate {
			h.Method = zip.Deflate
		}
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(p.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// makeConda returns a .conda package with these members and a minimal info part.
func makeConda(t testing.TB, members ...member) []byte {
	t.Helper()
	info := makeTar(t, member{name: "info/index.json", body: `{"name":"demo","version":"1"}`})
	return makeZip(t, part{name: "metadata.json", data: []byte(`{"conda_pkg_format_version": 2}`)},
		part{name: "pkg-demo-1-0.tar.zst", data: zstdOf(t, makeTar(t, members...))},
		part{name: "info-demo-1-0.tar.zst", data: zstdOf(t, info)})
}

// sourceOf describes data as a lock would.
func sourceOf(data []byte, format ArchiveFormat, url string) Source {
	sum := md5.Sum(data)
	return Source{Name: "demo-1-0", URL: url, SHA256: digestOf(data), MD5: hex.EncodeToString(sum[:]), Size: int64(len(data)), Format: format}
}

// plain is an interpreter that keeps all outside info/ and asks for placeholder
// in every file of at least its length.
func plain(placeholder string) Interpreter {
	return func(raw *Raw) ([]Entry, json.RawMessage, []string, error) {
		var out []Entry
		for _, e := range raw.Entries {
			if len(e.Path) > 5 && e.Path[:5] == "info/" {
				continue
			}
			if placeholder != "" && e.Type == EntryFile && e.Size >= int64(len(placeholder)) {
				e.Placeholder = placeholder
			}
			out = append(out, e)
		}
		return out, json.RawMessage(`{"kind":"test"}`), []string{"a note"}, nil
	}
}

func writeFile(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "archive")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func mustIngest(t testing.TB, s *Store, data []byte, format ArchiveFormat) *Manifest {
	t.Helper()
	m, err := s.Ingest(context.Background(), writeFile(t, data), sourceOf(data, format, "https://conda.example/demo-1-0"), plain(""))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// poolFiles lists all that lies in the pool, probes and parts included.
func poolFiles(t testing.TB, s *Store) []string {
	t.Helper()
	var out []string
	root := filepath.Join(s.root, "pool", "files")
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, filepath.Base(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// emptyDir fails the test if a directory of the store holds more than allowed.
func emptyDir(t testing.TB, s *Store, dir string, allowed ...string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(s.root, dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		ok := false
		for _, a := range allowed {
			ok = ok || e.Name() == a
		}
		if !ok {
			t.Errorf("%s holds %s", dir, e.Name())
		}
	}
}

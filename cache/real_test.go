package cache

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/internal/testdata"
)

func realPackages(t testing.TB) []string {
	var out []string
	err := filepath.WalkDir(filepath.Join(testdata.Shared(t), "data", "packages"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && (strings.HasSuffix(path, ".conda") || strings.HasSuffix(path, ".tar.bz2")) {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) == 0 {
		t.Fatal("the shared data holds no conda package")
	}
	return out
}

func formatOf(path string) ArchiveFormat {
	if strings.HasSuffix(path, ".conda") {
		return FormatConda
	}
	return FormatTarBz2
}

// brokenPackages are collected packages that must fail, by file name, with a
// part of the message: their makers lost the text of a symbolic link.
var brokenPackages = map[string]string{
	"zlib-1.2.11-h7b6447c_3.conda": `link "lib/libz.so.1" has no text`,
	"zlib-1.2.11-h1de35cc_3.conda": `link "lib/libz.1.dylib" has no text`,
}

// TestRealPackages takes every collected package in.
func TestRealPackages(t *testing.T) {
	s := newStore(t)
	for _, path := range realPackages(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		src := sourceOf(data, formatOf(path), "https://conda.example/"+filepath.Base(path))
		_, err = s.Ingest(context.Background(), path, src, plain(""))
		if want, broken := brokenPackages[filepath.Base(path)]; broken {
			if !errors.Is(err, ErrIntegrity) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want an integrity error with %q", path, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if _, err := s.Manifest(src.SHA256); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	emptyDir(t, s, "tmp", "locks")
}

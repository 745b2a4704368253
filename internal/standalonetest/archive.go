// Package standalonetest builds archives in the layout of python-build-standalone's
// install_only archives, for tests.
//
// Enters: a list of files, made up (Small) or those of a real CPython of this host
// (Real). Leaves: a .tar.gz or .tar.zst. It shares no code with what reads and
// installs such archives.
package standalonetest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// File is one path below python/: a regular file, or a link if Link is set, or a
// directory if Path ends with /.
type File struct {
	Path    string
	Content string
	Exec    bool
	Link    string
}

// when is the modification time of all members.
var when = time.Unix(1700000000, 0)

// write writes a tar of files below top.
func write(t testing.TB, w io.Writer, top string, files []File) {
	t.Helper()
	out := tar.NewWriter(w)
	files = append([]File(nil), files...)
	sort.SliceStable(files, func(i, j int) bool { return files[i].Path < files[j].Path })
	for _, f := range files {
		h := &tar.Header{Name: top + f.Path, Mode: 0o644, Typeflag: tar.TypeReg, Size: int64(len(f.Content)), ModTime: when, Format: tar.FormatPAX}
		switch {
		case f.Link != "":
			h.Typeflag, h.Linkname, h.Size, h.Mode = tar.TypeSymlink, f.Link, 0, 0o777
		case strings.HasSuffix(f.Path, "/"):
			h.Typeflag, h.Mode = tar.TypeDir, 0o755
		case f.Exec:
			h.Mode = 0o755
		}
		if err := out.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := io.WriteString(out, f.Content); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// TarGz is an archive of the files, below python/.
func TarGz(t testing.TB, files []File) []byte { return TarGzBelow(t, "python/", files) }

// TarGzBelow is TarGz with another folder.
func TarGzBelow(t testing.TB, top string, files []File) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	write(t, z, top, files)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TarZst is TarGz with zstd.
func TarZst(t testing.TB, files []File) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	write(t, z, "python/", files)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// SHA256 of an archive, in hex.
func SHA256(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

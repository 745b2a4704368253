package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/cosnicolaou/pbzip2"
	"github.com/klauspost/compress/zstd"
)

// seedTar is a tar with each kind of member.
func seedTar(t testing.TB) []byte {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, h := range []*tar.Header{
		{Name: "info/index.json", Mode: 0o644, Size: 2},
		{Name: "bin/", Typeflag: tar.TypeDir, Mode: 0o755},
		{Name: "bin/a", Mode: 0o755, Size: 2},
		{Name: "bin/l", Typeflag: tar.TypeSymlink, Linkname: "a"},
		{Name: "bin/h", Typeflag: tar.TypeLink, Linkname: "bin/a"},
		{Name: strings.Repeat("long/", 50), Typeflag: tar.TypeDir, Format: tar.FormatGNU},
		{Name: strings.Repeat("pax/", 70) + "f", Size: 2, Format: tar.FormatPAX},
	} {
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := w.Write([]byte("{}")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func seedConda(t testing.TB) []byte {
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range []string{"info-a.tar.zst", "pkg-a.tar.zst"} {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(e.EncodeAll(seedTar(t), nil)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func seedTarGz(t testing.TB) []byte { return gzipped(t, seedTar(t)) }

func seedTarZst(t testing.TB) []byte {
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return e.EncodeAll(seedTar(t), nil)
}

// TestPlainTars: a tar in gzip or zstd shows the members that it has.
func TestPlainTars(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		read func(context.Context, io.ReaderAt, int64, Limits, Visitor) error
	}{"gzip": {seedTarGz(t), ReadTarGz}, "gzip, two streams": {append(seedTarGz(t), gzipped(t, make([]byte, 1024))...), ReadTarGz}, "zstd": {seedTarZst(t), ReadTarZst}} {
		var got []string
		err := c.read(context.Background(), bytes.NewReader(c.data), int64(len(c.data)), LimitsFor(0), func(m Member, content io.Reader) error {
			data, err := io.ReadAll(content)
			got = append(got, fmt.Sprint(path.Base(m.Path), " ", m.Kind, m.Exec, m.Target, string(data)))
			return err
		})
		want := []string{"index.json 0 false{}", "bin 2 false", "a 0 true{}", "l 1 falsea", "h 3 falsebin/a", "long 2 false", "f 0 false{}"}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		for cut := 1; cut < len(c.data); cut++ { // nothing at all is a tar of nothing
			visit := func(_ Member, content io.Reader) error { _, err := io.Copy(io.Discard, content); return err }
			if err := c.read(context.Background(), bytes.NewReader(c.data[:cut]), int64(cut), LimitsFor(0), visit); !errors.Is(err, ErrIntegrity) && name != "gzip, two streams" {
				t.Fatalf("%s, cut after %d bytes of %d: %v", name, cut, len(c.data), err)
			}
		}
	}
}

func gzipped(t testing.TB, data []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// fuzzLimits are small, so that the fuzzer gets beyond them.
var fuzzLimits = Limits{MaxBytes: 1 << 20, MaxEntries: 100, MaxPath: 400, MaxLink: 400, MaxName: 255}

// FuzzRead: whatever the bytes, reading ends with nil or an error of a class,
// and shows only checked names, within the limits.
func FuzzRead(f *testing.F) {
	f.Add(seedConda(f), byte(0))
	f.Add(seedTar(f), byte(1))
	// "hello" as bzip2 -9 writes it: a stream that is fine, of no tar.
	f.Add([]byte("BZh91AY&SY\x19\x31\x65\x3d\x00\x00\x00\x81\x00\x02\x44\xa0\x00\x21\x9a\x68\x33\x4d\x07\x33\x8b\xb9\x22\x9c\x28\x48\x0c\x98\xb2\x9e\x80"), byte(2))
	f.Add([]byte("BZh91AY&SY\x19\x31\x65\x3d\x00\x00\x00\x81\x00\x02\x44\xa0\x00\x21\x9a\x68\x33\x4d\x07\x33\x8b\xb9\x22\x9c\x28\x48\x0c\x98\xb2\x9e\x80"), byte(3))
	f.Add(seedTarGz(f), byte(4))
	f.Add(seedTarZst(f), byte(5))
	f.Fuzz(func(t *testing.T, data []byte, kind byte) {
		var total int64
		members := 0
		visit := func(m Member, content io.Reader) error {
			members++
			if m.Path == "" || path.Clean("/"+m.Path) != "/"+m.Path || strings.ContainsAny(m.Path, "\\\x00") || len(m.Path) > fuzzLimits.MaxPath {
				t.Fatalf("name %q was let through", m.Path)
			}
			n, err := io.Copy(io.Discard, content)
			total += n
			if err == nil && n != m.Size {
				t.Fatalf("%q has %d bytes, header says %d", m.Path, n, m.Size)
			}
			return err
		}
		ctx, r, size := context.Background(), bytes.NewReader(data), int64(len(data))
		var err error
		switch kind % 6 {
		case 0:
			err = ReadConda(ctx, r, size, fuzzLimits, visit)
		case 1:
			left := &counter{bytes: fuzzLimits.MaxBytes, entries: fuzzLimits.MaxEntries}
			err = readTar(ctx, bytes.NewReader(data), fuzzLimits, left, visit)
		case 2:
			err = ReadTarBz2(ctx, r, size, fuzzLimits, visit)
		case 3:
			// The parallel decompressor, whatever the size.
			inner, cancel := context.WithCancel(ctx)
			defer cancel()
			left := &counter{bytes: fuzzLimits.MaxBytes, entries: fuzzLimits.MaxEntries}
			err = readTar(ctx, pbzip2.NewReader(inner, r), fuzzLimits, left, visit)
		case 4:
			err = ReadTarGz(ctx, r, size, fuzzLimits, visit)
		case 5:
			err = ReadTarZst(ctx, r, size, fuzzLimits, visit)
		}
		if err != nil && !errors.Is(err, ErrIntegrity) && !errors.Is(err, ErrUnsafe) {
			t.Fatalf("error without class: %v", err)
		}
		// A sparse member counts when it has been shown.
		if total > 2*fuzzLimits.MaxBytes || members > fuzzLimits.MaxEntries {
			t.Fatalf("%d bytes and %d members were let through", total, members)
		}
	})
}

func TestCleanPath(t *testing.T) {
	lim := LimitsFor(0)
	for name, want := range map[string]string{"a": "a", "./a": "a", "a/": "a", "a//b": "a/b", "a/./b": "a/b", ".": "", "./": "", "": "", "...": "...", "a..b/..c": "a..b/..c"} {
		if got, err := CleanPath(name, lim); got != want || err != nil {
			t.Errorf("CleanPath(%q) = %q, %v, want %q", name, got, err, want)
		}
	}
	for _, name := range []string{"/", "/a", "..", "a/..", "../a", "a\x00b", `a\b`, strings.Repeat("x", 256), strings.Repeat("x/", 2050)} {
		if got, err := CleanPath(name, lim); !errors.Is(err, ErrUnsafe) {
			t.Errorf("CleanPath(%q) = %q, %v", name, got, err)
		}
	}
}

func TestLimitsGrowWithTheArchive(t *testing.T) {
	for _, c := range []struct {
		size, bytes int64
		entries     int
	}{
		{0, 256 << 20, 100_000},
		{1 << 20, 1000 << 20, 100_000},
		{16 << 20, 16000 << 20, 1 << 20},
		{50 << 30, 100 << 30, 5_000_000},
	} {
		if l := LimitsFor(c.size); l.MaxBytes != c.bytes || l.MaxEntries != c.entries {
			t.Errorf("%d bytes: got %+v", c.size, l)
		}
	}
}

func TestTooManyMembersAndTooManyBytes(t *testing.T) {
	data := seedTar(t)
	lim := fuzzLimits
	lim.MaxEntries = 3
	read := func(lim Limits) error {
		left := &counter{bytes: lim.MaxBytes, entries: lim.MaxEntries}
		return readTar(context.Background(), bytes.NewReader(data), lim, left, func(Member, io.Reader) error { return nil })
	}
	if err := read(lim); !errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), "more than 3 members") {
		t.Errorf("got %v", err)
	}
	lim = fuzzLimits
	lim.MaxBytes = 2000
	if err := read(lim); !errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), "2000 bytes") {
		t.Errorf("got %v", err)
	}
	if err := read(fuzzLimits); err != nil {
		t.Error(err)
	}
}

func TestVisitorsErrorEndsTheReading(t *testing.T) {
	mine := errors.New("mine")
	data := seedConda(t)
	if err := ReadConda(context.Background(), bytes.NewReader(data), int64(len(data)), fuzzLimits, func(Member, io.Reader) error { return mine }); !errors.Is(err, mine) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := ReadConda(ctx, bytes.NewReader(data), int64(len(data)), fuzzLimits, func(Member, io.Reader) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

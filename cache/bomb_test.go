package cache

import (
	"context"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
)

// A placeholder of one byte makes a file grow by a prefix at each of its bytes, in
// every environment: what fits into an archive is no measure.
func TestPlaceholdersThatExplode(t *testing.T) {
	s := newStore(t)
	for name, ms := range map[string][]member{
		"one file":   {{name: "t", body: strings.Repeat("a", maxOffsets+1)}},
		"many files": {{name: "t", body: strings.Repeat("a", maxOffsets/2+1)}, {name: "u", body: strings.Repeat("ab", maxOffsets/2+1)}},
	} {
		data := makeConda(t, ms...)
		_, err := s.Ingest(context.Background(), writeFile(t, data), sourceOf(data, FormatConda, ""), plain("a"))
		if !errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), "1048576") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := s.Manifest(digestOf(data)); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: the package can be seen: %v", name, err)
		}
	}
	emptyDir(t, s, "tmp", "locks")
	data := makeConda(t, member{name: "t", body: strings.Repeat("a", maxOffsets)})
	m, err := s.Ingest(context.Background(), writeFile(t, data), sourceOf(data, FormatConda, ""), plain("a"))
	if err != nil || len(m.Entries[0].Offsets) != maxOffsets {
		t.Errorf("as many as may be: %v", err)
	}
}

// brokenDisk fails from one offset on.
type brokenDisk struct {
	r    io.ReaderAt
	from int64
	err  error
}

func (d brokenDisk) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > d.from {
		return 0, d.err
	}
	return d.r.ReadAt(p, off)
}

// An archive that cannot be read is the disk's fault, not its maker's, wherever in
// it that happens.
func TestDiskThatFailsIsNotTheArchive(t *testing.T) {
	s := newStore(t)
	for format, data := range map[ArchiveFormat]string{
		FormatConda:  string(makeConda(t, member{name: "a", body: strings.Repeat("text ", 9000)})),
		FormatTarBz2: string(bzip2Of(t, makeTar(t, member{name: "a", body: "text"}, member{name: "info/index.json", body: "{}"}))),
	} {
		for _, errno := range []error{syscall.EIO, syscall.ESTALE} {
			for from := int64(0); from < int64(len(data)); from += max(1, int64(len(data)/20)) {
				src := sourceOf([]byte(data), format, "")
				_, err := s.take(context.Background(), brokenDisk{strings.NewReader(data), from, errno}, "x", int64(len(data)), src, plain(""))
				if !errors.Is(err, ErrStore) || !errors.Is(err, errno) || errors.Is(err, ErrIntegrity) || errors.Is(err, ErrUnsafe) {
					t.Errorf("%s, %v from %d on: %v", format, errno, from, err)
				}
			}
		}
	}
	emptyDir(t, s, "tmp", "locks")
}

// What closing tells is the store's fault, too.
func TestLinkerThatCannotBeClosed(t *testing.T) {
	s := newStore(t)
	l, err := s.NewLinker(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); !errors.Is(err, ErrStore) {
		t.Errorf("got %v", err)
	}
}

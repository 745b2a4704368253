package cache

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkIngest takes a package of many small and some large files in; MB/s
// are of unpacked content.
func BenchmarkIngest(b *testing.B) {
	var members []member
	var total int64
	for i := range 2000 {
		body := fmt.Sprintf("%d\n%s", i, noise(8<<10))
		members = append(members, member{name: fmt.Sprintf("lib/m%d/f%d.py", i%50, i), body: body})
		total += int64(len(body))
	}
	for i := range 8 {
		body := fmt.Sprintf("%d\n%s", i, noise(8<<20))
		members = append(members, member{name: fmt.Sprintf("lib/l%d.so", i), body: body, mode: 0o755})
		total += int64(len(body))
	}
	data := makeConda(b, members...)
	path, src := writeFile(b, data), sourceOf(data, FormatConda, "")
	b.SetBytes(total)
	for b.Loop() {
		b.StopTimer()
		s := newStore(b)
		b.StartTimer()
		if _, err := s.Ingest(context.Background(), path, src, plain("")); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLink links one package's files, as many as a large environment has.
func BenchmarkLink(b *testing.B) {
	const n = 5000
	var members []member
	for i := range n {
		members = append(members, member{name: fmt.Sprintf("f%d", i), body: fmt.Sprint(i)})
	}
	s := newStore(b)
	m := mustIngest(b, s, makeConda(b, members...), FormatConda)
	for b.Loop() {
		b.StopTimer()
		dir := b.TempDir()
		d, err := os.Open(dir)
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		l, err := s.NewLinker(dir)
		if err != nil {
			b.Fatal(err)
		}
		for _, e := range m.Entries {
			if _, err := l.LinkAt(int(d.Fd()), filepath.Base(e.Path), e); err != nil {
				b.Fatal(err)
			}
		}
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if err := d.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/file")
}

// BenchmarkManifest decodes a manifest of 10,000 entries.
func BenchmarkManifest(b *testing.B) {
	m := &Manifest{Version: manifestVersion, SHA256: digestOf(nil), Format: FormatConda}
	for i := range 10_000 {
		m.Entries = append(m.Entries, Entry{Path: fmt.Sprintf("lib/python3.12/site-packages/f%05d", i), Type: EntryFile, SHA256: digestOf([]byte{byte(i)}), Size: 1})
	}
	data, err := m.Encode()
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := DecodeManifest(data); err != nil {
			b.Fatal(err)
		}
	}
}

package cache

import (
	"archive/tar"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestELFEntries: a manifest names what begins as an ELF file, whatever its size, name
// and mode, and looking at the pool's files says the same.
func TestELFEntries(t *testing.T) {
	s := newStore(t)
	m := mustIngest(t, s, makeConda(t,
		member{name: "a/large", body: elfMagic + strings.Repeat("x", smallFile)},
		member{name: "a/text", body: "text"},
		member{name: "b/hard", kind: tar.TypeLink, link: "a/large"},
		member{name: "b/link", kind: tar.TypeSymlink, link: "../a/large"},
		member{name: "b/magic", body: elfMagic},
		member{name: "b/short", body: elfMagic[:3]},
		member{name: "b/twice", body: elfMagic + "first"},
		member{name: "b/twice", body: "second"},
		member{name: "c/empty"},
		member{name: "c/program", body: elfMagic + "y", mode: 0o755}), FormatConda)
	names := func(m *Manifest) (out []string) {
		entries, err := m.ELFEntries(s.BeginsELF)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			out = append(out, e.Path)
		}
		return out
	}
	want := []string{"a/large", "b/hard", "b/magic", "c/program"}
	if got := names(m); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	again, err := s.Manifest(m.SHA256)
	if err != nil || !cmp.Equal(m, again) {
		t.Errorf("read again: %v %s", err, cmp.Diff(m, again))
	}
	old := *m
	old.ELF = nil
	if got := names(&old); !slices.Equal(got, want) {
		t.Errorf("looked for: %v", got)
	}
	data, err := old.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if m, err := DecodeManifest(data); err != nil || m.ELF != nil {
		t.Errorf("an earlier release's: %v, %v", m, err)
	}
	text := mustIngest(t, s, makeConda(t, member{name: "a", body: "text"}), FormatConda)
	if text.ELF == nil || len(text.ELF) > 0 {
		t.Errorf("a package without: %v", text.ELF)
	}
	for _, bad := range [][]int{{-1}, {99}, {1, 1}, {4}} {
		m := *m
		if m.Entries[4].Type == EntryFile && bad[0] == 4 {
			bad = []int{slices.IndexFunc(m.Entries, func(e Entry) bool { return e.Type == EntryLink })}
		}
		if m.ELF = bad; m.check() == nil {
			t.Errorf("%v is taken", bad)
		}
	}
}

// TestKeepFile: it replaces, has its mode, leaves nothing in tmp/ and goes nowhere else.
func TestKeepFile(t *testing.T) {
	s := newStore(t)
	path := s.ELFPath(7, strings.Repeat("a", 64))
	for _, text := range []string{"one", "two"} {
		if err := s.KeepFile(path, 0o444, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if data, err := readPublished(path); err != nil || string(data) != text {
			t.Errorf("%q, %v", data, err)
		}
	}
	if err := s.KeepFile("/elsewhere/x", 0o444, nil); err == nil {
		t.Error("a file outside of the store")
	}
	emptyDir(t, s, "tmp", "locks")
}

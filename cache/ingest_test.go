package cache

import (
	"archive/tar"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIngestPublishesWhatTheArchiveHolds(t *testing.T) {
	s := newStore(t)
	long := strings.Repeat("long/", 40) + "tab\tand\nline"
	m := mustIngest(t, s, makeConda(t,
		member{name: "./bin/", kind: tar.TypeDir, mode: 0o755},
		member{name: "bin/tool", body: "#!/bin/sh\n", mode: 0o4775},
		member{name: "lib/same", body: "#!/bin/sh\n"},
		member{name: "lib/twice", body: "first"},
		member{name: "lib/hard", kind: tar.TypeLink, link: "./lib/twice"},
		member{name: "lib/twice", body: "second"},
		member{name: "lib/empty"},
		member{name: "lib/soft", kind: tar.TypeSymlink, link: "../bin/tool"},
		member{name: long, body: "x"}), FormatConda)

	file := func(path, body string, exec bool) Entry {
		return Entry{Path: path, Type: EntryFile, Exec: exec, SHA256: digestOf([]byte(body)), Size: int64(len(body))}
	}
	want := []Entry{
		{Path: "bin", Type: EntryDir},
		file("bin/tool", "#!/bin/sh\n", true),
		file("lib/empty", "", false),
		file("lib/hard", "first", false), // the earlier one of two with this name
		file("lib/same", "#!/bin/sh\n", false),
		{Path: "lib/soft", Type: EntryLink, Target: "../bin/tool"},
		file("lib/twice", "second", false),
		file(long, "x", false),
	}
	if d := cmp.Diff(want, m.Entries); d != "" {
		t.Errorf("entries (-want +got):\n%s", d)
	}
	published, err := s.Manifest(m.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(m, published); d != "" {
		t.Errorf("returned and published manifest differ:\n%s", d)
	}
	// The empty file and what only info/ holds have no pool file.
	got := poolFiles(t, s)
	slices.Sort(got)
	wantPool := []string{digestOf([]byte("#!/bin/sh\n")) + "x", digestOf([]byte("#!/bin/sh\n")), digestOf([]byte("first")),
		digestOf([]byte("second")), digestOf([]byte("x"))}
	slices.Sort(wantPool)
	if d := cmp.Diff(wantPool, got); d != "" {
		t.Errorf("pool (-want +got):\n%s", d)
	}
	for _, exec := range []bool{false, true} {
		st, err := os.Stat(s.PoolPath(digestOf([]byte("#!/bin/sh\n")), exec))
		if err != nil {
			t.Fatal(err)
		}
		if st.Mode() != poolMode(exec) || !st.ModTime().Equal(FileTime) {
			t.Errorf("pool file has mode %s and time %s", st.Mode(), st.ModTime())
		}
	}
	emptyDir(t, s, "tmp", "locks")
}

func TestManifestOfAnAbsentPackageIsNotFound(t *testing.T) {
	s := newStore(t)
	if _, err := s.Manifest(strings.Repeat("0", 64)); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
}

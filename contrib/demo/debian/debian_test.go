package debian_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/contrib/demo/debian"
)

// index answers like apt, from a map.
type index map[string]*debian.Stanza

func (i index) Show(_ context.Context, _ string, names []string) (map[string]*debian.Stanza, error) {
	out := map[string]*debian.Stanza{}
	for _, n := range names {
		if i[n] != nil {
			out[n] = i[n]
		}
	}
	return out, nil
}

func stanza(name string, depends ...[]string) *debian.Stanza {
	return &debian.Stanza{Package: name, Depends: depends}
}

func TestClosure(t *testing.T) {
	idx := index{
		"a": stanza("a", []string{"gone", "b"}, []string{"libc6"}, []string{"c"}),
		"b": stanza("b", []string{"c", "d"}),
		"c": stanza("c", []string{"a"}), // a circle
		"d": stanza("d"),
	}
	stop := func(n string) bool { return n == "libc6" }
	set, err := debian.Closure(t.Context(), idx, "amd64", []string{"a"}, stop)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for n := range set.Packages {
		names = append(names, n)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"a", "b", "c"}, names); diff != "" {
		t.Errorf("closure (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b", "c"}, set.Needs["a"]); diff != "" {
		t.Errorf("needs of a (-want +got):\n%s", diff)
	}
	for _, roots := range [][]string{{"nowhere"}, {"e"}} {
		idx["e"] = stanza("e", []string{"gone", "lost"})
		if _, err := debian.Closure(t.Context(), idx, "amd64", roots, stop); !errors.Is(err, debian.ErrApt) {
			t.Errorf("closure of %v: error %v, want ErrApt", roots, err)
		}
	}
}

func TestUpstreamVersion(t *testing.T) {
	for in, want := range map[string]string{"1:1.2.13.dfsg-1": "1.2.13.dfsg", "3.11.2-6+deb12u9": "3.11.2", "2024a": "2024a", "1.0-2-3": "1.0-2"} {
		if got := (&debian.Stanza{Version: in}).Upstream(); got != want {
			t.Errorf("upstream version of %s is %s, want %s", in, got, want)
		}
	}
}

// fakeDeb makes a .deb from files by path; a value "-> x" is a link.
func fakeDeb(t *testing.T, files map[string]string) string {
	t.Helper()
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("dpkg-deb IS NOT INSTALLED")
	}
	root := t.TempDir()
	files["DEBIAN/control"] = "Package: fake\nVersion: 1.0-1\nArchitecture: all\nMaintainer: none\nDescription: fake\n"
	for name, data := range files {
		full := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if len(data) > 3 && data[:3] == "-> " {
			if err := os.Symlink(data[3:], full); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(full, []byte(data), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	deb := filepath.Join(t.TempDir(), "fake.deb")
	if out, err := exec.Command("dpkg-deb", "--root-owner-group", "--build", root, deb).CombinedOutput(); err != nil {
		t.Fatalf("dpkg-deb: %v: %s", err, out)
	}
	return deb
}

func TestRead(t *testing.T) {
	deb := fakeDeb(t, map[string]string{"usr/bin/x": "program", "usr/lib/y": "-> ../bin/x", "usr/lib/empty": ""})
	got, err := debian.Read(t.Context(), deb)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(got, func(a, b debian.Entry) int { return strings.Compare(a.Path, b.Path) })
	want := []debian.Entry{
		{Path: "usr/bin/x", Executable: true, Data: []byte("program")},
		{Path: "usr/lib/empty", Executable: true, Data: []byte{}},
		{Path: "usr/lib/y", Executable: true, Link: "../bin/x"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if err := os.Truncate(deb, 300); err != nil {
		t.Fatal(err)
	}
	if _, err := debian.Read(t.Context(), deb); !errors.Is(err, debian.ErrApt) {
		t.Errorf("a truncated package: error %v, want ErrApt", err)
	}
}

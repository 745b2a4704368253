package cache

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBadArchivesAreRefused: nothing of them can be seen, and nothing appears
// outside of the store.
func TestBadArchivesAreRefused(t *testing.T) {
	conda := func(ms ...member) []byte { return makeConda(t, ms...) }
	meta := part{name: "metadata.json", data: []byte(`{"conda_pkg_format_version": 2}`)}
	info := part{name: "info-demo-1-0.tar.zst", data: zstdOf(t, makeTar(t, member{name: "info/index.json", body: "{}"}))}
	pkgTar := makeTar(t, member{name: "a", body: strings.Repeat("text ", 1000)})
	pkg := func(data []byte) part { return part{name: "pkg-demo-1-0.tar.zst", data: data} }
	good := zstdOf(t, pkgTar)
	for _, c := range []struct {
		name string
		data []byte
		want error
		text string
	}{
		{"absolute name", conda(member{name: "/etc/evil", body: "x"}), ErrUnsafe, "absolute"},
		{"escaping name", conda(member{name: "a/../../evil", body: "x"}), ErrUnsafe, `".."`},
		{"escaping to the same place", conda(member{name: "a/../b", body: "x"}), ErrUnsafe, `".."`},
		{"dots alone", conda(member{name: "..", body: "x"}), ErrUnsafe, `".."`},
		{"escaping directory", conda(member{name: "../d/", kind: tar.TypeDir}), ErrUnsafe, `".."`},
		{"backslash", conda(member{name: `a\..\b`, body: "x"}), ErrUnsafe, "backslash"},
		{"root as a file", conda(member{name: "./.", body: "x"}), ErrUnsafe, "empty"},
		{"long component", conda(member{name: strings.Repeat("n", 256), body: "x"}), ErrUnsafe, "255"},
		{"long name", conda(member{name: strings.Repeat("n/", 2100) + "x", body: "x"}), ErrUnsafe, "4095"},
		{"long link", conda(member{name: "l", kind: tar.TypeSymlink, link: strings.Repeat("n/", 2100)}), ErrUnsafe, "4095"},
		{"character device", conda(member{name: "dev", kind: tar.TypeChar}), ErrUnsafe, "character device"},
		{"block device", conda(member{name: "dev", kind: tar.TypeBlock}), ErrUnsafe, "block device"},
		{"named pipe", conda(member{name: "fifo", kind: tar.TypeFifo}), ErrUnsafe, "named pipe"},
		{"unknown type", conda(member{name: "what", kind: 'Q'}), ErrUnsafe, "unknown type"},
		{"write through a link", conda(member{name: "lib", kind: tar.TypeSymlink, link: "/etc"}, member{name: "lib/passwd", body: "x"}), ErrUnsafe, "which is a link"},
		{"write through a link, link last", conda(member{name: "lib/passwd", body: "x"}, member{name: "lib", kind: tar.TypeSymlink, link: "/etc"}), ErrUnsafe, "which is a link"},
		{"write through a link, deep", conda(member{name: "a", kind: tar.TypeSymlink, link: "."}, member{name: "a/b/c/d", body: "x"}), ErrUnsafe, "which is a link"},
		{"file as directory", conda(member{name: "lib", body: "y"}, member{name: "lib/passwd", body: "x"}), ErrUnsafe, "which is a file"},
		{"hard link outside", conda(member{name: "h", kind: tar.TypeLink, link: "../../etc/passwd"}), ErrUnsafe, `".."`},
		{"hard link to the host", conda(member{name: "h", kind: tar.TypeLink, link: "/etc/passwd"}), ErrUnsafe, "absolute"},
		{"hard link to what comes later", conda(member{name: "h", kind: tar.TypeLink, link: "a"}, member{name: "a", body: "x"}), ErrUnsafe, "no earlier file"},
		{"hard link to a directory", conda(member{name: "a/", kind: tar.TypeDir}, member{name: "h", kind: tar.TypeLink, link: "a"}), ErrUnsafe, "no earlier file"},
		{"bomb", makeZip(t, meta, info, pkg(bomb(t, 300<<20))), ErrUnsafe, "alone has 314572800 bytes"},
		{"bomb in padding", makeZip(t, meta, info, pkg(zeros(t, 300<<20))), ErrUnsafe, "expands to more than"},
		{"no info part", makeZip(t, meta, pkg(good)), ErrIntegrity, "no info-"},
		{"two pkg parts", makeZip(t, meta, info, pkg(good), part{name: "./pkg-x.tar.zst", data: good}), ErrIntegrity, "two parts"},
		{"newer container", makeZip(t, part{name: "metadata.json", data: []byte(`{"conda_pkg_format_version": 3}`)}, info, pkg(good)), ErrIntegrity, "version 3"},
		{"truncated zstd", makeZip(t, meta, info, pkg(good[:len(good)-3])), ErrIntegrity, "pkg-demo"},
		{"zstd with garbage behind", makeZip(t, meta, info, pkg(append(good[:len(good):len(good)], "garbage"...))), ErrIntegrity, "pkg-demo"},
		{"tar with garbage behind", makeZip(t, meta, info, pkg(zstdOf(t, append(pkgTar[:len(pkgTar):len(pkgTar)], "garbage"...)))), ErrIntegrity, "after the end"},
		{"truncated tar", makeZip(t, meta, info, pkg(zstdOf(t, pkgTar[:900]))), ErrIntegrity, "truncated"},
		{"zip with garbage behind", append(makeZip(t, meta, info, pkg(good)), "garbage"...), ErrIntegrity, "data after the end of the ZIP"},
		{"no zip", []byte("this is no ZIP at all"), ErrIntegrity, "ZIP"},
		{"truncated zip", conda(member{name: "a", body: "x"})[:300], ErrIntegrity, "ZIP"},
		{"damaged part", damage(makeZip(t, meta, info, pkg(good)), good), ErrIntegrity, "pkg-demo"},
		{"empty", nil, ErrIntegrity, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStore(t)
			before := list(t, filepath.Dir(s.root))
			_, err := s.Ingest(context.Background(), writeFile(t, c.data), sourceOf(c.data, FormatConda, ""), plain(""))
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v, want %v with %q", err, c.want, c.text)
			}
			if err != nil && !strings.HasSuffix(err.Error(), "; next: lock another build of it, or tell its channel") {
				t.Errorf("what is to be done is not said: %v", err)
			}
			if _, err := s.Manifest(digestOf(c.data)); !errors.Is(err, ErrNotFound) {
				t.Errorf("the package can be seen: %v", err)
			}
			if after := list(t, filepath.Dir(s.root)); after != before {
				t.Errorf("outside of the store: %s, before %s", after, before)
			}
			emptyDir(t, s, "tmp", "locks")
		})
	}
}

func list(t testing.TB, dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// bomb is a small zstd frame of a tar with one member of n zero bytes.
func bomb(t testing.TB, n int) []byte {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	if err := w.WriteHeader(&tar.Header{Name: "zeros", Mode: 0o644, Size: int64(n)}); err != nil {
		t.Fatal(err)
	}
	out.Write(make([]byte, n))
	return zstdOf(t, out.Bytes())
}

// zeros is a small zstd frame of a tar without members and n bytes of padding.
func zeros(t testing.TB, n int) []byte { return zstdOf(t, make([]byte, n)) }

// damage flips a bit in the middle of where inner lies in outer.
func damage(outer, inner []byte) []byte {
	at := bytes.Index(outer, inner) + len(inner)/2
	outer[at] ^= 1
	return outer
}

func TestOddButValidArchives(t *testing.T) {
	info := zstdOf(t, makeTar(t, member{name: "info/index.json", body: "{}"}))
	pkg := zstdOf(t, makeTar(t, member{name: "a", body: "text"}))
	for name, data := range map[string][]byte{
		"deflated members": makeZip(t, part{"pkg-x.tar.zst", pkg, true}, part{"info-x.tar.zst", info, true}),
		"dot names":        makeZip(t, part{"./pkg-x.tar.zst", pkg, false}, part{"./info-x.tar.zst", info, false}),
		"unknown members":  makeZip(t, part{"other.tar.zst", []byte("?"), false}, part{"sub/pkg-y.tar.zst", []byte("?"), false}, part{"pkg-x.tar.zst", pkg, false}, part{"info-x.tar.zst", info, false}),
		"several frames":   makeZip(t, part{"pkg-x.tar.zst", append(zstdOf(t, nil), pkg...), false}, part{"info-x.tar.zst", info, false}),
	} {
		t.Run(name, func(t *testing.T) {
			m := mustIngest(t, newStore(t), data, FormatConda)
			if len(m.Entries) != 1 || m.Entries[0].Path != "a" {
				t.Errorf("got %v", m.Entries)
			}
		})
	}
	t.Run("no pkg part", func(t *testing.T) {
		if m := mustIngest(t, newStore(t), makeZip(t, part{"info-x.tar.zst", info, false}), FormatConda); len(m.Entries) != 0 {
			t.Errorf("got %v", m.Entries)
		}
	})
}

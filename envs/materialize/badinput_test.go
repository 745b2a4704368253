package materialize_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/internal/condatest"
)

// rawMember is a member of an archive that condatest would not write.
type rawMember struct {
	name, body, link string
	kind             byte
}

// rawArchive writes bad-1-0.tar.bz2 with a proper info/ and the members; paths is
// the list in its paths.json.
func rawArchive(t *testing.T, paths string, members ...rawMember) string {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	members = append([]rawMember{
		{name: "info/index.json", body: `{"name":"bad","version":"1","build":"0","subdir":"linux-64","depends":[]}`},
		{name: "info/paths.json", body: `{"paths_version":1,"paths":[` + paths + `]}`},
	}, members...)
	for _, m := range members {
		h := &tar.Header{Name: m.name, Mode: 0o644, Size: int64(len(m.body)), Typeflag: m.kind, Linkname: m.link}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(m.body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return bz2File(t, out.Bytes())
}

func bz2File(t *testing.T, data []byte) string {
	t.Helper()
	cmd := exec.Command("bzip2", "-c")
	cmd.Stdin = bytes.NewReader(data)
	packed, err := cmd.Output()
	if err != nil {
		t.Fatalf("bzip2 (install it): %v", err)
	}
	return writeArchive(t, "bad-1-0.tar.bz2", packed)
}

func writeArchive(t *testing.T, name string, data []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestDangerousPackages: each is refused with package, member and reason, leaves
// nothing but what was there, and the store goes on working.
func TestDangerousPackages(t *testing.T) {
	good := condatest.Package{Name: "good", Version: "1", Build: "0", Files: []condatest.File{{Path: "bin/good", Content: "good\n"}}}
	fine := condatest.Package{Name: "bad", Version: "1", Build: "0", Files: []condatest.File{{Path: "bin/x", Content: strings.Repeat("x\n", 9999)}}}
	s := newStore(t)
	before := everything(t, s)
	for name, c := range map[string]struct {
		archive string
		class   error
		says    []string
	}{
		"traversal":          {rawArchive(t, ``, rawMember{name: "a/../../evil", body: "x"}), cache.ErrUnsafe, []string{"a/../../evil", `".."`}},
		"absolute":           {rawArchive(t, ``, rawMember{name: "/etc/evil", body: "x"}), cache.ErrUnsafe, []string{"/etc/evil", "absolute"}},
		"traversal, listed":  {rawArchive(t, `{"_path":"../evil"}`), cache.ErrUnsafe, []string{"paths.json", "../evil", "leaves the prefix"}},
		"write-through link": {rawArchive(t, ``, rawMember{name: "lib", kind: tar.TypeSymlink, link: "/etc"}, rawMember{name: "lib/passwd", body: "x"}), cache.ErrUnsafe, []string{"lib/passwd", "which is a link"}},
		"device node":        {rawArchive(t, ``, rawMember{name: "dev/mem", kind: tar.TypeChar}), cache.ErrUnsafe, []string{"dev/mem", "character device"}},
		"hard link outside":  {rawArchive(t, ``, rawMember{name: "h", kind: tar.TypeLink, link: "../../../etc/passwd"}), cache.ErrUnsafe, []string{`"../../../etc/passwd"`}},
		"bomb":               {rawArchive(t, ``, rawMember{name: "zeros", body: strings.Repeat("\x00", 257<<20)}), cache.ErrUnsafe, []string{"zeros", "bytes"}},
		"truncated":          {writeArchive(t, "bad-1-0.conda", cut(fine.Conda(t))), cache.ErrIntegrity, []string{"ZIP"}},
		"truncated bz2":      {writeArchive(t, "bad-1-0.tar.bz2", cut(fine.TarBz2(t))), cache.ErrIntegrity, []string{"bz"}},
		"trailing garbage":   {bz2File(t, append(tarBytes(t, fine), strings.Repeat("garbage!", 128)...)), cache.ErrIntegrity, []string{"after the end"}},
		"entry point": {writeArchive(t, "bad-1-0.conda", condatest.Package{
			Name: "bad", Version: "1", Build: "0", Noarch: "python", EntryPoints: []string{"../evil = a:b"},
		}.Conda(t)), cache.ErrUnsafe, []string{"link.json", "../evil", "plain file name"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ingest(t, s, c.archive)
			if !errors.Is(err, c.class) {
				t.Fatalf("got %v, want class %v", err, c.class)
			}
			for _, want := range append(c.says, "bad-1-0") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q: %v", want, err)
				}
			}
			if after := everything(t, s); !slices.Equal(before, after) {
				t.Errorf("the store holds %q, before %q", after, before)
			}
		})
	}
	prefix, _, _ := execute(t, s, "/opt/hpcenv/e/x", build(t, s, good), 2)
	if got := tree(t, prefix); got["bin/good"] != "good\n" {
		t.Errorf("after all that, a good package makes %v", got)
	}
}

func cut(data []byte) []byte { return data[:len(data)-len(data)/3] }

// tarBytes is the package's .tar.bz2 without its compression.
func tarBytes(t *testing.T, p condatest.Package) []byte {
	t.Helper()
	cmd := exec.Command("bzip2", "-dc")
	cmd.Stdin = bytes.NewReader(p.TarBz2(t))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// everything lists all files and links of the store but those below tmp/ and what
// it may keep of unfinished work: contents in the pool that nothing names.
func everything(t *testing.T, s *cache.Store) []string {
	t.Helper()
	root := filepath.Dir(s.TreePath(testPlatform, "x"))
	for filepath.Base(root) != "trees" {
		root = filepath.Dir(root)
	}
	root = filepath.Dir(root)
	var out []string
	err := filepath.WalkDir(filepath.Dir(root), func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if !strings.HasPrefix(rel, "tmp/") && !strings.HasPrefix(rel, "pool/files/") {
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestOddPackagesAreInstalledAndReported: what contradicts itself but endangers
// nothing.
func TestOddPackagesAreInstalledAndReported(t *testing.T) {
	zeros := strings.Repeat("0", 64)
	for name, c := range map[string]struct {
		archive string
		want    map[string]string
		note    string
	}{
		"duplicate members": {
			rawArchive(t, `{"_path":"bin/a"}`, rawMember{name: "bin/a", body: "first"}, rawMember{name: "bin/a", body: "last"}),
			map[string]string{"bin/a": "last"}, "more than once, the last counts: bin/a",
		},
		"listed twice": {
			rawArchive(t, `{"_path":"bin/a"},{"_path":"bin/a"}`, rawMember{name: "bin/a", body: "a"}),
			map[string]string{"bin/a": "a"}, "bin/a is listed twice",
		},
		"escaping links": {
			rawArchive(t, `{"_path":"up","path_type":"softlink"},{"_path":"abs","path_type":"softlink"},{"_path":"in/ok","path_type":"softlink"}`,
				rawMember{name: "up", kind: tar.TypeSymlink, link: "../../x"}, rawMember{name: "abs", kind: tar.TypeSymlink, link: "/etc/passwd"},
				rawMember{name: "in/ok", kind: tar.TypeSymlink, link: "../up"}),
			map[string]string{"up": "→ ../../x", "abs": "→ /etc/passwd", "in/ok": "→ ../up"},
			"2 links lead out of the prefix; they are made as the package has them: abs → /etc/passwd, up → ../../x",
		},
		"digest disagrees": {
			rawArchive(t, `{"_path":"bin/a","sha256":"`+zeros+`","size_in_bytes":1}`, rawMember{name: "bin/a", body: "a"}),
			map[string]string{"bin/a": "a"}, "bin/a: paths.json says sha256 " + zeros,
		},
		"size disagrees": {
			rawArchive(t, `{"_path":"bin/a","size_in_bytes":9}`, rawMember{name: "bin/a", body: "a"}),
			map[string]string{"bin/a": "a"}, "bin/a: paths.json says 9 bytes, the archive has 1",
		},
		"type disagrees": {
			rawArchive(t, `{"_path":"bin/a","path_type":"softlink"}`, rawMember{name: "bin/a", body: "a"}),
			map[string]string{"bin/a": "a"}, "bin/a: paths.json says softlink",
		},
		"not listed": {
			rawArchive(t, ``, rawMember{name: "bin/a", body: "a"}),
			map[string]string{}, "not listed in the package's metadata and are not linked: bin/a",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			pkg, err := ingest(t, s, c.archive)
			if err != nil {
				t.Fatal(err)
			}
			prefix, plan, _ := execute(t, s, "/opt/hpcenv/e/x", []materialize.Package{pkg}, 2)
			got := tree(t, prefix)
			if !slices.Equal(keys(got), keys(c.want)) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			for p, want := range c.want {
				if got[p] != want {
					t.Errorf("%s is %q, want %q", p, got[p], want)
				}
			}
			if !slices.ContainsFunc(plan.Notes, func(n string) bool { return strings.Contains(n, "bad-1-0: ") && strings.Contains(n, c.note) }) {
				t.Errorf("notes are %q, none says %q", plan.Notes, c.note)
			}
		})
	}
}

package bundle

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/internal/condatest"
)

// channel is packages whose archives are at hand, by sha256.
type channel struct {
	packages []condatest.Package
	archives map[string][]byte
}

func newChannel(t testing.TB, packages ...condatest.Package) *channel {
	c := &channel{packages: packages, archives: map[string][]byte{}}
	for _, p := range packages {
		data := p.Conda(t)
		c.archives[sum(data)] = data
	}
	return c
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// open is an Opener.
func (c *channel) open(_ context.Context, src cache.Source) (io.ReadCloser, int64, error) {
	data, ok := c.archives[src.SHA256]
	if !ok {
		return nil, 0, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(data)), int64(len(data)), nil
}

// lock is a pixi.lock with environments, each `name@platform=package,…`.
func (c *channel) lock(t testing.TB, envs ...string) []byte {
	var b, records bytes.Buffer
	b.WriteString("version: 6\nenvironments:\n")
	seen := map[string]bool{}
	last := ""
	for _, e := range envs {
		head, names, _ := strings.Cut(e, "=")
		name, platform, _ := strings.Cut(head, "@")
		if name != last {
			fmt.Fprintf(&b, "  %s:\n    channels:\n    - url: https://conda.example/ch/\n    packages:\n", name)
			last = name
		}
		fmt.Fprintf(&b, "      %s:\n", platform)
		for _, n := range strings.Split(names, ",") {
			i := slices.IndexFunc(c.packages, func(p condatest.Package) bool {
				return p.Name == n && (p.TheSubdir() == platform || p.TheSubdir() == noarch)
			})
			if i < 0 {
				t.Fatalf("no package %s for %s", n, platform)
			}
			p := c.packages[i]
			url := "https://conda.example/ch/" + p.TheSubdir() + "/" + p.Dist() + ".conda"
			fmt.Fprintf(&b, "      - conda: %s\n", url)
			if seen[url] {
				continue
			}
			seen[url] = true
			fmt.Fprintf(&records, "- conda: %s\n  sha256: %s\n", url, sum(p.Conda(t)))
			if p.Noarch != "" {
				fmt.Fprintf(&records, "  noarch: %s\n", p.Noarch)
			}
			if len(p.Depends) > 0 {
				fmt.Fprintf(&records, "  depends: [%s]\n", strings.Join(p.Depends, ", "))
			}
		}
	}
	return append(append(b.Bytes(), "packages:\n"...), records.Bytes()...)
}

// write is a bundle of a project.
func (c *channel) write(t testing.TB, p Project, environments, platforms []string) []byte {
	t.Helper()
	plan, err := NewPlan(p, nil, environments, false, platforms)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range p.Files {
		if plan.project.Files == nil {
			plan.project.Files = map[string][]byte{}
		}
		plan.project.Files[name] = data
	}
	var out bytes.Buffer
	if err := plan.Write(context.Background(), &out, c.open); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func openBytes(data []byte) (*Bundle, error) {
	t, err := indexTar(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	return fromTree(t)
}

// members of a tar, by name; directories end in a slash.
func members(t testing.TB, data []byte) map[string]string {
	t.Helper()
	out := map[string]string{}
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out[h.Name] = string(content)
	}
}

// tarOf is a tar of files, by name.
func tarOf(t testing.TB, files map[string]string, more ...*tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(name, "/") {
			continue
		}
		if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(files[name])), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, files[name]); err != nil {
			t.Fatal(err)
		}
	}
	for _, h := range more {
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// writeDir unpacks files to a directory.
func writeDir(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if strings.HasSuffix(name, "/") {
			continue
		}
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(path.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func pkg(name, subdir string, depends ...string) condatest.Package {
	p := condatest.Package{Name: name, Version: "1.0", Build: "h1_0", Subdir: subdir, Depends: depends, Files: []condatest.File{{Path: "share/" + name, Content: name + subdir}}}
	if subdir == noarch {
		p.Noarch = "generic"
	}
	if name == "python" {
		p.Version = "3.12.1"
	}
	return p
}

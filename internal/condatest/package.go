// Package condatest builds small conda packages for tests.
//
// Enters: a list of files. Leaves: the bytes of a .conda or .tar.bz2 archive
// whose info/ describes them. It shares no code with what reads and links
// packages, so that a test compares two independent understandings.
package condatest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// File is one path of a package: a regular file, or a link if Link is set, or a
// directory if Dir is.
type File struct {
	Path    string
	Content string
	Exec    bool
	Link    string
	Dir     bool
	// Placeholder, Binary and NoLink as paths.json has them.
	Placeholder string
	Binary      bool
	NoLink      bool
	// Time is the modification time in the archive, in seconds since 1970.
	Time int64
}

// Package is a conda package to build.
type Package struct {
	Name, Version, Build string
	BuildNumber          int
	// Subdir; "" = linux-64, or noarch if Noarch is set.
	Subdir string
	// Noarch is "", "python" or "generic".
	Noarch      string
	Depends     []string
	Constrains  []string
	EntryPoints []string
	Files       []File
	// Info replaces or adds files below info/ (name → content); a nil content
	// leaves the file out.
	Info map[string][]byte
}

// Dist is name-version-build.
func (p Package) Dist() string { return p.Name + "-" + p.Version + "-" + p.Build }

// TheSubdir is Subdir with its default.
func (p Package) TheSubdir() string {
	switch {
	case p.Subdir != "":
		return p.Subdir
	case p.Noarch != "":
		return "noarch"
	default:
		return "linux-64"
	}
}

// Conda is the package as a .conda archive.
func (p Package) Conda(t testing.TB) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	add := func(name string, data []byte) {
		// Raw, so that local headers hold the sizes: some readers insist on it.
		n := uint64(len(data))
		w, err := z.CreateRaw(&zip.FileHeader{
			Name: name, Method: zip.Store, CRC32: crc32.ChecksumIEEE(data), CompressedSize64: n, UncompressedSize64: n,
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	add("metadata.json", []byte(`{"conda_pkg_format_version": 2}`))
	add("pkg-"+p.Dist()+".tar.zst", squeeze(t, tarOf(t, p.Files)))
	add("info-"+p.Dist()+".tar.zst", squeeze(t, tarOf(t, p.info(t))))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// TarBz2 is the package as a .tar.bz2 archive; it needs the bzip2 program.
func (p Package) TarBz2(t testing.TB) []byte {
	t.Helper()
	cmd := exec.Command("bzip2", "-c")
	cmd.Stdin = bytes.NewReader(tarOf(t, append(p.info(t), p.Files...)))
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("bzip2 (install it): %v", err)
	}
	return out
}

// Write builds the package below dir/<subdir>/ as .conda, or as .tar.bz2 if bz2
// is set, and returns the archive's path and sha256.
func (p Package) Write(t testing.TB, dir string, bz2 bool) (path, sum string) {
	t.Helper()
	data, ext := []byte(nil), ".conda"
	if bz2 {
		data, ext = p.TarBz2(t), ".tar.bz2"
	} else {
		data = p.Conda(t)
	}
	path = filepath.Join(dir, p.TheSubdir(), p.Dist()+ext)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	h := sha256.Sum256(data)
	return path, hex.EncodeToString(h[:])
}

// info makes the files below info/.
func (p Package) info(t testing.TB) []File {
	depends := p.Depends
	if depends == nil {
		depends = []string{}
	}
	index := map[string]any{
		"name": p.Name, "version": p.Version, "build": p.Build, "build_number": p.BuildNumber,
		"subdir": p.TheSubdir(), "depends": depends,
	}
	files := map[string][]byte{"paths.json": asJSON(t, p.paths())}
	if p.Noarch != "" {
		index["noarch"] = p.Noarch
	}
	if p.Constrains != nil {
		index["constrains"] = p.Constrains
	}
	files["index.json"] = asJSON(t, index)
	if p.Noarch == "python" {
		points := p.EntryPoints
		if points == nil {
			points = []string{}
		}
		files["link.json"] = asJSON(t, map[string]any{
			"package_metadata_version": 1,
			"noarch":                   map[string]any{"type": "python", "entry_points": points},
		})
	}
	for name, content := range p.Info {
		if files[name] = content; content == nil {
			delete(files, name)
		}
	}
	var out []File
	for name, content := range files {
		out = append(out, File{Path: "info/" + name, Content: string(content)})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Path < out[j].Path })
	return out
}

// paths makes paths.json.
func (p Package) paths() map[string]any {
	list := []map[string]any{}
	for _, f := range p.Files {
		e := map[string]any{"_path": f.Path, "path_type": "hardlink"}
		switch {
		case f.Dir:
			e["path_type"] = "directory"
		case f.Link != "":
			e["path_type"] = "softlink"
			e["sha256"], e["size_in_bytes"] = digest(""), 0
		default:
			e["sha256"], e["size_in_bytes"] = digest(f.Content), len(f.Content)
		}
		if f.Placeholder != "" {
			e["prefix_placeholder"], e["file_mode"] = f.Placeholder, "text"
			if f.Binary {
				e["file_mode"] = "binary"
			}
		}
		if f.NoLink {
			e["no_link"] = true
		}
		list = append(list, e)
	}
	return map[string]any{"paths_version": 1, "paths": list}
}

func tarOf(t testing.TB, files []File) []byte {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, f := range files {
		h := &tar.Header{Name: f.Path, Mode: 0o644, Size: int64(len(f.Content)), Typeflag: tar.TypeReg}
		if f.Time != 0 {
			h.ModTime = time.Unix(f.Time, 0)
		}
		switch {
		case f.Dir:
			h.Typeflag, h.Mode, h.Name, h.Size = tar.TypeDir, 0o755, f.Path+"/", 0
		case f.Link != "":
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, f.Link, 0
		case f.Exec:
			h.Mode = 0o755
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size == 0 {
			continue
		}
		if _, err := w.Write([]byte(f.Content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func squeeze(t testing.TB, data []byte) []byte {
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return enc.EncodeAll(data, nil)
}

func asJSON(t testing.TB, v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func digest(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

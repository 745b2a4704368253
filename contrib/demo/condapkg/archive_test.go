package condapkg_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/bzip2"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/hpcenv/hpcenv/contrib/demo/condapkg"
)

func sample() *condapkg.Package {
	return &condapkg.Package{
		Name: "sample", Version: "1.0", Build: "pyh0_7", BuildNumber: 7, Subdir: "noarch", Noarch: "python",
		Depends: []string{"python >=3.9"}, Timestamp: 1686355200000, EntryPoints: []string{"run = sample:main"},
		Licenses: map[string][]byte{"copyright": []byte("free\n")},
		Files: []condapkg.File{
			{Path: "share/spool", Dir: true},
			{Path: "site-packages/sample.py", Data: []byte("x = 1\n")},
			{Path: "site-packages/empty"},
			{Path: "python-scripts/tool", Executable: true, Data: []byte("#!" + condapkg.Placeholder + "/bin/python\n")},
			{Path: "lib/blob", Data: []byte("\x00" + condapkg.Placeholder + "/etc\x00")},
			{Path: "lib/link", Link: "../site-packages/sample.py"},
			{Path: "lib/away", Link: "../../etc/passwd"},
			{Path: "lib/copied", NoLink: true, Data: []byte("c")},
		},
	}
}

type member struct {
	header *tar.Header
	data   []byte
}

// unpack reads an archive with nothing but the standard formats' readers.
func unpack(t *testing.T, format condapkg.Format, archive []byte) map[string]member {
	t.Helper()
	out := map[string]member{}
	if format == condapkg.TarBz2 {
		readTar(t, bzip2.NewReader(bytes.NewReader(archive)), out)
		return out
	}
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	if z.File[0].Name != "metadata.json" {
		t.Errorf("first member is %s", z.File[0].Name)
	}
	for _, f := range z.File {
		if f.Method != zip.Store || f.Flags&8 != 0 {
			t.Errorf("%s: method %d, flags %x: want a stored member without data descriptor", f.Name, f.Method, f.Flags)
		}
		if !strings.HasSuffix(f.Name, ".tar.zst") {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		zr, err := zstd.NewReader(r)
		if err != nil {
			t.Fatal(err)
		}
		before := len(out)
		readTar(t, zr, out)
		zr.Close()
		for name := range out {
			if strings.HasPrefix(f.Name, "pkg-") && before == 0 && strings.HasPrefix(name, "info/") {
				t.Errorf("%s is in %s", name, f.Name)
			}
		}
	}
	return out
}

func readTar(t *testing.T, r io.Reader, out map[string]member) {
	t.Helper()
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(h.Name, "/")] = member{h, data}
	}
}

func TestArchiveHoldsWhatThePackageSays(t *testing.T) {
	for _, format := range []condapkg.Format{condapkg.Conda, condapkg.TarBz2} {
		t.Run(string(format), func(t *testing.T) {
			if _, err := exec.LookPath("bzip2"); err != nil && format == condapkg.TarBz2 {
				t.Skip("bzip2 IS NOT INSTALLED")
			}
			p := sample()
			archive, err := p.Archive(t.Context(), format)
			if err != nil {
				t.Fatal(err)
			}
			again, err := sample().Archive(t.Context(), format)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(archive, again) {
				t.Error("the same package gave two different archives")
			}
			sum := sha256.Sum256(archive)
			if r := p.Record(archive); r.SHA256 != hex.EncodeToString(sum[:]) || r.Size != int64(len(archive)) || r.Name != "sample" {
				t.Errorf("record %+v does not describe the archive", r)
			}
			got := unpack(t, format, archive)
			for _, f := range p.Files {
				m, ok := got[f.Path]
				if !ok {
					t.Errorf("%s is not in the archive", f.Path)
					continue
				}
				if !bytes.Equal(m.data, f.Data) || m.header.Linkname != f.Link || (m.header.Mode&0o111 != 0) != (f.Executable || f.Link != "" || f.Dir) {
					t.Errorf("%s: mode %o, link %q, %d bytes", f.Path, m.header.Mode, m.header.Linkname, len(m.data))
				}
			}
			checkPaths(t, got)
			var link struct {
				Noarch struct {
					Type        string   `json:"type"`
					EntryPoints []string `json:"entry_points"`
				} `json:"noarch"`
			}
			decode(t, got, "info/link.json", &link)
			if link.Noarch.Type != "python" || len(link.Noarch.EntryPoints) != 1 {
				t.Errorf("link.json: %+v", link)
			}
			if string(got["info/licenses/copyright"].data) != "free\n" {
				t.Error("the licence is not in info/licenses")
			}
		})
	}
}

func decode(t *testing.T, got map[string]member, name string, v any) {
	t.Helper()
	if err := json.Unmarshal(got[name].data, v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func checkPaths(t *testing.T, got map[string]member) {
	t.Helper()
	var paths struct {
		Paths []struct {
			Path        string `json:"_path"`
			Type        string `json:"path_type"`
			SHA256      string `json:"sha256"`
			Size        int64  `json:"size_in_bytes"`
			Placeholder string `json:"prefix_placeholder"`
			Mode        string `json:"file_mode"`
			NoLink      bool   `json:"no_link"`
		} `json:"paths"`
	}
	decode(t, got, "info/paths.json", &paths)
	want := map[string]string{
		"share/spool": "directory", "site-packages/sample.py": "hardlink", "site-packages/empty": "hardlink",
		"python-scripts/tool": "hardlink text", "lib/blob": "hardlink binary",
		"lib/link": "softlink", "lib/away": "softlink", "lib/copied": "hardlink no_link",
	}
	for _, p := range paths.Paths {
		kind := p.Type
		if p.Placeholder != "" {
			kind += " " + p.Mode
		}
		if p.NoLink {
			kind += " no_link"
		}
		if want[p.Path] != kind {
			t.Errorf("%s is %q, want %q", p.Path, kind, want[p.Path])
		}
		data := got[p.Path].data
		if p.Path == "lib/link" { // a link is described by what it names
			data = got["site-packages/sample.py"].data
		}
		sum := sha256.Sum256(data)
		if p.Type != "directory" && (p.SHA256 != hex.EncodeToString(sum[:]) || p.Size != int64(len(data))) {
			t.Errorf("%s: sha256 %s, size %d do not fit the content", p.Path, p.SHA256, p.Size)
		}
		delete(want, p.Path)
	}
	if len(want) > 0 {
		t.Errorf("not in paths.json: %v", want)
	}
}

func TestPlaceholderLength(t *testing.T) {
	if len(condapkg.Placeholder) != 255 {
		t.Errorf("the placeholder has %d bytes, not 255", len(condapkg.Placeholder))
	}
}

func TestArchiveRefusesWhatNoInstallerTakes(t *testing.T) {
	for name, spoil := range map[string]func(*condapkg.Package){
		"name":        func(p *condapkg.Package) { p.Name = "../x" },
		"version":     func(p *condapkg.Package) { p.Version = "1-0" },
		"build":       func(p *condapkg.Package) { p.Build = "a-b" },
		"noarch":      func(p *condapkg.Package) { p.Subdir = "linux-64" },
		"entry point": func(p *condapkg.Package) { p.Noarch = "generic" },
		"absolute":    func(p *condapkg.Package) { p.Files[0].Path = "/etc/x" },
		"parent":      func(p *condapkg.Package) { p.Files[0].Path = "../x" },
		"info":        func(p *condapkg.Package) { p.Files[0].Path = "info/x" },
		"twice":       func(p *condapkg.Package) { p.Files[0].Path = p.Files[1].Path },
	} {
		p := sample()
		spoil(p)
		if _, err := p.Archive(t.Context(), condapkg.Conda); err == nil {
			t.Errorf("%s: packed without an error", name)
		}
	}
	if _, err := sample().Archive(t.Context(), ".zip"); err == nil {
		t.Error("an unknown format was packed")
	}
}

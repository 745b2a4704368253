// Package wheeltest builds small wheels for tests.
//
// Enters: a list of files. Leaves: the bytes of a wheel with METADATA, WHEEL and
// RECORD for them. It shares no code with what reads and installs wheels, so that a
// test compares two independent understandings.
package wheeltest

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// File is a member of a wheel.
type File struct {
	Path    string
	Content string
	// Mode is what the archive has for it, kind and permissions as stat has them; 0 =
	// an ordinary file, 0644. A Path that ends with / is a directory.
	Mode uint32
	// Deflate packs the content, else it is stored.
	Deflate bool
	// Change is called with the member's header before it is written.
	Change func(*zip.FileHeader)
}

// Wheel is a wheel to build.
type Wheel struct {
	Name, Version string
	// Tag is the rest of the file name; "" = py3-none-any.
	Tag   string
	Files []File
	// Info replaces or adds files of dist-info by name; nil leaves the file out.
	Info map[string][]byte
	// DistInfo is the name of the dist-info directory; "" = <Name>-<Version>.dist-info.
	DistInfo string
	// Record changes the rows of RECORD, one text each, before they are written.
	Record func(rows []string) []string
	// Before and After are put around the archive.
	Before, After string
}

// FileName is the wheel's.
func (w Wheel) FileName() string {
	tag := w.Tag
	if tag == "" {
		tag = "py3-none-any"
	}
	return w.Name + "-" + w.Version + "-" + tag + ".whl"
}

// Bytes builds the archive.
func (w Wheel) Bytes(t testing.TB) []byte {
	t.Helper()
	dir := w.DistInfo
	if dir == "" {
		dir = w.Name + "-" + w.Version + ".dist-info"
	}
	var buf bytes.Buffer
	buf.WriteString(w.Before)
	z := zip.NewWriter(&buf)
	z.SetOffset(int64(len(w.Before)))
	var rows []string
	for _, f := range append(w.Files, w.info(dir)...) {
		add(t, z, f)
		if !strings.HasSuffix(f.Path, "/") {
			rows = append(rows, Row(f.Path, f.Content))
		}
	}
	if record, ok := w.Info["RECORD"]; !ok {
		rows = append(rows, dir+"/RECORD,,")
		if w.Record != nil {
			rows = w.Record(rows)
		}
		add(t, z, File{Path: dir + "/RECORD", Content: strings.Join(rows, "\n") + "\n"})
	} else if record != nil {
		add(t, z, File{Path: dir + "/RECORD", Content: string(record)})
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	buf.WriteString(w.After)
	return buf.Bytes()
}

// Row is a row of RECORD.
func Row(path, content string) string {
	sum := sha256.Sum256([]byte(content))
	if strings.ContainsAny(path, `,"`) {
		path = `"` + strings.ReplaceAll(path, `"`, `""`) + `"`
	}
	return fmt.Sprintf("%s,sha256=%s,%d", path, base64.RawURLEncoding.EncodeToString(sum[:]), len(content))
}

// info makes the files of dist-info, RECORD excepted.
func (w Wheel) info(dir string) []File {
	files := []struct {
		name    string
		content []byte
	}{
		{"METADATA", fmt.Appendf(nil, "Metadata-Version: 2.1\nName: %s\nVersion: %s\n", w.Name, w.Version)},
		{"WHEEL", []byte("Wheel-Version: 1.0\nGenerator: wheeltest\nRoot-Is-Purelib: true\nTag: py3-none-any\n")},
	}
	var out []File
	for _, f := range files {
		if replaced, ok := w.Info[f.name]; ok {
			f.content = replaced
		}
		if f.content != nil {
			out = append(out, File{Path: dir + "/" + f.name, Content: string(f.content)})
		}
	}
	for name, content := range w.Info {
		if name != "METADATA" && name != "WHEEL" && name != "RECORD" && content != nil {
			out = append(out, File{Path: dir + "/" + name, Content: string(content)})
		}
	}
	return out
}

func add(t testing.TB, z *zip.Writer, f File) {
	t.Helper()
	mode := f.Mode
	if mode == 0 {
		mode = 0o100644
		if strings.HasSuffix(f.Path, "/") {
			mode = 0o40755
		}
	}
	h := &zip.FileHeader{Name: f.Path, CreatorVersion: 3 << 8, ExternalAttrs: mode << 16}
	if f.Deflate {
		h.Method = zip.Deflate
	}
	if f.Change != nil {
		f.Change(h)
	}
	out, err := z.CreateHeader(h)
	if err != nil {
		t.Fatal(err)
	}
	if f.Content == "" {
		return
	}
	if _, err := out.Write([]byte(f.Content)); err != nil {
		t.Fatal(err)
	}
}

// Write builds the wheel in dir and returns its path and sha256.
func (w Wheel) Write(t testing.TB, dir string) (path, sum string) {
	t.Helper()
	data := w.Bytes(t)
	path = filepath.Join(dir, w.FileName())
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	h := sha256.Sum256(data)
	return path, hex.EncodeToString(h[:])
}

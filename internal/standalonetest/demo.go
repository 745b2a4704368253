package standalonetest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/cache/archive"
	"github.com/hpcenv/hpcenv/internal/testdata"
)

// demoPlaceholder is the place of the build that the demo channel's packages name.
var demoPlaceholder = regexp.MustCompile(`/hpcenv-demo-build/[_a-z]+`)

// Demo packs the real CPython of the demo channel, with the libraries that it needs,
// for linux-64 or linux-aarch64. Its texts name /install. pip 1.0 of it is made up.
func Demo(t testing.TB, subdir string) *Python {
	t.Helper()
	dir := filepath.Join(testdata.DemoChannel(t), subdir)
	data, err := os.ReadFile(filepath.Join(dir, "repodata.json"))
	if err != nil {
		t.Fatal(err)
	}
	type record struct {
		Name, Version string
		Depends       []string
	}
	var index struct {
		Packages map[string]record `json:"packages"`
		Conda    map[string]record `json:"packages.conda"`
	}
	if err := json.Unmarshal(data, &index); err != nil {
		t.Fatal(err)
	}
	files, records := map[string]string{}, map[string]record{}
	for _, list := range []map[string]record{index.Packages, index.Conda} {
		for file, r := range list {
			files[r.Name], records[r.Name] = filepath.Join(dir, file), r
		}
	}
	p := &Python{Version: records["python"].Version, Subdir: subdir}
	need, have := []string{"python"}, map[string]bool{}
	for i := 0; i < len(need); i++ {
		if file := files[need[i]]; file != "" {
			p.unpack(t, file, have)
		}
		for _, d := range records[need[i]].Depends {
			name, _, _ := strings.Cut(d, " ")
			if name, _, _ = strings.Cut(name, ">"); !slices.Contains(need, name) {
				need = append(need, name)
			}
		}
	}
	for _, f := range Small(p.Version, "0") {
		if strings.Contains(f.Path, "/site-packages/pip") || f.Path == "bin/pip" || f.Path == "bin/old-script" || strings.HasPrefix(f.Path, "include/") || strings.HasSuffix(f.Path, ".pc") {
			p.Files = append(p.Files, f)
		}
	}
	return p
}

// unpack adds the files of a conda package; what is there already stays.
func (p *Python) unpack(t testing.TB, file string, have map[string]bool) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() // only read
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	read := archive.ReadTarBz2
	if strings.HasSuffix(file, ".conda") {
		read = archive.ReadConda
	}
	err = read(context.Background(), f, st.Size(), archive.LimitsFor(st.Size()), func(m archive.Member, content io.Reader) error {
		if strings.HasPrefix(m.Path, "info/") || m.Kind == archive.Dir || have[m.Path] || strings.HasPrefix(m.Path, "conda-meta/") || strings.HasSuffix(m.Path, ".pyc") {
			return nil
		}
		have[m.Path] = true
		out := File{Path: m.Path, Exec: m.Exec, Link: m.Target}
		if m.Kind == archive.File {
			data, err := io.ReadAll(content)
			if err != nil {
				return err
			}
			if !bytes.HasPrefix(data, []byte("\x7fELF")) {
				data = demoPlaceholder.ReplaceAll(data, []byte("/install"))
			}
			out.Content = string(data)
		}
		p.Files = append(p.Files, out)
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

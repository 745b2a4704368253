package conda_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/conda"
)

func digest(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

// rawOf makes an unpacked archive of files; a name that starts with "@" is a
// link, one that ends with "/" a directory.
func rawOf(files map[string]string) *cache.Raw {
	raw := &cache.Raw{Source: cache.Source{Name: "x-1-0"}}
	for name, content := range files {
		switch {
		case strings.HasPrefix(name, "@"):
			raw.Entries = append(raw.Entries, cache.Entry{Path: name[1:], Type: cache.EntryLink, Target: content})
		case strings.HasSuffix(name, "/"):
			raw.Entries = append(raw.Entries, cache.Entry{Path: strings.TrimSuffix(name, "/"), Type: cache.EntryDir})
		default:
			raw.Entries = append(raw.Entries, cache.Entry{Path: name, Type: cache.EntryFile, SHA256: digest(content), Size: int64(len(content))})
		}
	}
	sort.Slice(raw.Entries, func(i, j int) bool { return raw.Entries[i].Path < raw.Entries[j].Path })
	raw.Read = func(path string, limit int64) ([]byte, error) {
		c, ok := files[path]
		if !ok || int64(len(c)) > limit {
			return nil, fmt.Errorf("%s cannot be read", path)
		}
		return []byte(c), nil
	}
	return raw
}

const index = `{"name":"x","version":"1","build":"0","build_number":3,"subdir":"linux-64"}`

func TestInterpretPaths(t *testing.T) {
	raw := rawOf(map[string]string{
		"info/index.json": index,
		"info/paths.json": `{"paths_version":1,"paths":[
			{"_path":"bin/a","path_type":"hardlink","sha256":"` + digest("one") + `","size_in_bytes":3,"prefix_placeholder":"/old","file_mode":"text"},
			{"_path":"lib/b","path_type":"hardlink","sha256":"` + digest("two") + `","size_in_bytes":3,"prefix_placeholder":"/old","file_mode":"binary","no_link":true},
			{"_path":"lib/wrong","path_type":"hardlink","sha256":"` + digest("said") + `","size_in_bytes":4},
			{"_path":"lib/l","path_type":"softlink","sha256":"` + digest("two") + `","size_in_bytes":3},
			{"_path":"lib/soft","path_type":"softlink","sha256":"` + digest("two") + `","size_in_bytes":3},
			{"_path":"empty/dir","path_type":"directory"},
			{"_path":"bin/.x-post-link.sh","path_type":"hardlink","sha256":"` + digest("s") + `","size_in_bytes":1}]}`,
		"bin/a": "one", "lib/b": "two", "lib/wrong": "is another", "@lib/l": "b", "lib/soft": "", "lib/extra": "e",
		"bin/.x-post-link.sh": "s",
	})
	entries, metaJSON, notes, err := conda.Interpret(raw)
	if err != nil {
		t.Fatal(err)
	}
	want := []cache.Entry{
		{Path: "bin/.x-post-link.sh", Type: "file", SHA256: digest("s"), Size: 1},
		{Path: "bin/a", Type: "file", SHA256: digest("one"), Size: 3, Placeholder: "/old"},
		{Path: "empty/dir", Type: "dir"},
		{Path: "lib/b", Type: "file", SHA256: digest("two"), Size: 3, Placeholder: "/old", Binary: true, NoLink: true},
		{Path: "lib/l", Type: "link", Target: "b"},
		{Path: "lib/soft", Type: "file", SHA256: digest("")},
		{Path: "lib/wrong", Type: "file", SHA256: digest("is another"), Size: 10},
	}
	if d := cmp.Diff(want, entries); d != "" {
		t.Error(d)
	}
	meta, err := conda.DecodeMeta(metaJSON)
	if err != nil {
		t.Fatal(err)
	}
	three, four := int64(3), int64(4)
	wantMeta := &conda.PackageMeta{
		MetaVersion: conda.MetaVersion, Name: "x", Version: "1", Build: "0", BuildNumber: 3, Subdir: "linux-64",
		Scripts: []string{"bin/.x-post-link.sh"}, HasPaths: true,
		Recorded: map[string]conda.PathRecord{
			"lib/l":     {Type: "softlink", SHA256: digest("two"), Size: &three},
			"lib/soft":  {Type: "softlink", SHA256: digest("two"), Size: &three},
			"lib/wrong": {Type: "hardlink", SHA256: digest("said"), Size: &four},
		},
	}
	if d := cmp.Diff(wantMeta, meta); d != "" {
		t.Error(d)
	}
	all := strings.Join(notes, "\n")
	for _, part := range []string{
		"lib/wrong: paths.json says sha256 " + digest("said") + ", the archive has " + digest("is another"),
		"lib/wrong: paths.json says 4 bytes, the archive has 10",
		"lib/soft: paths.json says softlink, the archive has a file",
		"lib/extra",
	} {
		if !strings.Contains(all, part) {
			t.Errorf("no note says %q; notes:\n%s", part, all)
		}
	}
}

func TestInterpretLegacy(t *testing.T) {
	old := "/opt/anaconda1" + "anaconda2anaconda3"
	raw := rawOf(map[string]string{
		"info/index.json":  index,
		"info/files":       "bin/a\nbin/b c\nlib/c\nlib/d\nlib/l\n",
		"info/has_prefix":  "bin/a\n\"/some where\" binary \"bin/b c\"\n/else text lib/c\nlib/none\n",
		"info/no_link":     "lib/c\n",
		"info/no_softlink": "lib/d\n",
		"bin/a":            "a", "bin/b c": "b", "lib/c": "c", "lib/d": "d", "@lib/l": "d",
	})
	entries, metaJSON, notes, err := conda.Interpret(raw)
	if err != nil {
		t.Fatal(err)
	}
	want := []cache.Entry{
		{Path: "bin/a", Type: "file", SHA256: digest("a"), Size: 1, Placeholder: old},
		{Path: "bin/b c", Type: "file", SHA256: digest("b"), Size: 1, Placeholder: "/some where", Binary: true},
		{Path: "lib/c", Type: "file", SHA256: digest("c"), Size: 1, Placeholder: "/else", NoLink: true},
		{Path: "lib/d", Type: "file", SHA256: digest("d"), Size: 1, NoLink: true},
		{Path: "lib/l", Type: "link", Target: "d"},
	}
	if d := cmp.Diff(want, entries); d != "" {
		t.Error(d)
	}
	meta, err := conda.DecodeMeta(metaJSON)
	if err != nil {
		t.Fatal(err)
	}
	if meta.HasPaths || len(meta.Recorded) > 0 {
		t.Errorf("a package without paths.json records digests: %+v", meta)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "lib/none") {
		t.Errorf("notes: %q", notes)
	}
}

func TestInterpretRefuses(t *testing.T) {
	paths := func(list string) map[string]string {
		return map[string]string{"info/index.json": index, "info/paths.json": `{"paths_version":1,"paths":[` + list + `]}`}
	}
	link := func(ep string) map[string]string {
		return map[string]string{
			"info/index.json": `{"name":"x","version":"1","build":"0","noarch":"python"}`,
			"info/paths.json": `{"paths_version":1,"paths":[]}`,
			"info/link.json":  `{"noarch":{"type":"python","entry_points":["` + ep + `"]}}`,
		}
	}
	for name, c := range map[string]struct {
		files map[string]string
		class error
		says  string
	}{
		"no index":          {map[string]string{"info/paths.json": `{}`}, cache.ErrIntegrity, "index.json"},
		"index no JSON":     {map[string]string{"info/index.json": `{`}, cache.ErrIntegrity, "index.json"},
		"index no name":     {map[string]string{"info/index.json": `{"version":"1"}`}, cache.ErrIntegrity, "name"},
		"noarch unknown":    {map[string]string{"info/index.json": `{"name":"x","version":"1","noarch":"java"}`}, cache.ErrIntegrity, "java"},
		"paths version":     {map[string]string{"info/index.json": index, "info/paths.json": `{"paths_version":2,"paths":[]}`}, cache.ErrIntegrity, "is 2"},
		"paths no version":  {map[string]string{"info/index.json": index, "info/paths.json": `{"paths":[]}`}, cache.ErrIntegrity, "none"},
		"paths no JSON":     {map[string]string{"info/index.json": index, "info/paths.json": `[`}, cache.ErrIntegrity, "paths.json"},
		"escape":            {paths(`{"_path":"../etc/passwd"}`), cache.ErrUnsafe, "../etc/passwd"},
		"absolute":          {paths(`{"_path":"/etc/passwd"}`), cache.ErrUnsafe, "/etc/passwd"},
		"missing":           {paths(`{"_path":"bin/gone"}`), cache.ErrIntegrity, "bin/gone"},
		"path_type":         {paths(`{"_path":"a","path_type":"fifo"}`), cache.ErrIntegrity, "fifo"},
		"file_mode":         {paths(`{"_path":"a","prefix_placeholder":"/p","file_mode":"hex"}`), cache.ErrIntegrity, "hex"},
		"placeholder":       {paths(`{"_path":"a","prefix_placeholder":"/p\nq"}`), cache.ErrUnsafe, "control"},
		"entry point slash": {link("../x = a:b"), cache.ErrUnsafe, "../x"},
		"entry point dot":   {link(".x = a:b"), cache.ErrUnsafe, ".x"},
		"entry point code":  {link("x = a:b;import os"), cache.ErrUnsafe, "import os"},
		"entry point func":  {link("x = a"), cache.ErrIntegrity, "function"},
	} {
		t.Run(name, func(t *testing.T) {
			entries, _, _, err := conda.Interpret(rawOf(c.files))
			if !errors.Is(err, c.class) || entries != nil {
				t.Fatalf("error is %v, want class %v", err, c.class)
			}
			if !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "x-1-0") {
				t.Errorf("error does not name %q and the package: %v", c.says, err)
			}
		})
	}
}

func TestParseEntryPoint(t *testing.T) {
	for text, want := range map[string]conda.EntryPoint{
		"a = b:c":                    {Command: "a", Module: "b", Func: "c"},
		"a-b=b.c.d:E.main":           {Command: "a-b", Module: "b.c.d", Func: "E.main"},
		" a b = m : f [extra,more] ": {Command: "a b", Module: "m", Func: "f"},
	} {
		got, err := conda.ParseEntryPoint(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

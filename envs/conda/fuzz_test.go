package conda_test

import (
	"errors"
	"path"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/conda"
)

// checkInterpreted holds for whatever metadata a package has: either a classed
// error, or entries that stay in the prefix and are content of the archive.
func checkInterpreted(t *testing.T, files map[string]string) {
	t.Helper()
	entries, meta, _, err := conda.Interpret(rawOf(files))
	if err != nil {
		if !errors.Is(err, cache.ErrIntegrity) && !errors.Is(err, cache.ErrUnsafe) {
			t.Fatalf("error without a class: %v", err)
		}
		return
	}
	last := ""
	for _, e := range entries {
		if e.Path <= last || path.Clean(e.Path) != e.Path || path.IsAbs(e.Path) || e.Path == "." ||
			strings.HasPrefix(e.Path, "../") || e.Path == ".." || strings.HasPrefix(e.Path, "info/") {
			t.Fatalf("entry %q after %q", e.Path, last)
		}
		last = e.Path
		if e.Type != cache.EntryDir && files[e.Path] == "" && files["@"+e.Path] == "" {
			t.Fatalf("entry %q is not in the archive", e.Path)
		}
	}
	m, err := conda.DecodeMeta(meta)
	if err != nil {
		t.Fatal(err)
	}
	for _, ep := range m.EntryPoints {
		if strings.ContainsAny(ep.Command+ep.Module+ep.Func, "/\\\n\x00") || strings.ContainsAny(ep.Module+ep.Func, " ;()'\"") {
			t.Fatalf("entry point %+v", ep)
		}
	}
}

func FuzzPathsJSON(f *testing.F) {
	f.Add(`{"paths_version":1,"paths":[{"_path":"bin/a","path_type":"hardlink","sha256":null,"size_in_bytes":1}]}`)
	f.Add(`{"paths_version":1,"paths":[{"_path":"./bin/a","prefix_placeholder":"/p","file_mode":"binary"},{"_path":"bin/a/b"},{"_path":"bin/a"}]}`)
	f.Add(`{"paths_version":1,"paths":[{"_path":"d","path_type":"directory"},{"_path":"lib/l","path_type":"softlink","no_link":true}]}`)
	f.Add(`{"paths_version":1,"paths":[{"_path":"bin/a","path_type":"directory"},{"_path":"d/../..","path_type":"directory"}]}`)
	f.Fuzz(func(t *testing.T, paths string) {
		checkInterpreted(t, map[string]string{
			"info/index.json": index, "info/paths.json": paths, "bin/a": "a", "@lib/l": "../bin/a", "d/e/f": "f",
		})
	})
}

func FuzzLegacy(f *testing.F) {
	f.Add("bin/a\nd/e/f\n", "/old text bin/a\n")
	f.Add("bin/a\r\n", "\"/o ld\" binary \"bin/a\"\n\"bin/a\"\n")
	f.Add("..\n", "\" \n")
	f.Fuzz(func(t *testing.T, files, hasPrefix string) {
		checkInterpreted(t, map[string]string{
			"info/index.json": index, "info/files": files, "info/has_prefix": hasPrefix, "bin/a": "a", "d/e/f": "f",
		})
	})
}

func FuzzLinkJSON(f *testing.F) {
	f.Add(`{"noarch":{"type":"python","entry_points":["a = b:c","d=e.f:g.h [x]"]}}`)
	f.Add(`{"noarch":{"entry_points":["../a = b:c"]}}`)
	f.Add(`{"noarch":null}`)
	f.Fuzz(func(t *testing.T, link string) {
		checkInterpreted(t, map[string]string{
			"info/index.json": `{"name":"x","version":"1","noarch":"python"}`, "info/link.json": link,
			"info/paths.json": `{"paths_version":1,"paths":[]}`,
		})
	})
}

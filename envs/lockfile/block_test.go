package lockfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/internal/testdata"
)

// same compares two trees; where a value that is not there stands is nothing.
func same(a, b *value) bool {
	if a.kind != b.kind || a.text != b.text || len(a.items) != len(b.items) || a.kind != null && (a.line != b.line || a.plain != b.plain) {
		return false
	}
	for i := range a.items {
		if !same(&a.items[i], &b.items[i]) {
			return false
		}
	}
	return true
}

// compareReaders says whether the block reader took the text; where it did, the
// YAML reader must have read the same.
func compareReaders(t *testing.T, name string, data []byte) bool {
	t.Helper()
	block, ok := readBlock(data)
	if !ok {
		return false
	}
	whole, err := readYAML(data)
	if err == nil && !same(&block, &whole) {
		t.Errorf("%s: the block reader has\n%+v\nYAML is\n%+v", name, block, whole)
	}
	if err != nil && block.checkAllKeys() == nil {
		t.Errorf("%s: the block reader has\n%+v\nYAML says %v", name, block, err)
	}
	return true
}

func TestReadersAgreeOnCorpus(t *testing.T) {
	taken, all := 0, 0
	err := filepath.WalkDir(filepath.Join(testdata.Shared(t), "data", "locks"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".lock") && !strings.HasSuffix(path, ".yml") || entry.Name() == "uv.lock" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		all++
		if compareReaders(t, path, data) {
			taken++
		} else if entry.Name() == "pixi.lock" {
			t.Logf("left to YAML: %s", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d of %d files taken by the block reader", taken, all)
	if taken < all/2 {
		t.Error("the block reader takes too few")
	}
}

var blocks = []string{
	"a: 1\n", "a:\n", "a:\nb: x\n", "a:\n- b\n- c: d\n  e: f\n", "a:\n  - b\n  -   c: 1\n      d: 2\n",
	"a: []\nb: {}\nc: ''\nd: \"x\"\n", "# c\n\na: b c  d\n  # e\nf: g\n", "a:\n  b:\n    c: d\n  e: f\n",
	"a: b\n  c\n", "a: b\n c: d\n", "a: b: c\n", "a: b #c\n", "a: #c\n", "a: 'it''s'\n", "a: \"\\n\"\n", "a: - b\n", "- - a\n",
	"a:\n- b\nc: d\n", "a:\n- b\n - c\n", "- a: b\n- c: d\n", "- a:\n  - b\n  c: d\n- e\n", "- a:\n    b: c\n", "- a: b\n c: d\n",
	"null: a\n", "a: ~\n", "a: null\n", "a: *b\n", "a: &b c\n", "a: |\n  b\n", "a: ? b\n", "-\n", "- \n", "a: 'b' c\n", "a : b\n",
	"a: b\na: c\n", "---\na: b\n", "a: b\n...\n", "a: b\n---\nc: d\n", "a:b\n", "a: b,c]\n", "a: <<\n", "<<: a\n", "a: .\n", "a:   \n  b: c\n",
	"a:\n\n- b\n\n\n- c\n", "a:\n  - b\n- c\n", " a: b\n", "a: b", "a: =\n", "a: \"", "a: '\n", "a: \\x\n", "a: !x y\n", "- a\nb: c\n", "a:\n- b\n  c: d\n", "- a:\n- b\n",
}

func TestReadersAgree(t *testing.T) {
	for _, text := range blocks {
		compareReaders(t, text, []byte(text))
	}
}

// FuzzReaders: what the block reader takes, YAML reads alike.
func FuzzReaders(f *testing.F) {
	for _, text := range blocks {
		f.Add([]byte(text))
	}
	f.Add([]byte("version: 6\nenvironments:\n  default:\n    channels:\n    - url: https://conda.example/main/\n    packages:\n      linux-64:\n      - conda: https://conda.example/m/noarch/a-1-0.conda\npackages:\n- conda: https://conda.example/m/noarch/a-1-0.conda\n  depends:\n  - python >=3.9,<4.0a0\n  - __glibc  >=2\n  purls: []\n"))
	f.Fuzz(func(t *testing.T, data []byte) { compareReaders(t, "input", data) })
}

package tomltree_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/hpcenv/hpcenv/envs/tomltree"
	"github.com/hpcenv/hpcenv/internal/testdata"
)

func TestTreeKeepsOrderAndLines(t *testing.T) {
	root, err := tomltree.Parse([]byte("\ufeffb = 1\na.x = 'one'\na.y = true\n\n[t]\nlist = [\n  {k = 2.5},\n  'two',\n]\n[[t.many]]\n[[t.many]]\nd = 2024-01-02T03:04:05Z\n"))
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, e := range root.Entries {
		keys = append(keys, e.Key)
	}
	if got := strings.Join(keys, " "); got != "b a t" {
		t.Errorf("keys %q", got)
	}
	for _, c := range []struct {
		v    *tomltree.Value
		kind tomltree.Kind
		line int32
		text string
	}{
		{root.Get("b"), tomltree.Integer, 1, "1"},
		{root.Get("a", "y"), tomltree.Bool, 3, "true"},
		{root.Get("t", "list"), tomltree.Array, 6, ""},
		{root.Get("t", "list").Items[0].Get("k"), tomltree.Float, 7, "2.5"},
		{root.Get("t", "list").Items[1], tomltree.String, 8, "two"},
		{root.Get("t", "many").Items[1], tomltree.Table, 11, ""},
		{root.Get("t", "many").Items[1].Get("d"), tomltree.Date, 12, "2024-01-02T03:04:05Z"},
	} {
		if c.v == nil || c.v.Kind != c.kind || c.v.Line != c.line || c.v.Text != c.text {
			t.Errorf("got %+v, want %+v", c.v, c)
		}
	}
	if root.Get("a", "z") != nil || root.Get("b", "x") != nil || root.Get("lost").Get("x") != nil {
		t.Error("something is there that was not given")
	}
}

func TestRefusedWithLine(t *testing.T) {
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	for text, want := range map[string]string{
		"a = 1\na = 2\n":              "line 2: `a` was given already (line 1)",
		"[a]\n[a]\n":                  "line 2",
		"a = {b = 1}\n\n[a.c]\n":      "line 3",
		"x = 1\ny = \n":               "line 2",
		"x = 1\ny = 1__0\n":           "line 2",
		"x = [\n1,\n2024-13-01,\n]\n": "line 3",
		"x = '\n":                     "line 1",
		"x = " + deep:                 "too deep",
		"[a]\nb.c = 1\n[a.b]\n":       "line 3",
		"a = []\n[[a]]\n":             "line 2",
		"\xff = 1\n":                  "line 1",
		"a = \"\xff\"\n":              "line 1",
	} {
		if _, err := tomltree.Parse([]byte(text)); !errors.Is(err, tomltree.ErrTOML) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q in it", text, err, want)
		}
	}
}

// same compares the tree with what the library's decoder makes of the file.
func same(t *testing.T, v *tomltree.Value, decoded any) {
	switch d := decoded.(type) {
	case map[string]any:
		if v.Kind != tomltree.Table || len(v.Entries) != len(d) {
			t.Fatalf("line %d: %v with %d keys, decoded %d", v.Line, v.Kind, len(v.Entries), len(d))
		}
		for _, e := range v.Entries {
			one, ok := d[e.Key]
			if !ok || v.Get(e.Key) != e.Value {
				t.Fatalf("line %d: key %q", v.Line, e.Key)
			}
			same(t, e.Value, one)
		}
	case []any:
		if v.Kind != tomltree.Array || len(v.Items) != len(d) {
			t.Fatalf("line %d: %v with %d items, decoded %d", v.Line, v.Kind, len(v.Items), len(d))
		}
		for i := range d {
			same(t, v.Items[i], d[i])
		}
	case string:
		if v.Kind != tomltree.String || v.Text != d {
			t.Fatalf("line %d: %v %q, decoded %q", v.Line, v.Kind, v.Text, d)
		}
	case bool:
		if v.Kind != tomltree.Bool || (v.Text == "true") != d {
			t.Fatalf("line %d: %v %q, decoded %v", v.Line, v.Kind, v.Text, d)
		}
	case int64:
		if n, ok := v.Int(); !ok || n != d {
			t.Fatalf("line %d: %v %q, decoded %v", v.Line, v.Kind, v.Text, d)
		}
	}
}

// What the library's decoder takes is taken, with the same values; what it
// refuses is refused.
func FuzzSameAsDecoder(f *testing.F) {
	for _, s := range []string{
		"a = 1\n[b]\nc = ['x', {d = 1.5}]\n[[e]]\n[[e]]\nf.g = true\n", "a.b = 1\na.c = 2\n", "[a.b]\n[a]\n", "a = {b.c = 1, b.d = 2}\n",
		"a = \"\"\"\nx\\\n  y\"\"\"\n", "d = 1979-05-27 07:32:00-08:00\ni = 0xff\nf = inf\n", "[a]\nb = 1\n[a.b.c]\n", "# only\r\n", "a = []\n[[a]]\n", "[[a]]\n[a.b]\n[[a]]\n[a.b]\n",
		"'' = 1\n\"\\u00e9\" = '''z'''\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		root, err := tomltree.Parse(data)
		var decoded map[string]any
		if derr := toml.Unmarshal(data, &decoded); (err == nil) != (derr == nil) {
			t.Fatalf("%q: %v; the decoder: %v", data, err, derr)
		}
		if err == nil {
			same(t, root, decoded)
		}
	})
}

func TestRealFilesSameAsDecoder(t *testing.T) {
	dir := filepath.Join(testdata.Shared(t), "data")
	n := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		ext := filepath.Ext(path)
		if err != nil || d.IsDir() || ext != ".toml" && d.Name() != "uv.lock" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var decoded map[string]any
		root, err := tomltree.Parse(data)
		if derr := toml.Unmarshal(data, &decoded); (err == nil) != (derr == nil) {
			t.Errorf("%s: %v; the decoder: %v", path, err, derr)
		} else if err == nil {
			n++
			same(t, root, decoded)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if t.Logf("%d files", n); n < 10 {
		t.Errorf("only %d files", n)
	}
}

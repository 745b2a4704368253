package materialize

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"
)

// standardRecord is what encodeRecord writes, by the standard library.
func standardRecord(t *testing.T, fields map[string]json.RawMessage, files []string, paths []recordPath) []byte {
	t.Helper()
	all := map[string]any{"files": files, "paths_data": struct {
		Version int          `json:"paths_version"`
		Paths   []recordPath `json:"paths"`
	}{1, paths}}
	for k, v := range fields {
		all[k] = v
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(all); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// A record has the bytes that encoding/json gives it, whatever is in its texts.
func TestRecordIsAsTheStandardLibraryWritesIt(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	texts := []string{"", "a", "lib/python3.11/x.py", `quo"te`, `back\slash`, "tab\tnew\nline", "\x00\x1f\x7f", "naïve/é", "\u2028\u2029", "<&>", "\xff\xfe broken", "日本", "\U0001F600"}
	text := func() string { return texts[rnd.IntN(len(texts))] }
	size := func() *int64 {
		if rnd.IntN(3) == 0 {
			return nil
		}
		n := rnd.Int64N(1 << 40)
		return &n
	}
	values := []string{`[]`, `{}`, `null`, `17`, `"x"`, `["a","b",{"c":[1,{"d":null}]}]`, `{"k":"<v>","l":[[],{}]}`}
	for range 500 {
		fields := map[string]json.RawMessage{}
		for range rnd.IntN(6) {
			key := text()
			if key == "\xff\xfe broken" {
				continue // no key of a record; the standard library sorts it by what it becomes
			}
			fields[key] = json.RawMessage(values[rnd.IntN(len(values))])
		}
		files, paths := []string{}, []recordPath{}
		for range rnd.IntN(4) {
			files = append(files, text())
			paths = append(paths, recordPath{
				Path: text(), Type: text(), SHA256: text(), SHA256InPrefix: text(), Size: size(),
				Placeholder: text(), Mode: text(), NoLink: rnd.IntN(2) == 0,
			})
		}
		got, err := encodeRecord(nil, fields, files, paths)
		if err != nil {
			t.Fatal(err)
		}
		if want := standardRecord(t, fields, files, paths); !bytes.Equal(got, want) {
			t.Fatalf("got\n%s\nwant\n%s", got, want)
		}
	}
}

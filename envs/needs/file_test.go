package needs

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/envs/elf"
	"github.com/hpcenv/hpcenv/envs/requirement"
)

func some() *Needs {
	return &Needs{Version: Version, Extractor: elf.Extractor,
		Requirements: []requirement.Requirement{{Spec: "__glibc >=2.34", Source: requirement.Files, Packages: []string{"a <1>"}, File: "lib/a.so"}},
		Page:         &Page{Size: 4096, File: "lib/a.so", Package: "a 1"},
		Prefix:       Prefix{Objects: map[string]*elf.Facts{"lib/a.so": {Machine: "x86_64"}}}}
}

func TestLoad(t *testing.T) {
	data, err := some().Encode()
	if err != nil {
		t.Fatal(err)
	}
	head, all, _ := bytes.Cut(data, []byte("\n"))
	file := filepath.Join(t.TempDir(), "n.json")
	for _, c := range []struct {
		name string
		data string // "-" = there is no file
		want error
		head error
	}{
		{"whole", string(data), nil, nil},
		{"none", "-", ErrNone, ErrNone},
		{"empty", "", ErrBroken, ErrBroken},
		{"cut off", string(data[:len(data)-20]), ErrBroken, nil},
		{"cut off early", string(head), ErrBroken, ErrBroken},
		{"without the rest", string(head) + "\n", ErrBroken, nil},
		{"no JSON", "text\n" + string(all), ErrBroken, ErrBroken},
		{"another release", strings.Replace(string(data), `"version":1`, `"version":2`, 1), ErrVersion, ErrVersion},
		{"two releases", string(head) + "\n" + strings.Replace(string(all), `"version":1`, `"version":2`, 1), ErrBroken, nil},
		{"a head without end", strings.Repeat(" ", maxHead+1) + string(data), ErrBroken, ErrBroken},
		{"no page size", strings.Replace(string(data), `"size":4096`, `"size":0`, 1), ErrBroken, ErrBroken},
		{"not of files", strings.Replace(string(data), `"source":"files"`, `"source":"depends"`, 1), ErrBroken, ErrBroken},
		{"no facts", string(head) + "\n" + strings.Replace(string(all), `{"machine":"x86_64","class":0,"kind":""}`, "null", 1), ErrBroken, nil},
	} {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if c.data != "-" {
			if err := os.WriteFile(file, []byte(c.data), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		n, err := Load(file)
		if !errors.Is(err, c.want) || err != nil && c.want == nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.want == nil {
			if d := cmp.Diff(some(), n); d != "" {
				t.Errorf("%s:\n%s", c.name, d)
			}
		} else if err != nil && !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v does not name the file", c.name, err)
		}
		h, err := LoadHead(file)
		if !errors.Is(err, c.head) || err != nil && c.head == nil {
			t.Errorf("%s: head: %v", c.name, err)
		}
		if c.head == nil && (h == nil || !h.Current() || h.Page.Size != 4096 || h.Requirements[0].Packages[0] != "a <1>") {
			t.Errorf("%s: head %+v", c.name, h)
		}
	}
	if _, err := Load(t.TempDir()); err == nil || errors.Is(err, ErrNone) || errors.Is(err, ErrBroken) {
		t.Errorf("a directory: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	data, err := some().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("{}\n{}"))
	f.Add([]byte(`{"version":1}` + "\n" + `{"version":1,"prefix":{"objects":{"a":null}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := Decode(data)
		if err != nil {
			if !errors.Is(err, ErrBroken) && !errors.Is(err, ErrVersion) {
				t.Fatalf("of no class: %v", err)
			}
			return
		}
		first, err := n.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(first)
		if err != nil {
			if len(first) > maxHead { // escapes made a line longer
				return
			}
			t.Fatalf("%v\n%s", err, first)
		}
		second, err := again.Encode()
		if err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%v\n%s\n%s", err, first, second)
		}
	})
}

func FuzzDecodeFacts(f *testing.F) {
	data, _ := encodeFacts("p", map[string]fact{"c": {Content: "c", Facts: &elf.Facts{SOName: "l", Versioned: true}}, "d": {Content: "d", Problem: "x"}})
	f.Add(string(data))
	f.Fuzz(func(t *testing.T, data string) {
		facts := decodeFacts(data, "p")
		for content, one := range facts {
			if one.Content != content || (one.Facts == nil) != (one.Problem != "") {
				t.Fatalf("%q: %+v", content, one)
			}
		}
	})
}

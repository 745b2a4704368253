package wheel_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/wheel"
)

func classed(err error) bool {
	return errors.Is(err, cache.ErrIntegrity) || errors.Is(err, cache.ErrUnsafe)
}

// FuzzRecord: whatever the bytes, reading ends with rows or an error of a class; no
// row leads out of the wheel, and rows that are written are read back.
func FuzzRecord(f *testing.F) {
	f.Add([]byte("a.py,sha256=AAAA,1\n\"b,\"\"c\",,\nx.dist-info/RECORD,,\n"))
	f.Add([]byte("/a,,\r\n./b,md5=,007\r\n"))
	f.Add([]byte("../../bin/x,,\n"))
	f.Add([]byte("\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := wheel.ParseRecord(data)
		if err != nil {
			if !classed(err) {
				t.Fatalf("error without class: %v", err)
			}
			return
		}
		for _, r := range rows {
			if c := path.Clean(r.Path); strings.HasPrefix(r.Path, "/") || c == ".." || strings.HasPrefix(c, "../") {
				t.Fatalf("row %+v was let through", r)
			}
		}
		text := wheel.EncodeRecord(rows)
		again, err := wheel.ParseRecord(text)
		if err != nil || len(again) != len(rows) {
			t.Fatalf("%d rows came back as %d: %v\n%q", len(rows), len(again), err, text)
		}
		if twice := wheel.EncodeRecord(again); !bytes.Equal(text, twice) {
			t.Fatalf("%q became %q", text, twice)
		}
	})
}

// FuzzEntryPoints: whatever the bytes, what is let through can be the name of a file
// and be written into a script.
func FuzzEntryPoints(f *testing.F) {
	f.Add([]byte("[console_scripts]\na = m.n:f.g [x, y]\n# c\n[gui_scripts]\nb=m:f\n"))
	f.Add([]byte("[DEFAULT]\na = m:f\n[console_scripts]\n  b = m:f\n  c = m:\n    f\n"))
	f.Add([]byte("[console_scripts]\n../a = m:f\n"))
	f.Add([]byte("[console_scripts]\na = m:f;import os\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		console, gui, err := wheel.ParseEntryPoints(data)
		if err != nil {
			if !classed(err) {
				t.Fatalf("error without class: %v", err)
			}
			return
		}
		for _, ep := range append(console, gui...) {
			if ep.Name == "" || path.Base(ep.Name) != ep.Name || ep.Name == "." || ep.Name == ".." || strings.ContainsAny(ep.Name, "\n\x00") {
				t.Fatalf("name %q was let through", ep.Name)
			}
			if strings.ContainsAny(ep.Module+ep.Func, " \t\r\n;()[]'\"#\\=,:") || ep.Module == "" || ep.Func == "" {
				t.Fatalf("%+v was let through", ep)
			}
		}
	})
}

// FuzzWHEEL: whatever WHEEL and METADATA hold, a wheel is taken with a name, a
// version and a major version that is known, or refused with a class.
func FuzzWHEEL(f *testing.F) {
	f.Add("Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n", "Metadata-Version: 2.1\nName: w\nVersion: 1\n")
	f.Add("wheel-version: 1.9\r\n\r\nbody", "Name: W\r\nVersion: 1.0\r\nRequires-Dist: a\r\n  b\r\n")
	f.Add("Wheel-Version: 2.0\n", "Name\n")
	f.Add(" Wheel-Version: 1.0\n", "\n")
	f.Fuzz(func(t *testing.T, text, metadata string) {
		files := map[string]string{"w-1.dist-info/WHEEL": text, "w-1.dist-info/METADATA": metadata, "w-1.dist-info/RECORD": "w-1.dist-info/RECORD,,\n"}
		raw := &cache.Raw{
			Source: cache.Source{Name: "w-1-py3-none-any.whl", Format: cache.FormatWheel},
			Read: func(path string, limit int64) ([]byte, error) {
				if int64(len(files[path])) > limit {
					return nil, cache.ErrUnsafe
				}
				return []byte(files[path]), nil
			},
		}
		for _, name := range []string{"w-1.dist-info/METADATA", "w-1.dist-info/RECORD", "w-1.dist-info/WHEEL"} {
			raw.Entries = append(raw.Entries, cache.Entry{Path: name, Type: cache.EntryFile, SHA256: strings.Repeat("0", 64), Size: int64(len(files[name]))})
		}
		entries, data, _, err := wheel.Interpret(raw)
		if err != nil {
			if !classed(err) {
				t.Fatalf("error without class: %v", err)
			}
			return
		}
		meta, err := wheel.DecodeMeta(data)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.EqualFold(meta.Name, "w") || meta.Version == "" || !strings.HasPrefix(meta.WheelVersion, "1.") && meta.WheelVersion != "0.1" {
			t.Fatalf("%+v was taken", meta)
		}
		if len(entries) != 2 {
			t.Fatalf("entries %v", entries)
		}
		again, err := json.Marshal(meta)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(data), string(again)); d != "" {
			t.Fatalf("metadata does not come back: %s", d)
		}
	})
}

package archive

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"path"
	"strings"
	"testing"
	"unicode/utf8"
)

// member of a ZIP that a test makes.
type zipped struct {
	name, content string
	change        func(*zip.FileHeader)
}

func zipOf(t testing.TB, members ...zipped) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, m := range members {
		h := &zip.FileHeader{Name: m.name, CreatorVersion: 3 << 8, ExternalAttrs: 0o100644 << 16}
		if strings.HasSuffix(m.name, "/") {
			h.ExternalAttrs = 0o40755 << 16
		}
		if m.change != nil {
			m.change(h)
		}
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, m.content); err != nil && m.content != "" {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func mode(m uint32) func(*zip.FileHeader) {
	return func(h *zip.FileHeader) { h.ExternalAttrs = m << 16 }
}

// readWheel reads all contents, as unpacking does.
func readWheel(data []byte, lim Limits) (map[string]string, error) {
	ctx := context.Background()
	members, err := OpenWheel(ctx, bytes.NewReader(data), int64(len(data)), lim)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for i := range members {
		m := &members[i]
		if m.Kind != File {
			out[m.Path+"/"] = ""
			continue
		}
		in, err := m.Content(ctx)
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(in)
		if err = errors.Join(err, in.Close()); err != nil {
			return nil, err
		}
		out[m.Path] = string(content)
	}
	return out, nil
}

// central finds the entry of the central directory with a name and lets change
// have it, from its signature on.
func central(t *testing.T, data []byte, name string, change func(entry []byte)) []byte {
	t.Helper()
	data = bytes.Clone(data)
	for at := 0; ; {
		i := bytes.Index(data[at:], []byte("PK\x01\x02"))
		if i < 0 {
			t.Fatalf("no entry %q", name)
		}
		at += i
		n := int(binary.LittleEndian.Uint16(data[at+28:]))
		if string(data[at+46:at+46+n]) == name {
			change(data[at:])
			return data
		}
		at += 4
	}
}

func TestOpenWheel(t *testing.T) {
	long := strings.Repeat("deflate me ", 5000)
	data := zipOf(t, zipped{"a/", "", nil}, zipped{"a/stored", "s", nil},
		zipped{"a/packed", long, func(h *zip.FileHeader) { h.Method = zip.Deflate }}, zipped{"./b//c", "c", mode(0o100755)}, zipped{"ü", "", nil})
	got, err := readWheel(append(data, 0, 0), fuzzLimits)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a/": "", "a/stored": "s", "a/packed": long, "b/c": "c", "ü": ""}
	for p, c := range want {
		if have, ok := got[p]; !ok || have != c {
			t.Errorf("%s is %.20q, want %.20q", p, have, c)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d members, want %d", len(got), len(want))
	}
}

func TestBadWheels(t *testing.T) {
	good := zipOf(t, zipped{"a", "some content", func(h *zip.FileHeader) { h.Method = zip.Deflate }}, zipped{"b", "b", nil})
	comment := bytes.Clone(good)
	binary.LittleEndian.PutUint16(comment[len(comment)-2:], 3)
	small := fuzzLimits
	small.MaxBytes, small.MaxEntries = 1000, 1
	for name, c := range map[string]struct {
		data []byte
		want error
		says string
	}{
		"nothing":                 {nil, ErrIntegrity, "truncated"},
		"no ZIP":                  {[]byte(strings.Repeat("no archive ", 50)), ErrIntegrity, "does not begin with"},
		"truncated":               {good[:len(good)-10], ErrIntegrity, "no end"},
		"garbage behind":          {append(bytes.Clone(good), "x"...), ErrIntegrity, "after the end"},
		"garbage before":          {append([]byte("x"), good...), ErrIntegrity, "does not begin"},
		"another in front":        {append([]byte("#!/bin/sh\n"), good...), ErrIntegrity, "does not begin"},
		"archive in comment":      {append(comment, 1, 2, 3), ErrUnsafe, "comment"},
		"comment cut off":         {comment, ErrIntegrity, "truncated"},
		"up":                      {zipOf(t, zipped{"../a", "", nil}), ErrUnsafe, `".."`},
		"up inside":               {zipOf(t, zipped{"a/../../b", "", nil}), ErrUnsafe, `".."`},
		"absolute":                {zipOf(t, zipped{"/etc/passwd", "", nil}), ErrUnsafe, "absolute"},
		"backslash":               {zipOf(t, zipped{`a\b`, "", nil}), ErrUnsafe, "backslash"},
		"control character":       {zipOf(t, zipped{"a\nb", "", nil}), ErrUnsafe, "cannot be printed"},
		"not UTF-8":               {zipOf(t, zipped{"a\xff", "", nil}), ErrIntegrity, "UTF-8"},
		"long name":               {zipOf(t, zipped{strings.Repeat("x", 256), "", nil}), ErrUnsafe, "longer"},
		"no name":                 {zipOf(t, zipped{".", "x", nil}), ErrUnsafe, "empty"},
		"link":                    {zipOf(t, zipped{"a", "/etc/passwd", mode(0o120777)}), ErrUnsafe, "symbolic link"},
		"device":                  {zipOf(t, zipped{"a", "", mode(0o20644)}), ErrUnsafe, "special file"},
		"directory without slash": {zipOf(t, zipped{"a", "", mode(0o40755)}), ErrIntegrity, "directory by its name or by its mode"},
		"file with slash":         {zipOf(t, zipped{"a/", "", mode(0o100644)}), ErrIntegrity, "directory by its name or by its mode"},
		"encrypted":               {central(t, good, "a", func(e []byte) { e[8] |= 1 }), ErrIntegrity, "encrypted"},
		"method":                  {central(t, good, "a", func(e []byte) { e[10] = 14 }), ErrIntegrity, "method 14"},
		"says less":               {central(t, good, "a", func(e []byte) { e[24] = 3 }), ErrIntegrity, `"a"`},
		"says more":               {central(t, good, "a", func(e []byte) { e[24] = 99 }), ErrIntegrity, `"a"`},
		"stored, sizes differ":    {central(t, good, "b", func(e []byte) { e[24] = 9 }), ErrIntegrity, "two sizes differ"},
		"checksum":                {central(t, good, "a", func(e []byte) { e[16] ^= 1 }), ErrIntegrity, `"a"`},
		"packed outside":          {central(t, good, "a", func(e []byte) { e[22] = 99 }), ErrIntegrity, ""},
		"elsewhere":               {central(t, good, "a", func(e []byte) { e[42] = 7 }), ErrIntegrity, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readWheel(c.data, fuzzLimits)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %v with %q", err, c.want, c.says)
			}
		})
	}
	if _, err := readWheel(good, small); !errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), "more than 1 members") {
		t.Errorf("too many members: %v", err)
	}
	small.MaxEntries = 9
	bomb := zipOf(t, zipped{"a", strings.Repeat("x", 600), nil}, zipped{"b", strings.Repeat("x", 600), nil})
	if _, err := readWheel(bomb, small); !errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), "more than 1000 bytes") {
		t.Errorf("too many bytes: %v", err)
	}
}

// A content is held to what the directory says, however it is packed.
func TestBombThatLies(t *testing.T) {
	bomb := zipOf(t, zipped{"a", strings.Repeat("\x00", 8<<20), func(h *zip.FileHeader) { h.Method = zip.Deflate }})
	lies := central(t, bomb, "a", func(e []byte) { binary.LittleEndian.PutUint32(e[24:], 100) })
	members, err := OpenWheel(context.Background(), bytes.NewReader(lies), int64(len(lies)), fuzzLimits)
	if err != nil {
		t.Fatal(err)
	}
	in, err := members[0].Content(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, in)
	if !errors.Is(err, ErrIntegrity) || n > 1<<20 {
		t.Errorf("%d bytes came, %v", n, err)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
}

// FuzzWheel: whatever the bytes, reading ends with nil or an error of a class, and
// shows only checked names and kinds, within the limits.
func FuzzWheel(f *testing.F) {
	f.Add(zipOf(f, zipped{"a/", "", nil}, zipped{"a/b", "content", func(h *zip.FileHeader) { h.Method = zip.Deflate }}, zipped{"c", "c", mode(0o100755)}))
	f.Add(zipOf(f, zipped{"../a", "x", mode(0o120777)}))
	f.Add(zipOf(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := readWheel(data, fuzzLimits)
		if err != nil {
			if !errors.Is(err, ErrIntegrity) && !errors.Is(err, ErrUnsafe) {
				t.Fatalf("error without class: %v", err)
			}
			return
		}
		total := 0
		for p, c := range got {
			p = strings.TrimSuffix(p, "/")
			total += len(c)
			if p == "" || path.Clean("/"+p) != "/"+p || strings.ContainsAny(p, "\\\x00\n") || !utf8.ValidString(p) {
				t.Fatalf("name %q was let through", p)
			}
		}
		if total > int(fuzzLimits.MaxBytes) {
			t.Fatalf("%d bytes were let through", total)
		}
	})
}

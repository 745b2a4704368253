package materialize

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/hpcenv/hpcenv/cache"
)

// offsetsOf finds the placeholder as the store does: left to right, none
// overlapping.
func offsetsOf(data []byte, placeholder string) []int64 {
	var out []int64
	for at := 0; ; {
		i := bytes.Index(data[at:], []byte(placeholder))
		if i < 0 {
			return out
		}
		out = append(out, int64(at+i))
		at += i + len(placeholder)
	}
}

// naiveBinary is the rule of binary replacement written down plainly: split at
// NULs, replace in each string, fill up what became shorter.
func naiveBinary(data []byte, placeholder, prefix string) []byte {
	parts := bytes.Split(data, []byte{0})
	for i, p := range parts {
		q := bytes.ReplaceAll(p, []byte(placeholder), []byte(prefix))
		parts[i] = append(q, make([]byte, len(p)-len(q))...)
	}
	return bytes.Join(parts, []byte{0})
}

func runBinary(data []byte, placeholder, prefix string) ([]byte, error) {
	var out bytes.Buffer
	err := replaceBinary(&out, iotest.HalfReader(bytes.NewReader(data)), offsetsOf(data, placeholder), placeholder, prefix)
	return out.Bytes(), err
}

func runText(data []byte, placeholder, prefix string) ([]byte, error) {
	var out bytes.Buffer
	err := replaceText(&out, iotest.HalfReader(bytes.NewReader(data)), offsetsOf(data, placeholder), placeholder, prefix)
	return out.Bytes(), err
}

// checkBinary: equal to the naive rule, length kept, nothing left to replace.
func checkBinary(t *testing.T, data []byte, placeholder, prefix string) {
	t.Helper()
	got, err := runBinary(data, placeholder, prefix)
	if err != nil {
		t.Fatal(err)
	}
	if want := naiveBinary(data, placeholder, prefix); !bytes.Equal(got, want) {
		t.Fatalf("%q → %q, want %q", data, got, want)
	}
	if len(got) != len(data) {
		t.Fatalf("%d bytes became %d", len(data), len(got))
	}
	if bytes.Contains(got, []byte(placeholder)) {
		return // the prefix and what follows make a new one
	}
	again, err := runBinary(got, placeholder, prefix)
	if err != nil || !bytes.Equal(again, got) {
		t.Fatalf("not idempotent: %q → %q, %v", got, again, err)
	}
}

// checkText: a file without interpreter line is a plain replacement.
func checkText(t *testing.T, data []byte, placeholder, prefix string) {
	t.Helper()
	got, err := runText(data, placeholder, prefix)
	if err != nil {
		if errors.Is(err, ErrPrefix) && bytes.HasPrefix(data, []byte("#!")) {
			return
		}
		t.Fatal(err)
	}
	want := bytes.ReplaceAll(data, []byte(placeholder), []byte(prefix))
	line, rest, _ := bytes.Cut(want, []byte("\n"))
	if bytes.HasPrefix(data, []byte("#!")) && len(line) > maxShebang {
		if !bytes.HasSuffix(got, rest) {
			t.Fatalf("what follows the interpreter line differs: %q", got)
		}
		return
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("%q → %q, want %q", data, got, want)
	}
}

// randomData mixes placeholders, near misses, NULs and other bytes.
func randomData(r *rand.Rand, placeholder string) []byte {
	var b bytes.Buffer
	if r.IntN(4) == 0 {
		b.WriteString("#!")
	}
	for range r.IntN(40) {
		switch r.IntN(6) {
		case 0, 1:
			b.WriteString(placeholder)
		case 2:
			b.WriteString(placeholder[:r.IntN(len(placeholder))])
		case 3:
			b.Write(make([]byte, r.IntN(3)))
		case 4:
			b.WriteString(strings.Repeat("/lib\n", r.IntN(3)))
		default:
			b.Write(bytes.Repeat([]byte{byte(r.IntN(256))}, r.IntN(2)*r.IntN(40_000)/100))
		}
	}
	return b.Bytes()
}

func TestReplaceProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		placeholder := "/" + strings.Repeat("p", r.IntN(20)) + strings.Repeat("/p", r.IntN(4)) + "x"
		prefix := "/" + strings.Repeat("n", r.IntN(len(placeholder)))
		data := randomData(r, placeholder)
		checkBinary(t, data, placeholder, prefix)
		checkText(t, data, placeholder, prefix+strings.Repeat("/longer", r.IntN(20)))
	}
}

// TestReplaceAcrossChunks puts placeholders and NULs around the edges of what is
// read in one piece.
func TestReplaceAcrossChunks(t *testing.T) {
	const placeholder, prefix = "/placeholder/placeholder", "/short"
	for _, size := range []int{chunk, 2 * chunk, chunk + 5} {
		for shift := -30; shift <= 3; shift++ {
			data := bytes.Repeat([]byte{'a'}, size+shift)
			data = append(data, placeholder+"/lib:"+placeholder...)
			data = append(data, bytes.Repeat([]byte{'b'}, chunk)...)
			data = append(data, 0, 'c', 0)
			data = append(data, placeholder...)
			checkBinary(t, data, placeholder, prefix)
			checkText(t, data, placeholder, prefix)
		}
	}
}

// TestReplaceWide: strings in wide characters, each filled up before the zero of
// its own width, wherever what is read in one piece ends.
func TestReplaceWide(t *testing.T) {
	in := func(i int, text string) string { return string(cache.Codings(text)[i].Bytes) }
	const l16, b16, l32, b32 = 1, 2, 3, 4
	for name, c := range map[string]struct {
		data    string
		offsets []int64
		want    string
	}{
		"low first":      {in(l16, "/old/x\x00t"), []int64{0}, in(l16, "/n/x\x00\x00\x00t")},
		"high first":     {in(b16, "a/old/x\x00t"), []int64{2}, in(b16, "a/n/x\x00\x00\x00t")},
		"32 bits":        {in(l32, "/old:/old\x00t"), []int64{0, 20}, in(l32, "/n:/n\x00\x00\x00\x00\x00t")},
		"zeros inside":   {in(b16, "/old\u0100\u4100/x\x00t"), []int64{0}, in(b16, "/n\u0100\u4100/x\x00\x00\x00t")},
		"end of file":    {in(l16, "/old/x"), []int64{0}, in(l16, "/n/x\x00\x00")},
		"next to a zero": {in(l16, "/old") + in(b32, "/old\x00"), []int64{0, 8}, in(l16, "/n\x00\x00") + in(b32, "/n\x00\x00\x00")},
		"narrow, wide":   {"/old" + in(b16, "/old\x00"), []int64{0, 4}, "/n\x00\x00" + in(b16, "/n\x00\x00\x00")},
		"odd place":      {"z" + in(l16, "/old\x00") + "/old", []int64{1, 11}, "z" + in(l16, "/n\x00\x00\x00") + "/n\x00\x00"},
	} {
		for _, before := range []int{0, chunk - 12, chunk - 10, chunk - 8, chunk - 2} {
			pad := strings.Repeat("x", before)
			offsets := slices.Clone(c.offsets)
			for i := range offsets {
				offsets[i] += int64(before)
			}
			var out bytes.Buffer
			err := replaceBinary(&out, iotest.HalfReader(strings.NewReader(pad+c.data)), offsets, "/old", "/n")
			if got := strings.TrimPrefix(out.String(), pad); err != nil || got != c.want {
				t.Errorf("%s behind %d bytes: %q, %v; want %q", name, before, got, err, c.want)
			}
		}
	}
	var out bytes.Buffer
	text := "/old " + in(l16, "/old\n") + in(b32, "/old")
	err := replaceText(&out, strings.NewReader(text), []int64{0, 5, 15}, "/old", "/longer")
	if want := "/longer " + in(l16, "/longer\n") + in(b32, "/longer"); err != nil || out.String() != want {
		t.Errorf("text: %q, %v; want %q", out.String(), err, want)
	}
}

func FuzzReplace(f *testing.F) {
	f.Add([]byte("a/old/lib\x00b/old:/old/x\x00"), "/old", "/n")
	f.Add([]byte("#!/old/bin/python -x\n/old"), "/old", "/n")
	f.Add([]byte("/a/a/a/a"), "/a/a", "/b")
	f.Fuzz(func(t *testing.T, data []byte, placeholder, prefix string) {
		if placeholder == "" || strings.ContainsAny(placeholder+prefix, "\x00\n") {
			return
		}
		checkText(t, data, placeholder, prefix)
		if len(prefix) <= len(placeholder) {
			checkBinary(t, data, placeholder, prefix)
		}
	})
}

func TestReplaceRefuses(t *testing.T) {
	var out bytes.Buffer
	if err := replaceBinary(&out, strings.NewReader("/old\x00"), []int64{0}, "/old", "/longer"); !errors.Is(err, ErrPrefix) || out.Len() > 0 {
		t.Errorf("a longer prefix: %v, %d bytes written", err, out.Len())
	}
	if err := replaceBinary(&out, strings.NewReader("/old"), nil, "/old", "/longer"); err != nil || out.String() != "/old" {
		t.Errorf("a longer prefix and nothing to replace: %v", err)
	}
	for _, off := range []int64{1, 3, 100} {
		if err := replaceBinary(&out, strings.NewReader("/old\x00"), []int64{off}, "/old", "/n"); !errors.Is(err, errPlaceholder) {
			t.Errorf("wrong offset %d: %v", off, err)
		}
		if err := replaceText(&out, strings.NewReader("/old\x00"), []int64{off}, "/old", "/n"); !errors.Is(err, errPlaceholder) {
			t.Errorf("wrong offset %d: %v", off, err)
		}
	}
}

func TestInterpreterLine(t *testing.T) {
	short, long := "/p", "/"+strings.Repeat("l", 120)
	for _, c := range []struct{ line, prefix, want string }{
		{"#!/old/bin/python3.11", short, "#!/p/bin/python3.11"},
		{"#! /old/bin/perl -w", short, "#! /p/bin/perl -w"},
		{"#!/bin/sh", long, "#!/bin/sh"},
		{"#!", long, "#!"},
		{"#!/old/bin/python3.11", long, "#!/bin/sh\n'''exec' \"" + long + "/bin/python3.11\" \"$0\" \"$@\" #'''"},
		{"#! /old/bin/python -E", long, "#!/bin/sh\n'''exec' \"" + long + "/bin/python\" -E \"$0\" \"$@\" #'''"},
		{"#!/usr/bin/env " + strings.Repeat("x", 200), short, "#!/usr/bin/env " + strings.Repeat("x", 200)},
	} {
		got, err := interpreterLine(c.line, "/old", c.prefix)
		if err != nil || got != c.want {
			t.Errorf("%q: %q, %v; want %q", c.line, got, err, c.want)
		}
	}
	if got, err := interpreterLine("#!/old/bin/perl", "/old", long); !errors.Is(err, ErrPrefix) {
		t.Errorf("perl with a long prefix: %q, %v", got, err)
	}
	// 127 bytes are read, 128 are not.
	for _, n := range []int{127, 128} {
		prefix := "/" + strings.Repeat("l", n-len("#!//bin/python"))
		got, err := interpreterLine("#!/old/bin/python", "/old", prefix)
		if err != nil || strings.HasPrefix(got, "#!/bin/sh\n") != (n > 127) {
			t.Errorf("%d bytes: %q, %v", n, got, err)
		}
	}
}

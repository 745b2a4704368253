package cache

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCodings(t *testing.T) {
	for text, want := range map[string][]string{
		"/a":   {"/a", "/\x00a\x00", "\x00/\x00a", "/\x00\x00\x00a\x00\x00\x00", "\x00\x00\x00/\x00\x00\x00a"},
		"ü":    {"ü", "\xfc\x00", "\x00\xfc", "\xfc\x00\x00\x00", "\x00\x00\x00\xfc"},
		"𝄞":    {"𝄞", "\x34\xd8\x1e\xdd", "\xd8\x34\xdd\x1e", "\x1e\xd1\x01\x00", "\x00\x01\xd1\x1e"},
		"\xff": {"\xff"},
	} {
		var got []string
		for _, c := range Codings(text) {
			got = append(got, string(c.Bytes))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: %s", text, d)
		}
	}
}

// coded is text in coding i of Codings.
func coded(i int, text string) string { return string(Codings(text)[i].Bytes) }

// TestOccurrencesInWideCharacters: what is found in a binary, and which of two
// strings that overlap is kept.
func TestOccurrencesInWideCharacters(t *testing.T) {
	const narrow, l16, b16, l32 = 0, 1, 2, 3
	p := func(i int) string { return coded(i, "/old") }
	for name, c := range map[string]struct {
		content      string
		binary, text []int64
	}{
		"one":                      {"ab" + p(l16) + "\x00\x00", []int64{2}, []int64{2}},
		"two in a string":          {p(l16) + coded(l16, ":") + p(l16) + "\x00\x00" + p(l16), []int64{0, 10, 20}, []int64{0, 9, 19}},
		"aligned wins":             {"\x00\x00" + p(l16) + "\x00\x00", []int64{2}, []int64{1}},
		"odd place":                {"z" + p(b16) + "\x01\x00\x00", []int64{1}, []int64{1}},
		"narrow wins":              {p(l16) + "/old/u\x00\x00", []int64{8}, []int64{0, 8}},
		"earlier wins":             {p(b16) + p(l16) + "\x00\x00", []int64{0}, []int64{0, 8}},
		"different strings":        {"/old\x00\x00" + p(l16) + "\x00\x00" + p(l32) + "\x00\x00\x00\x00", []int64{0, 6, 16}, []int64{0, 5, 13}},
		"not there":                {"/ol\x00d" + coded(l16, "/ol"), nil, nil},
		"narrow only":              {"/old:/old\x00/old", []int64{0, 5, 10}, []int64{0, 5, 10}},
		"at the end of the file":   {coded(narrow, "xx") + p(l16), []int64{2}, []int64{2}},
		"aligned though not ended": {"z" + p(b16) + coded(b16, "/x") + "q", []int64{2}, []int64{1}},
		"a zero that two strings":  {p(l16) + "x\x00" + p(b16) + "\x00\x00", []int64{0}, []int64{0, 10}},
	} {
		for _, size := range []int{1, 3, 1 << 10} {
			for kind, want := range map[bool][]int64{true: c.binary, false: c.text} {
				got, err := occurrences(strings.NewReader(c.content), int64(len(c.content)), "/old", kind, size)
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("%s, binary %v, by %d: got %v, %v, want %v", name, kind, size, got, err, want)
				}
			}
		}
	}
}

// checkOccurrences: ascending, disjoint, and each is the placeholder in some
// coding; in a binary all narrow ones are found.
func checkOccurrences(t *testing.T, data []byte, placeholder string, isBinary bool) {
	t.Helper()
	got, err := occurrences(bytes.NewReader(data), int64(len(data)), placeholder, isBinary, 64)
	if err != nil {
		t.Fatal(err)
	}
	end, narrow := int64(0), 0
	for _, at := range got {
		i := slices.IndexFunc(Codings(placeholder), func(c Coding) bool { return bytes.HasPrefix(data[at:], c.Bytes) })
		if i < 0 || at < end {
			t.Fatalf("%q in %q: offset %d after %d, coding %d", placeholder, data, at, end, i)
		}
		end = at + int64(len(Codings(placeholder)[i].Bytes))
		if i == 0 {
			narrow++
		}
	}
	if isBinary && narrow != bytes.Count(data, []byte(placeholder)) {
		t.Fatalf("%q in %q: %d narrow ones found", placeholder, data, narrow)
	}
}

func TestOccurrencesProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	for range 2000 {
		placeholder := []string{"/p", "/old/old", "/ü", "x𝄞"}[r.IntN(4)]
		var b bytes.Buffer
		for range r.IntN(12) {
			switch r.IntN(3) {
			case 0:
				b.WriteString(coded(r.IntN(5), placeholder))
			case 1:
				b.Write(make([]byte, r.IntN(6)))
			default:
				b.WriteString(coded(r.IntN(5), "/a"))
			}
		}
		checkOccurrences(t, b.Bytes(), placeholder, true)
		checkOccurrences(t, b.Bytes(), placeholder, false)
	}
}

func FuzzOccurrences(f *testing.F) {
	f.Add([]byte("a/old/lib\x00b/old:/old/x\x00"), "/old", true)
	f.Add([]byte(coded(1, "/old/x\x00")+coded(2, "/old")+coded(3, ":/old")), "/old", true)
	f.Add([]byte(coded(4, "/old/x")+coded(1, "/old")), "/old", false)
	f.Fuzz(func(t *testing.T, data []byte, placeholder string, isBinary bool) {
		// One byte may be the start of the same byte in wide characters.
		if len(placeholder) > 1 && !strings.ContainsAny(placeholder, "\x00\n") {
			checkOccurrences(t, data, placeholder, isBinary)
		}
	})
}

// TestOlderManifestIsTakenInAgain: version 1 lacks the offsets of wide
// characters.
func TestOlderManifestIsTakenInAgain(t *testing.T) {
	s := newStore(t)
	data := makeConda(t, member{name: "a", body: "text"})
	m := mustIngest(t, s, data, FormatConda)
	old, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	old = bytes.Replace(old, []byte(`"version":2`), []byte(`"version":1`), 1)
	path := s.ManifestPath(m.SHA256)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, old, 0o444); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Manifest(m.SHA256); !errors.Is(err, ErrNotFound) {
		t.Fatalf("got %v", err)
	}
	mustIngest(t, s, data, FormatConda)
	if _, err := s.Manifest(m.SHA256); err != nil {
		t.Error(err)
	}
}

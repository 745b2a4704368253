package bytecode

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/cache"
)

func TestStandIns(t *testing.T) {
	one, other := standIns[0], standIns[1]
	if len(one) != IDSize || len(other) != IDSize {
		t.Fatalf("lengths %d and %d", len(one), len(other))
	}
	for i := range IDSize {
		if one[i] == other[i] {
			t.Errorf("both have %q at %d", one[i], i)
		}
	}
	for _, s := range standIns {
		if strings.Count(s, s[:1]) != 1 || strings.Trim(s, "0123456789abcdef") == "" {
			t.Errorf("%s overlaps itself, or is an id", s)
		}
	}
}

// The values are those of CPython's own tests, of 3.11 and of 3.10.
func TestSourceHash(t *testing.T) {
	for _, c := range []struct {
		c, d int
		key  uint64
		want string
	}{
		{1, 3, 42, "\xfb\xd9G\x05\xaf$\x9b~"}, {1, 3, 43, "\xd0/\x87C\xccC\xff\xe2"},
		{2, 4, 42, "\xc6\xe7Z\r\x03:}\xab"}, {2, 4, 43, "\x85\x9765\xf8\x9a\x8b9"},
	} {
		if got := string(binary.LittleEndian.AppendUint64(nil, sipHash(c.c, c.d, c.key, []byte("hi")))); got != c.want {
			t.Errorf("%d-%d, key %d: %q, want %q", c.c, c.d, c.key, got, c.want)
		}
	}
	if f := findHash([4]byte{1, 2, 3, 4}, "0000000000000000"); f != nil {
		t.Error("a hash of no known function was found")
	}
}

// driving gathers requests to a driver.
type driving struct {
	*testing.T
	in *bytes.Buffer
}

func (d *driving) ask(kind byte, parts ...string) {
	data := strings.Join(parts, "")
	d.in.WriteByte(kind)
	d.in.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(data))))
	d.in.WriteString(data)
}

type reply struct {
	kind byte
	data []byte
}

// run returns what the driver says of itself and its answers.
func (d *driving) run(python string) (hello []string, answers []reply) {
	d.Helper()
	cmd := exec.Command(python, "-S", "-s", "-B", "-W", "ignore", "driver.py")
	cmd.Env = []string{"PYTHONHASHSEED=0"}
	cmd.Stdin = d.in
	out, err := cmd.Output()
	if err != nil {
		d.Fatal(err)
	}
	for len(out) > 0 {
		n := int(binary.LittleEndian.Uint32(out[1:]))
		answers = append(answers, reply{out[0], out[5 : 5+n]})
		out = out[5+n:]
	}
	return strings.Split(string(answers[0].data), "\n"), answers[1:]
}

// bodies are sources with the prefix in them (%s), and what the driver must say.
var bodies = []struct {
	source string
	want   byte
}{
	{"x = '%s/lib'\n", 'k'},
	{"x = b'%s/lib'\ny = '%s/lib', '%s'\n", 'k'},
	{"'''%s'''\ndef f(a='%s', *, b=('%s', 1)):\n    '''doc %s'''\n    return f'{a!r:>9}%s{b}'\n", 'k'},
	{"# %s\nx = 1\n", 'k'},
	{"x = '-I%s/include ' '-L%s/lib' + ' %s'\n", 'k'},
	{"build_time_vars = {'A': '%s/a', 'B': '%s', '%s': {'C': ['%s', '%s/a']}}\n", 'k'},
	{"# -*- coding: latin-1 -*-\nx = '\xe9%s\xe9'\n", 'k'},
	{"x = '%s'.split('/')[3]\ny = open('%s')['a']\n", 'k'},
	{"class A:\n    where: '%s' = 1\n    def f(self) -> '%s': return {'a', 'b', 'c'}\n", 'k'},
	{"from __future__ import annotations\nx: '%s' = 1\n", 'k'},
	{"x = '%s' * 3\n", 'k'},
	{"x = '%s' if 'a' in ('%s', 'b') else ['%s']\n", 'k'},
	{"y = {'a', 'b'}\n" + strings.Repeat("x = '%s'; z = 'é'\n", 60), 'k'},
	// Strings that the compiler takes apart, or orders by their hashes.
	{"x = '%s'[40]\n", 'e'},
	{"x = ('a' + '%s')[40]\n", 'e'},
	{"x = b'%s'[40] & 1\n", 'e'},
	{"x = '%s'[3:]\n", 'e'},
	{"def f(x): return x in {'%s', 'a'}\n", 'e'},
	{"def f(x): return x in {('%s/a', 1), 'b', 'c'}\n", 'e'},
	// What stands outside of a string depends on what the id is.
	{"if 0:\n    x = opt%s\n", 0},
	// What does not compile does not for any prefix.
	{"print '%s'\n", 'x'},
	{"x = '%s\n", 'x'},
	{"x = '%s'\nraise = 1\n", 'x'},
}

// What is made of the general form is, for each id, what the compiler makes with
// that id: for all kinds of sources, alone and combined, on every Python here.
func TestGeneralFormIsExact(t *testing.T) {
	const root = "/opt/hpcenv/e/"
	ids := []string{strings.Repeat("1", IDSize), strings.Repeat("e", IDSize), "1e5" + strings.Repeat("0", IDSize-3)}
	random := rand.New(rand.NewPCG(1, 2))
	for range 3 {
		id := make([]byte, IDSize/2)
		for i := range id {
			id[i] = byte(random.Uint32())
		}
		ids = append(ids, hex.EncodeToString(id))
	}
	var sources []string // with %s
	var want []byte
	for _, b := range bodies {
		sources, want = append(sources, b.source), append(want, b.want)
	}
	for range 60 {
		var text strings.Builder
		for range 1 + random.IntN(6) {
			b := bodies[random.IntN(len(bodies))]
			if b.want == 'k' && !strings.Contains(b.source, "coding") && !strings.Contains(b.source, "__future__") {
				text.WriteString(b.source)
			}
		}
		sources, want = append(sources, text.String()), append(want, 'k')
	}
	for _, python := range pythons(t) {
		d := &driving{T: t, in: new(bytes.Buffer)}
		for _, s := range sources {
			d.ask('t', standIns[0], standIns[1], ids[0], strings.ReplaceAll(s, "%s", root+standIns[0]))
			for _, id := range ids {
				d.ask('c', strings.ReplaceAll(s, "%s", root+id))
			}
		}
		hello, answers := d.run(python)
		magic, err := hex.DecodeString(hello[2])
		if err != nil {
			t.Fatal(err)
		}
		b := &build{c: &compiler{magic: [4]byte(magic)}}
		if b.c.hash = findHash(b.c.magic, hello[3]); b.c.hash == nil {
			t.Fatalf("%s: its hash is not known", python)
		}
		for i, s := range sources {
			got := answers[i*(1+len(ids))]
			if want[i] != 0 && got.kind != want[i] {
				t.Errorf("%s: %q: %c, want %c: %.100q", python, s, got.kind, want[i], got.data)
			}
			for j, id := range ids {
				direct := answers[i*(1+len(ids))+1+j]
				p := &Patched{ID: id}
				text := []byte(strings.ReplaceAll(s, "%s", root+id))
				switch {
				case got.kind == 'k':
					if made := b.special(p, text, got.data); direct.kind != 'k' || !bytes.Equal(made, direct.data) {
						t.Errorf("%s: %q with %s: differs from what the compiler makes", python, s, id)
					}
				case got.kind == 'x':
					if why := p.specialWhy(string(got.data)); direct.kind != 'x' || why != string(direct.data) {
						t.Errorf("%s: %q with %s: %q, the compiler says %q", python, s, id, why, direct.data)
					}
				case j == 0: // e and f are for this id
					if kind := map[byte]byte{'e': 'k', 'f': 'x'}[got.kind]; direct.kind != kind || !bytes.Equal(got.data, direct.data) {
						t.Errorf("%s: %q: %c differs from what the compiler makes", python, s, got.kind)
					}
				}
			}
		}
	}
}

// The general form is asked for only where it can be told back.
func TestGeneralForm(t *testing.T) {
	b := &build{c: &compiler{hash: func(uint64, []byte) uint64 { return 0 }}}
	id := strings.Repeat("ab", IDSize/2)
	one := &Patched{ID: id}
	text, digest, ok := b.general(one, []byte("x = '/e/"+id+"/"+id+"'\n"))
	if want := "x = '/e/" + standIns[0] + "/" + standIns[0] + "'\n"; !ok || string(text) != want {
		t.Errorf("%q, %v", text, ok)
	}
	if _, other, _ := b.general(&Patched{ID: strings.Repeat("0", IDSize)}, []byte(strings.ReplaceAll("x = '/e/"+id+"/"+id+"'\n", id, strings.Repeat("0", IDSize)))); other != digest {
		t.Error("two ids, two general forms")
	}
	for name, c := range map[string]struct {
		p      *Patched
		source string
	}{
		"no id":         {&Patched{}, "x = 1\n"},
		"another id":    {&Patched{ID: "short"}, "x = 1\n"},
		"a stand-in":    {one, fmt.Sprintf("x = %q\n", standIns[0])},
		"the other one": {one, fmt.Sprintf("x = %q\n", standIns[1])},
	} {
		if _, _, ok := b.general(c.p, []byte(c.source)); ok {
			t.Errorf("%s: there is a general form", name)
		}
	}
	b.c.hash = nil
	if _, _, ok := b.general(one, nil); ok {
		t.Error("a hash that is not known can be told")
	}
}

// A source without the id is its own general form, and may be a plain source of
// another package: neither's row is taken for the other's.
func TestRowsOfPatchedSourcesAreApart(t *testing.T) {
	store, err := cache.Create(filepath.Join(t.TempDir(), "s"), cache.Format{Platforms: []string{"linux-64"}, OwnerUID: os.Geteuid()})
	if err != nil {
		t.Fatal(err)
	}
	d := func(c string) string { return strings.Repeat(c, 64) }
	tables := []table{{}, {}}
	for i, r := range []Row{
		{Kind: Alone, Source: d("1")}, {Kind: Compiled, Source: d("1"), Code: d("2"), Size: 9},
		{Kind: Template, Source: d("3"), Code: d("4"), Size: 9}, {Kind: Failed, Source: d("3"), Why: "no"},
		{Kind: Kept, Source: d("5"), Shipped: d("6"), Code: d("6"), Size: 9},
	} {
		tables[i%2][r.key(fmt.Sprint(i))] = r
	}
	err = store.PublishFiles(context.Background(), []cache.NewFile{
		{Path: store.PycPath(d("c"), d("a")), Data: tables[0].encode()}, {Path: store.PycPath(d("c"), d("b")), Data: tables[1].encode()},
	})
	if err != nil {
		t.Fatal(err)
	}
	known, err := bySource(store, d("c"))
	if err != nil {
		t.Fatal(err)
	}
	if len(known.sources) != 2 || known.sources[d("1")].Code != d("2") || known.sources[d("3")].Why != "no" {
		t.Errorf("sources %+v", known.sources)
	}
	if len(known.patched) != 2 || known.patched[d("1")].Kind != Alone || known.patched[d("3")].Code != d("4") {
		t.Errorf("patched %+v", known.patched)
	}
}

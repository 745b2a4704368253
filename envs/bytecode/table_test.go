package bytecode

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hpcenv/hpcenv/cache"
)

// TestDriverGolden: what was compiled once stays valid. If this fails, raise
// DriverVersion if the driver makes other bytes, and write the new digest here.
func TestDriverGolden(t *testing.T) {
	const version, want = 3, "13a100d2bb0885ac8e3e39082d8db700ec504943110b55f2b6ff92b5dcc75ccd"
	sum := sha256.Sum256(driver)
	if got := hex.EncodeToString(sum[:]); DriverVersion != version || got != want {
		t.Errorf("driver version %d, digest %s; it was %d, %s", DriverVersion, got, version, want)
	}
}

func sampleTable() table {
	d := func(c string) string { return strings.Repeat(c, 64) }
	t := table{}
	for p, r := range map[string]Row{
		"a/b.py":       {Kind: Compiled, Source: d("1"), Code: d("2"), Size: 9},
		"a/c\td\n.py":  {Kind: Failed, Source: d("3"), Why: "SyntaxError: \"x\"\n"},
		"a/\xff.py":    {Kind: Headed, Source: d("4"), Shipped: d("5"), Code: d("6"), Size: 1 << 40},
		"a/kept.py":    {Kind: Kept, Source: d("7"), Shipped: d("8"), Code: d("8"), Size: 20},
		"a/replace.py": {Kind: Compiled, Source: d("9"), Shipped: d("a"), Code: d("b"), Size: 20},
	} {
		t[rowKey{path: p}] = r
	}
	// One path, three prefix roots.
	for _, r := range []Row{
		{Kind: Template, Source: d("c"), Code: d("d"), Size: 30},
		{Kind: Template, Source: d("e"), Why: "SyntaxError: y"},
		{Kind: Alone, Source: d("f")},
	} {
		t[r.key("a/conf.py")] = r
	}
	return t
}

func TestTableRoundTrip(t *testing.T) {
	want := sampleTable()
	got, err := decodeTable(want.encode())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	data := want.encode()
	for i := range data {
		if _, err := decodeTable(data[:i]); err == nil {
			t.Fatalf("the first %d bytes are taken for a table", i)
		}
	}
}

// FuzzTable: what decodes is stable.
func FuzzTable(f *testing.F) {
	f.Add(sampleTable().encode())
	f.Add(table{}.encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		tab, err := decodeTable(data)
		if err != nil {
			return
		}
		again, err := decodeTable(tab.encode())
		if err != nil {
			t.Fatalf("own bytes are refused: %v", err)
		}
		if d := cmp.Diff(tab, again); d != "" {
			t.Fatal(d)
		}
	})
}

func TestShippedFiles(t *testing.T) {
	magic := [4]byte{0xa7, 0x0d, 0x0d, 0x0a}
	head := func(m [4]byte, flags, a, b uint32) []byte {
		h := append([]byte(nil), m[:]...)
		for _, n := range []uint32{flags, a, b} {
			h = binary.LittleEndian.AppendUint32(h, n)
		}
		return h
	}
	source := cache.Entry{Time: 1700000000, Size: 77}
	for name, c := range map[string]struct {
		head []byte
		want Kind
	}{
		"time and size match": {head(magic, 0, 1700000000, 77), Headed},
		"another time":        {head(magic, 0, 1700000001, 77), Compiled},
		"another size":        {head(magic, 0, 1700000000, 78), Compiled},
		"unchecked hash":      {head(magic, 1, 5, 6), Kept},
		"checked hash":        {head(magic, 3, 5, 6), Compiled},
		"unknown flags":       {head(magic, 4, 1700000000, 77), Compiled},
		"another python":      {head([4]byte{1, 2, 3, 4}, 1, 5, 6), Compiled},
		"cut":                 {head(magic, 1, 5, 6)[:15], Compiled},
	} {
		if got := shipped(c.head, 100, magic, source); got != c.want {
			t.Errorf("%s: %c, want %c", name, got, c.want)
		}
	}
	if got := shipped(head(magic, 0, 0, 77), 100, magic, cache.Entry{Size: 77}); got != Compiled {
		t.Errorf("a source without a time: %c", got)
	}
	if got := shipped(head(magic, 1, 5, 6), headerSize, magic, source); got != Compiled {
		t.Errorf("nothing but a header: %c", got)
	}
}

// Only what python needs runs; nothing of it can name another place.
func TestNeeded(t *testing.T) {
	for p, want := range map[string]bool{
		"bin/python3.11": true, "bin/python": true, "bin/python3.11-config": false, "bin/pip": false, "bin/pyvenv.cfg": false,
		"pyvenv.cfg": false, "lib/libz.so.1": true, "lib/libpython3.11.so": true, "lib/python3.11/os.py": true,
		"lib/python3.11/encodings/latin_1.py": true, "lib/python3.11/sitecustomize.py": false,
		"lib/python3.11/usercustomize.py": false, "lib/python3.11/site-packages/x.pth": false,
		"lib/python3.11/site-packages/os.py": false, "lib/python3.11/test/x.py": false, "lib/python3.1/os.py": false,
		"lib/python3.11/lib-dynload/_codecs_jp.so": true, "lib/python3.11/lib-dynload/unicodedata.cpython-311-x86_64-linux-gnu.so": true, "lib/python3.11/lib-dynload/_ssl.so": false,
	} {
		if got := needed(p, "3.11"); got != want {
			t.Errorf("%s: %v", p, got)
		}
	}
}

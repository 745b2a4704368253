package loader

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cacheFile makes an ld.so.cache of entries name, path, flags, hwcap.
func cacheFile(entries [][4]any, named []string) []byte {
	var table, text, ext []byte
	base := uint32(cacheHeader + len(entries)*cacheEntrySize)
	slices.SortStableFunc(entries, func(a, b [4]any) int { return compareNames(b[0].(string), a[0].(string)) })
	str := func(s string) uint32 {
		at := base + uint32(len(text))
		text = append(append(text, s...), 0)
		return at
	}
	le := binary.LittleEndian
	for _, e := range entries {
		table = le.AppendUint32(table, uint32(e[2].(int)))
		table = le.AppendUint32(table, str(e[0].(string)))
		table = le.AppendUint32(table, str(e[1].(string)))
		table = le.AppendUint32(table, 0)
		table = le.AppendUint64(table, e[3].(uint64))
	}
	var caps []byte
	for _, n := range named {
		caps = le.AppendUint32(caps, str(n))
	}
	extAt := base + uint32(len(text))
	ext = le.AppendUint32(ext, cacheExtMagic)
	ext = le.AppendUint32(ext, 1)
	for _, v := range []uint32{cacheTagHWCaps, 0, extAt + 24, uint32(len(caps))} {
		ext = le.AppendUint32(ext, v)
	}
	b := []byte(cacheMagic)
	b = le.AppendUint32(b, uint32(len(entries)))
	b = le.AppendUint32(b, uint32(len(text)))
	b = append(b, 2, 0, 0, 0)
	b = le.AppendUint32(b, extAt)
	b = append(b, make([]byte, 12)...)
	return slices.Concat(b, table, text, ext, caps)
}

// TestCacheEntries: of the entries of a machine the best for the processor is taken,
// names count by their numbers, and the older form may come first.
func TestCacheEntries(t *testing.T) {
	const x86, arm = 0x0303, 0x0a03
	b := cacheFile([][4]any{
		{"liba.so.1", "/lib/liba.so.1", x86, uint64(0)},
		{"liba.so.1", "/lib/v2/liba.so.1", x86, cacheNamedHWCap | 0},
		{"liba.so.1", "/lib/v3/liba.so.1", x86, cacheNamedHWCap | 1},
		{"liba.so.1", "/lib/old/liba.so.1", x86, uint64(1 << 52)},
		{"liba.so.1", "/arm/liba.so.1", arm, uint64(0)},
		{"libb.so.1", "/lib/v3/libb.so.1", x86, cacheNamedHWCap | 1},
		{"libc-0.so.10", "/lib/libc-0.so.10", x86, uint64(0)},
	}, []string{"x86-64-v2", "x86-64-v3"})
	old := append([]byte(cacheOldMagic+"\x00"), 1, 0, 0, 0)
	old = append(old, make([]byte, cacheOldEntry)...)
	old = append(old, make([]byte, -len(old)&7)...)
	for _, content := range [][]byte{b, append(old, b...)} {
		c, err := openCache(content, "x86_64")
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []struct {
			caps       []string
			name, want string
		}{
			{nil, "liba.so.1", "/lib/liba.so.1"}, {X86Levels(2), "liba.so.1", "/lib/v2/liba.so.1"}, {X86Levels(4), "liba.so.1", "/lib/v3/liba.so.1"},
			{nil, "libb.so.1", ""}, {X86Levels(3), "libb.so.01", "/lib/v3/libb.so.1"}, {nil, "libc-00.so.10", "/lib/libc-0.so.10"}, {nil, "libc-0.so.1", ""},
		} {
			s := &System{Options: Options{HWCaps: x.caps}, cache: c}
			if got := s.fromCache(x.name); got != x.want {
				t.Errorf("%s with %v: %q, want %q", x.name, x.caps, got, x.want)
			}
		}
		arm, err := openCache(content, "aarch64")
		if err != nil || arm.find("liba.so.1", nil) != "/arm/liba.so.1" || arm.find("libb.so.1", X86Levels(4)) != "" {
			t.Errorf("aarch64: %v, %v", arm, err)
		}
	}
	for _, content := range [][]byte{nil, []byte("text"), b[:cacheHeader+3], old} {
		if _, err := openCache(content, "x86_64"); !errors.Is(err, errCache) {
			t.Errorf("%d bytes: %v", len(content), err)
		}
	}
}

// TestCacheOfThisHost: as ldconfig prints it.
func TestCacheOfThisHost(t *testing.T) {
	b, err := os.ReadFile(cachePath)
	if err != nil {
		t.Skipf("NO LD.SO.CACHE: this test was not run: %v", err)
	}
	out, err := exec.Command("ldconfig", "-p").Output()
	if err != nil {
		t.Skipf("NO LDCONFIG: this test was not run: %v", err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, to, ok := strings.Cut(strings.TrimSpace(line), " => ")
		name, kind, _ := strings.Cut(name, " ")
		if ok && kind == "(libc6,x86-64)" && want[name] == "" {
			want[name] = to
		}
	}
	if len(want) == 0 {
		t.Skip("NO LIBRARIES FOR x86-64: this test was not run")
	}
	c, err := openCache(b, "x86_64")
	if err != nil {
		t.Fatal(err)
	}
	s := &System{cache: c}
	for name, to := range want {
		if got := s.fromCache(name); got != to {
			t.Errorf("%s: %q, ldconfig has %q", name, got, to)
		}
	}
}

// FuzzCache: no cache makes reading it fail otherwise than with its error.
func FuzzCache(f *testing.F) {
	f.Add(cacheFile([][4]any{{"liba.so", "/a", 0x303, cacheNamedHWCap}}, []string{"v"}))
	f.Add([]byte(cacheOldMagic + "\x00\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := openCache(b, "x86_64")
		if err != nil && !errors.Is(err, errCache) {
			t.Fatal(err)
		}
		if err == nil {
			c.find("liba.so", X86Levels(4))
		}
	})
}

// TestDefaultDirs: as loaders of distributions have them.
func TestDefaultDirs(t *testing.T) {
	debian := "x\x00lib/aarch64-linux-gnu\x00/lib/aarch64-linux-gnu/\x00/usr/lib/aarch64-linux-gnu/\x00/lib/\x00/usr/lib/\x00y"
	for content, want := range map[string][]string{
		debian: {"/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib", "/usr/lib"},
		"/etc/\x00\x00/lib64/\x00/usr/lib64/\x00": {"/lib64", "/usr/lib64"},
		"a\x00/usr/lib/\x00":                      {"/usr/lib"},
		"a\x00/var/lib/\x00b":                     nil,
	} {
		if d := cmp.Diff(want, defaultDirs([]byte(content))); d != "" {
			t.Errorf("%q: %s", content, d)
		}
	}
	if b := bytes.Repeat([]byte("\x00/a/"), 1<<20); defaultDirs(b) != nil {
		t.Error("found in noise")
	}
}

// TestExpand: tokens end where the loader lets them end.
func TestExpand(t *testing.T) {
	s := &System{Options: Options{Platform: "haswell"}, Lib: "lib64"}
	for in, want := range map[string]string{
		"$ORIGIN/../lib": "/o/../lib", "${ORIGIN}x": "/ox", "$ORIGINx": "$ORIGINx", "a/$LIB:b": "a/lib64:b", "$PLATFORM$LIB": "haswelllib64",
		"$": "$", "${LIB": "${LIB", "$$LIB": "$lib64", "$LIB_": "$LIB_", "plain": "plain",
	} {
		if got := s.expand(in, "/o"); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

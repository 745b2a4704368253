package loader

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sort"
)

// The format of /etc/ld.so.cache since glibc 2.2, with the extension of 2.33, as in
// glibc's dl-cache.h. A file of the form before it may come first.
const (
	cachePath       = "/etc/ld.so.cache"
	maxCache        = 64 << 20
	cacheMagic      = "glibc-ld.so.cache1.1"
	cacheOldMagic   = "ld.so-1.7.0"
	cacheHeader     = 48
	cacheEntrySize  = 24
	cacheOldHeader  = 16
	cacheOldEntry   = 12
	cacheExtMagic   = 0xeaa42174
	cacheTagHWCaps  = 1
	cacheNamedHWCap = uint64(1) << 62
)

// errCache: /etc/ld.so.cache is none that the loader would use.
var errCache = errors.New("no usable ld.so.cache")

// ldCache is a file of libraries sorted by name, in which the loader searches.
type ldCache struct {
	b     []byte // from its magic on
	n     int    // entries
	flags uint32
	// named are the subdirectories of glibc-hwcaps that entries refer to.
	named []string
}

// cacheFlags says which libraries in the cache are for a machine's 64-bit programs,
// from glibc's ldconfig.h.
var cacheFlags = map[string]uint32{"x86_64": 0x0303, "aarch64": 0x0a03, "ppc64le": 0x0503}

// openCache takes the content of a cache for a machine.
func openCache(b []byte, machine string) (*ldCache, error) {
	flags, ok := cacheFlags[machine]
	if !ok {
		return nil, fmt.Errorf("%w: for %s", errCache, machine)
	}
	if bytes.HasPrefix(b, []byte(cacheOldMagic)) && len(b) >= cacheOldHeader {
		skip := cacheOldHeader + cacheOldEntry*uint64(order.Uint32(b[12:]))
		skip = (skip + 7) &^ 7
		if skip > uint64(len(b)) {
			return nil, fmt.Errorf("%w: it is cut off", errCache)
		}
		b = b[skip:]
	}
	if !bytes.HasPrefix(b, []byte(cacheMagic)) || len(b) < cacheHeader {
		return nil, fmt.Errorf("%w: it does not begin as one", errCache)
	}
	const littleEndian, unset = 2, 0
	if f := b[28] & 3; f != unset && f != littleEndian {
		return nil, fmt.Errorf("%w: it has another byte order", errCache)
	}
	n := uint64(order.Uint32(b[20:]))
	if cacheHeader+n*cacheEntrySize > uint64(len(b)) {
		return nil, fmt.Errorf("%w: it is cut off", errCache)
	}
	c := &ldCache{b: b, n: int(n), flags: flags}
	c.named = c.hwcaps()
	return c, nil
}

// order of bytes in it: of no machine that hpcenv knows it is another.
var order = binary.LittleEndian

// entry is the i-th, sorted from the highest name to the lowest.
func (c *ldCache) entry(i int) []byte { return c.b[cacheHeader+i*cacheEntrySize:] }

// name of the i-th entry; ok is false where it lies outside of the file.
func (c *ldCache) name(i int) (name []byte, ok bool) { return c.text(order.Uint32(c.entry(i)[4:])) }

func (c *ldCache) text(off uint32) (text []byte, ok bool) {
	if uint64(off) >= uint64(len(c.b)) {
		return nil, false
	}
	i := bytes.IndexByte(c.b[off:], 0)
	return c.b[off:][:max(i, 0)], i >= 0
}

// path of the library that the i-th entry has for processors of these levels, and
// how good it is: 0 is best. ok is false if it has none.
func (c *ldCache) path(i int, levels []string) (path string, rank int, ok bool) {
	e := c.entry(i)
	if order.Uint32(e) != c.flags {
		return "", 0, false
	}
	rank = len(levels)
	if hwcap := order.Uint64(e[16:]); hwcap&cacheNamedHWCap != 0 {
		index := uint32(hwcap)
		if uint64(index) >= uint64(len(c.named)) {
			return "", 0, false
		}
		if rank = slices.Index(levels, c.named[index]); rank < 0 {
			return "", 0, false
		}
	} else if hwcap != 0 { // by the way of before 2.33
		return "", 0, false
	}
	text, ok := c.text(order.Uint32(e[8:]))
	return string(text), rank, ok
}

// find is the path for a name; "" = there is none. Of several the one for the best
// level of the processor counts, of equal ones the first.
func (c *ldCache) find(name string, levels []string) string {
	damaged := false
	compare := func(i int) int { // as the entry lies to the one that is looked for
		has, ok := c.name(i)
		damaged = damaged || !ok
		return compareNames(name, string(has))
	}
	first := sort.Search(c.n, func(i int) bool { return compare(i) >= 0 })
	best, rank := "", len(levels)+1
	for i := first; i < c.n && compare(i) == 0; i++ {
		if at, r, ok := c.path(i, levels); ok && r < rank {
			best, rank = at, r
		}
	}
	if damaged {
		return ""
	}
	return best
}

// hwcaps are the names of subdirectories of glibc-hwcaps that entries refer to.
func (c *ldCache) hwcaps() []string {
	b := c.b
	ext := uint64(order.Uint32(b[32:]))
	if ext == 0 || ext+8 > uint64(len(b)) || order.Uint32(b[ext:]) != cacheExtMagic {
		return nil
	}
	var names []string
	for i := range uint64(order.Uint32(b[ext+4:])) {
		at := ext + 8 + i*16
		if at+16 > uint64(len(b)) {
			return nil
		}
		s := b[at:]
		off, size := uint64(order.Uint32(s[8:])), uint64(order.Uint32(s[12:]))
		if order.Uint32(s) != cacheTagHWCaps || off+size > uint64(len(b)) {
			continue
		}
		for p := b[off : off+size]; len(p) >= 4; p = p[4:] {
			name, ok := c.text(order.Uint32(p))
			if !ok {
				return nil
			}
			names = append(names, string(name))
		}
	}
	return names
}

// compareNames orders names as the cache has them: runs of digits count by their
// value, and come after everything else.
func compareNames(a, b string) int {
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		da, db := digit(a[i]), digit(b[j])
		switch {
		case da && db:
			var x, y uint32 // which overflow as the loader's do
			for ; i < len(a) && digit(a[i]); i++ {
				x = x*10 + uint32(a[i]-'0')
			}
			for ; j < len(b) && digit(b[j]); j++ {
				y = y*10 + uint32(b[j]-'0')
			}
			if x != y {
				return cmp.Compare(int32(x), int32(y))
			}
		case da:
			return 1
		case db:
			return -1
		case a[i] != b[j]:
			return cmp.Compare(a[i], b[j])
		default:
			i, j = i+1, j+1
		}
	}
	return cmp.Compare(len(a)-i, len(b)-j)
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// fromCache is the path that the cache has for a name on this node; "" = none.
func (s *System) fromCache(name string) string {
	if s.cache == nil {
		return ""
	}
	return s.cache.find(name, s.HWCaps)
}

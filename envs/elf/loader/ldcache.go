package loader

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
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

// cached is a library in the cache.
type cached struct {
	path string
	// hwcap is the subdirectory of glibc-hwcaps it is for; "" = every processor.
	hwcap string
}

// cacheFlags says which libraries in the cache are for a machine's 64-bit programs,
// from glibc's ldconfig.h.
var cacheFlags = map[string]uint32{"x86_64": 0x0303, "aarch64": 0x0a03, "ppc64le": 0x0503}

// parseCache reads the libraries for a machine, by name. Entries for processors by
// the way of before 2.33 are left out.
func parseCache(b []byte, machine string) (map[string][]cached, error) {
	flags, ok := cacheFlags[machine]
	if !ok {
		return nil, fmt.Errorf("%w: for %s", errCache, machine)
	}
	var order binary.ByteOrder = binary.LittleEndian
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
	str := func(off uint32) (string, bool) {
		if uint64(off) >= uint64(len(b)) {
			return "", false
		}
		i := bytes.IndexByte(b[off:], 0)
		return string(b[off:][:max(i, 0)]), i >= 0
	}
	named := cacheHWCaps(b, order, str)
	libraries := map[string][]cached{}
	for i := range n {
		e := b[cacheHeader+i*cacheEntrySize:]
		if order.Uint32(e) != flags {
			continue
		}
		name, ok := str(order.Uint32(e[4:]))
		file, ok2 := str(order.Uint32(e[8:]))
		if !ok || !ok2 {
			return nil, fmt.Errorf("%w: an entry has no name", errCache)
		}
		c := cached{path: file}
		if hwcap := order.Uint64(e[16:]); hwcap&cacheNamedHWCap != 0 {
			index := uint32(hwcap)
			if uint64(index) >= uint64(len(named)) {
				continue
			}
			c.hwcap = named[index]
		} else if hwcap != 0 {
			continue
		}
		key := cacheName(name)
		libraries[key] = append(libraries[key], c)
	}
	return libraries, nil
}

// cacheHWCaps are the names of subdirectories of glibc-hwcaps that entries refer to.
func cacheHWCaps(b []byte, order binary.ByteOrder, str func(uint32) (string, bool)) []string {
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
			name, ok := str(order.Uint32(p))
			if !ok {
				return nil
			}
			names = append(names, name)
		}
	}
	return names
}

// cacheName is a name as the cache compares it: numbers by value, so that leading
// zeros do not count.
func cacheName(name string) string {
	var out strings.Builder
	for i := 0; i < len(name); i++ {
		c := name[i]
		digit := func(j int) bool { return j >= 0 && j < len(name) && name[j] >= '0' && name[j] <= '9' }
		if c == '0' && !digit(i-1) {
			for name[i] == '0' && digit(i+1) {
				i++
			}
			c = name[i]
		}
		out.WriteByte(c)
	}
	return out.String()
}

// fromCache is the path that the cache has for a name on this node; "" = none. Of
// several the one for the best level of the processor counts.
func (s *System) fromCache(name string) string {
	best, rank := "", len(s.HWCaps)+1
	for _, c := range s.cache[cacheName(name)] {
		r := len(s.HWCaps)
		if c.hwcap != "" {
			r = slices.Index(s.HWCaps, c.hwcap)
			if r < 0 {
				continue
			}
		}
		if r < rank {
			best, rank = c.path, r
		}
	}
	return best
}

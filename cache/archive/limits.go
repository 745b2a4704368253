package archive

import (
	"fmt"
	"io"
	"strings"
)

// Limits bound what one archive may expand to.
type Limits struct {
	// MaxBytes is the number of bytes after decompression, tar headers and
	// padding included.
	MaxBytes int64
	// MaxEntries is the number of members.
	MaxEntries int
	// MaxPath and MaxLink are the lengths in bytes of a member's name and of a
	// link's text; MaxName is that of one component of a name.
	MaxPath, MaxLink, MaxName int
	// Memory is what zstd decoders draw their windows on; nil = unbounded.
	Memory *Budget
}

const (
	maxRatio      = 1000
	floorBytes    = 256 << 20
	capBytes      = 100 << 30
	floorEntries  = 100_000
	capEntries    = 5_000_000
	bytesPerEntry = 16
)

// LimitsFor returns the limits for an archive of size bytes: 1000 times its
// size, but at least 256 MiB and at most 100 GiB; one member per 16 bytes, but
// at least 100,000 and at most 5 million; names as long as Linux takes them.
func LimitsFor(size int64) Limits {
	l := Limits{MaxBytes: capBytes, MaxPath: 4095, MaxLink: 4095, MaxName: 255}
	if size < capBytes/maxRatio {
		l.MaxBytes = max(size*maxRatio, floorBytes)
	}
	l.MaxEntries = int(min(max(size/bytesPerEntry, floorEntries), capEntries))
	return l
}

// meter is a reader that fails with ErrUnsafe as soon as more than *left bytes
// have passed; several meters may share one count.
type meter struct {
	r    io.Reader
	left *int64
	max  int64
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	*m.left -= int64(n)
	if *m.left < 0 {
		return 0, fmt.Errorf("%w: expands to more than %d bytes", ErrUnsafe, m.max)
	}
	return n, err
}

// CleanPath returns the clean form of a member's name ("a/b"; "" for the root
// itself), or an ErrUnsafe error for a name that is absolute, has a component
// "..", a NUL or a backslash, or is too long.
func CleanPath(name string, lim Limits) (string, error) {
	bad := func(why string) (string, error) {
		return "", fmt.Errorf("%w: member name %q %s", ErrUnsafe, shorten(name), why)
	}
	switch {
	case len(name) > lim.MaxPath:
		return bad(fmt.Sprintf("is longer than %d bytes", lim.MaxPath))
	case strings.HasPrefix(name, "/"):
		return bad("is absolute")
	case strings.IndexByte(name, 0) >= 0:
		return bad("holds a NUL byte")
	case strings.IndexByte(name, '\\') >= 0:
		return bad("holds a backslash")
	}
	// Most names are clean already: no copy is made for those.
	clean := true
	for rest := name; ; {
		part, after, more := strings.Cut(rest, "/")
		switch {
		case part == "..":
			return bad("holds a component \"..\"")
		case len(part) > lim.MaxName:
			return bad(fmt.Sprintf("holds a component longer than %d bytes", lim.MaxName))
		case part == "" || part == ".":
			clean = false
		}
		if !more {
			break
		}
		rest = after
	}
	if clean {
		return name, nil
	}
	parts := strings.Split(name, "/")
	kept := parts[:0]
	for _, p := range parts {
		if p != "" && p != "." {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "/"), nil
}

func shorten(s string) string {
	if len(s) > 200 {
		return s[:200] + "…"
	}
	return s
}

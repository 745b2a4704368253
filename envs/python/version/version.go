package version

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrVersion is the class of errors about a text that is no version or no
// clause of PEP 440.
var ErrVersion = errors.New("not a Python version")

// Version is a version of PEP 440. The zero value is no version; it compares as
// the lowest and prints as "".
type Version struct {
	epoch   number
	release []number
	// pre, post, dev: "" = has none. preKind is "a", "b" or "rc".
	preKind        string
	pre, post, dev number
	// local in parts; digits without leading zeros, letters in lower case.
	local []string
}

// Parse reads a version in any spelling that PEP 440 allows; blanks around it
// are passed over. The error wraps ErrVersion.
func Parse(text string) (Version, error) {
	v, ok := parse(strings.TrimFunc(text, blank))
	if !ok {
		return Version{}, fmt.Errorf("%w: %.100q", ErrVersion, text)
	}
	return v, nil
}

// blank is what PEP 440's pattern calls white space.
func blank(r rune) bool {
	switch {
	case r >= '\t' && r <= '\r', r >= 0x1c && r <= ' ', r == 0x85, r == 0xa0, r == 0x1680,
		r >= 0x2000 && r <= 0x200a, r == 0x2028, r == 0x2029, r == 0x202f, r == 0x205f, r == 0x3000:
		return true
	}
	return false
}

func parse(text string) (Version, bool) {
	c := scanner{s: lower(text)}
	c.eat('v')
	v := Version{epoch: "0"}
	if v.release = c.release(); v.release == nil {
		return Version{}, false
	}
	if len(v.release) == 1 && c.eat('!') {
		v.epoch = v.release[0]
		if v.release = c.release(); v.release == nil {
			return Version{}, false
		}
	}
	c.suffixes(&v)
	if c.eat('+') {
		if v.local = c.local(); v.local == nil {
			return Version{}, false
		}
	}
	return v, c.done()
}

// suffixes reads pre-release, post-release and development release.
func (c *scanner) suffixes(v *Version) {
	if w, n, ok := c.suffix("alpha", "a", "beta", "b", "preview", "pre", "c", "rc"); ok {
		v.pre = n
		switch w {
		case "alpha", "a":
			v.preKind = "a"
		case "beta", "b":
			v.preKind = "b"
		default:
			v.preKind = "rc"
		}
	}
	from := c.i
	if c.eat('-') {
		if d := c.digits(); d != "" {
			v.post = newNumber(d)
		} else {
			c.i = from
		}
	}
	if v.post == "" {
		if _, n, ok := c.suffix("post", "rev", "r"); ok {
			v.post = n
		}
	}
	if _, n, ok := c.suffix("dev"); ok {
		v.dev = n
	}
}

// lower makes ASCII letters small, and no others: 'K' (Kelvin) is no 'k'.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// IsZero tells whether v is the zero value.
func (v Version) IsZero() bool { return v.release == nil }

// String is the normalized form; two versions that are equal may differ in it
// by trailing zeros ("1.0" and "1.0.0").
func (v Version) String() string {
	if len(v.local) == 0 {
		return v.Public()
	}
	return v.Public() + "+" + strings.Join(v.local, ".")
}

// Public is the normalized form without the local part.
func (v Version) Public() string {
	if v.IsZero() {
		return ""
	}
	var b strings.Builder
	if v.epoch != "0" {
		b.WriteString(string(v.epoch) + "!")
	}
	for i, n := range v.release {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(string(n))
	}
	if v.pre != "" {
		b.WriteString(v.preKind + string(v.pre))
	}
	if v.post != "" {
		b.WriteString(".post" + string(v.post))
	}
	if v.dev != "" {
		b.WriteString(".dev" + string(v.dev))
	}
	return b.String()
}

// Local is the local part ("" = none), e.g. "cu121".
func (v Version) Local() string { return strings.Join(v.local, ".") }

// Base is the version of which only epoch and release are left.
func (v Version) Base() Version { return Version{epoch: v.epoch, release: v.release} }

// IsPrerelease tells whether v is a pre-release or development release.
func (v Version) IsPrerelease() bool { return v.pre != "" || v.dev != "" }

// IsPostrelease tells whether v is a post-release.
func (v Version) IsPostrelease() bool { return v.post != "" }

// Release returns the numbers of the release as text, at least n of them: what
// is missing is "0".
func (v Version) Release(n int) []string {
	parts := make([]string, 0, max(n, len(v.release)))
	for _, p := range v.release {
		parts = append(parts, string(p))
	}
	for len(parts) < n {
		parts = append(parts, "0")
	}
	return parts
}

// trimmed is the release without trailing zeros.
func (v Version) trimmed() []number {
	r := v.release
	for len(r) > 0 && r[len(r)-1] == "0" {
		r = r[:len(r)-1]
	}
	return r
}

// hasPrefix: the epochs are the same and the release begins with that of p,
// where v counts as continued by zeros.
func (v Version) hasPrefix(p Version) bool {
	if v.epoch != p.epoch {
		return false
	}
	have := slices.Clone(v.release)
	for len(have) < len(p.release) {
		have = append(have, "0")
	}
	return slices.Equal(have[:len(p.release)], p.release)
}

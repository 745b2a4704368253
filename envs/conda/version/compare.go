package version

import (
	"cmp"
	"strings"
)

// Compare orders versions: negative if v is older than o, 0 if they are the same
// (1.0 and 1.0.0 are), positive if it is newer.
func (v Version) Compare(o Version) int {
	return cmp.Or(compareNumbers(v.epoch, o.epoch), compareSegments(v.segments, o.segments), compareSegments(v.local, o.local))
}

// compareNumbers compares digits without leading zeros.
func compareNumbers(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

func comparePart(a, b part) int {
	if a.kind != b.kind {
		return cmp.Compare(a.kind, b.kind)
	}
	if a.kind == number {
		return compareNumbers(a.text, b.text)
	}
	return strings.Compare(a.text, b.text)
}

// compareSegments fills what is missing with 0.
func compareSegments(a, b []segment) int {
	for i := range max(len(a), len(b)) {
		s, t := at(a, i), at(b, i)
		for j := range max(len(s), len(t)) {
			p, q := zero, zero
			if j < len(s) {
				p = s[j]
			}
			if j < len(t) {
				q = t[j]
			}
			if c := comparePart(p, q); c != 0 {
				return c
			}
		}
	}
	return 0
}

func at(list []segment, i int) segment {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// StartsWith tells whether v begins with a prefix: 1.2 with 1, 1.2 with 1.2,
// 1.2rc1 with 1.2, 1 with 1.0, but not 1.20 with 1.2. If the prefix has a local
// part, v's local part must begin with that.
func (v Version) StartsWith(prefix Version) bool {
	return compareNumbers(v.epoch, prefix.epoch) == 0 && startsWith(v.segments, prefix.segments) &&
		startsWith(v.local, prefix.local)
}

func startsWith(a, prefix []segment) bool {
	for i, want := range prefix {
		have := at(a, i)
		for j, p := range want {
			q := zero
			if j < len(have) {
				q = have[j]
			}
			if comparePart(q, p) != 0 {
				return false
			}
		}
		// Only the last of the segments may go on.
		if len(have) > len(want) && i < len(prefix)-1 && i < len(a)-1 {
			return false
		}
	}
	return true
}

// CompatibleWith tells whether v is base or later and agrees with it in all but
// the last segment, and in all of its local part: what ~=base asks.
func (v Version) CompatibleWith(base Version) bool {
	return v.Compare(base) >= 0 && compareNumbers(v.epoch, base.epoch) == 0 &&
		startsWith(v.segments, base.segments[:len(base.segments)-1]) &&
		startsWith(v.local, base.local)
}

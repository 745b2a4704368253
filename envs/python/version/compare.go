package version

import (
	"cmp"
	"slices"
	"strings"
)

// Compare gives the order of PEP 440: negative, zero or positive as v is below,
// equal to or above w.
func (v Version) Compare(w Version) int {
	if v.IsZero() || w.IsZero() {
		return cmp.Compare(len(v.release), len(w.release))
	}
	return cmp.Or(
		v.epoch.compare(w.epoch),
		slices.CompareFunc(v.trimmed(), w.trimmed(), number.compare),
		cmp.Compare(v.stage(), w.stage()),
		v.pre.compare(w.pre),
		optional(v.post, w.post, -1),
		optional(v.dev, w.dev, 1),
		compareLocal(v.local, w.local),
	)
}

// Equal tells whether v and w are the same version; trailing zeros do not
// matter.
func (v Version) Equal(w Version) bool { return v.Compare(w) == 0 }

// stage orders what comes before the numbers: a development release of the
// release itself is below its pre-releases, which are below the release.
func (v Version) stage() int {
	switch {
	case v.preKind == "a":
		return 1
	case v.preKind == "b":
		return 2
	case v.preKind == "rc":
		return 3
	case v.post == "" && v.dev != "":
		return 0
	}
	return 4
}

// optional compares numbers of which "" is none; none is below (-1) or above
// (1) all numbers.
func optional(a, b number, none int) int {
	switch {
	case a == "" && b == "":
		return 0
	case a == "":
		return none
	case b == "":
		return -none
	}
	return a.compare(b)
}

// compareLocal: no local part is below any; numbers are above texts; of two
// where one begins with the other the longer is above.
func compareLocal(a, b []string) int {
	return slices.CompareFunc(a, b, func(x, y string) int {
		nx, ny := numeric(x), numeric(y)
		switch {
		case nx && ny:
			return number(x).compare(number(y))
		case nx:
			return 1
		case ny:
			return -1
		}
		return strings.Compare(x, y)
	})
}

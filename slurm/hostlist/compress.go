package hostlist

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// host is a name taken apart: what stands before its last digits, and these.
// Only an end of digits can stand in brackets.
type host struct {
	prefix string
	number uint64
	// width of the digits with leading zeros, 0 without a number.
	width int
}

func split(name string) host {
	digits := len(name)
	for digits > 0 && name[digits-1] >= '0' && name[digits-1] <= '9' {
		digits--
	}
	// More than nine digits do not fit where Slurm keeps a number.
	if len(name)-digits > 9 {
		digits = len(name) - 9
	}
	if digits == len(name) {
		return host{prefix: name}
	}
	n, err := strconv.ParseUint(name[digits:], 10, 64)
	if err != nil { // it is digits, and few
		return host{prefix: name}
	}
	return host{name[:digits], n, len(name) - digits}
}

// padded tells whether the digits have leading zeros.
func (h host) padded() bool { return h.width > 1 && h.number < pow10(h.width-1) }

func pow10(n int) uint64 {
	p := uint64(1)
	for ; n > 0; n-- {
		p *= 10
	}
	return p
}

// follows tells whether h may be the next in a range that ends with before: n9-10
// and n08-10, but not n08,n9.
func (h host) follows(before host) bool {
	if h.prefix != before.prefix || h.number != before.number+1 || h.width == 0 || before.width == 0 {
		return false
	}
	return h.width == before.width || !before.padded() && !h.padded()
}

// Compare orders names as people do: n2 before n10.
func Compare(a, b string) int {
	x, y := split(a), split(b)
	return cmp.Or(strings.Compare(x.prefix, y.prefix), cmp.Compare(min(1, x.width), min(1, y.width)),
		cmp.Compare(x.number, y.number), cmp.Compare(x.width, y.width), strings.Compare(a, b))
}

// Compress prints names as one expression: sorted, each once, ranges of their last
// numbers in brackets. Names with characters of the notation itself ([ ] , and
// white space) have no place in it: the result does not expand to them.
func Compress(names []string) string {
	sorted := slices.Clone(names)
	slices.SortFunc(sorted, Compare)
	sorted = slices.Compact(sorted)
	var out strings.Builder
	for i := 0; i < len(sorted); {
		first := split(sorted[i])
		end := i + 1
		for end < len(sorted) && split(sorted[end]).prefix == first.prefix && first.width > 0 && split(sorted[end]).width > 0 {
			end++
		}
		if out.Len() > 0 {
			out.WriteByte(',')
		}
		if end == i+1 {
			out.WriteString(sorted[i])
		} else {
			out.WriteString(first.prefix + "[" + numbers(byWidth(sorted[i:end])) + "]")
		}
		i = end
	}
	return out.String()
}

// byWidth splits names of one prefix so that ranges are long: n08,n8,n09 is 8 and
// 08-09. Padded names of one width stand together.
func byWidth(names []string) []host {
	hosts := make([]host, len(names))
	for i, n := range names {
		hosts[i] = split(n)
	}
	group := func(h host) int {
		if h.padded() {
			return h.width
		}
		return 0
	}
	padded := map[int]bool{}
	for _, h := range hosts {
		padded[group(h)] = true
	}
	slices.SortStableFunc(hosts, func(a, b host) int {
		// n10 goes with n09 if that is there.
		ga, gb := group(a), group(b)
		if ga == 0 && padded[a.width] && a.width > 1 {
			ga = a.width
		}
		if gb == 0 && padded[b.width] && b.width > 1 {
			gb = b.width
		}
		return cmp.Or(cmp.Compare(ga, gb), cmp.Compare(a.number, b.number))
	})
	return hosts
}

func numbers(hosts []host) string {
	var out strings.Builder
	for i := 0; i < len(hosts); {
		end := i + 1
		for end < len(hosts) && hosts[end].follows(hosts[end-1]) {
			end++
		}
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, "%0*d", hosts[i].width, hosts[i].number)
		if end > i+1 {
			fmt.Fprintf(&out, "-%0*d", hosts[end-1].width, hosts[end-1].number)
		}
		i = end
	}
	return out.String()
}

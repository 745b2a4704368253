package cli

import (
	"fmt"
	"strconv"
	"strings"
)

// bytesText prints a number of bytes in decimal units with two to three digits.
func bytesText(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	v, unit := float64(n), ""
	for _, u := range []string{"kB", "MB", "GB", "TB", "PB"} {
		v, unit = v/1000, u
		if v < 999.5 {
			break
		}
	}
	if v < 9.95 {
		return fmt.Sprintf("%.1f %s", v, unit)
	}
	return fmt.Sprintf("%.0f %s", v, unit)
}

// countText prints n with a comma between thousands.
func countText(n int) string {
	s := strconv.Itoa(n)
	var b strings.Builder
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 && s[i-1] != '-' {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// amount is a number of things, named for one and for more.
type amount struct {
	n         int
	one, many string
}

func (a amount) String() string {
	if a.n == 1 {
		return "1 " + a.one
	}
	return countText(a.n) + " " + a.many
}

// countedText prints a number of things whose plural ends in s.
func countedText(n int, thing string) string { return amount{n, thing, thing + "s"}.String() }

// listText prints those amounts that are not zero.
func listText(amounts ...amount) string {
	var out []string
	for _, a := range amounts {
		if a.n != 0 {
			out = append(out, a.String())
		}
	}
	return strings.Join(out, ", ")
}

// secondsText prints a duration for people.
func secondsText(s float64) string {
	switch {
	case s < 9.95:
		return fmt.Sprintf("%.1f s", s)
	case s < 120:
		return fmt.Sprintf("%.0f s", s)
	}
	return fmt.Sprintf("%d min %d s", int(s)/60, int(s)%60)
}

// short is how ids and digests are shown.
func short(id string) string {
	if len(id) > 8 {
		return id[:8]
	}
	return id
}

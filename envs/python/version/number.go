package version

import "strings"

// number is a whole number as decimal digits without leading zeros; "0" is
// zero. PEP 440 bounds no number, and dates with times exceed 64 bits.
type number string

// newNumber drops the leading zeros of digits; "" is zero.
func newNumber(digits string) number {
	digits = strings.TrimLeft(digits, "0")
	if digits == "" {
		return "0"
	}
	return number(digits)
}

// compare: negative, zero or positive as n is below, equal to or above m.
func (n number) compare(m number) int {
	if len(n) != len(m) {
		return len(n) - len(m)
	}
	return strings.Compare(string(n), string(m))
}

// numeric: s is one or more ASCII digits.
func numeric(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

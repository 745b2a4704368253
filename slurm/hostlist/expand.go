package hostlist

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrSyntax is the class of an expression that is no hostlist.
var ErrSyntax = errors.New("not a hostlist")

// Max bounds the names that one expression may stand for: a few characters
// could ask for more memory than there is.
const Max = 1 << 17

// Expand returns the names that an expression stands for, in its order, repeated
// ones included; nil for an empty expression. Names are separated by commas or
// white space. Errors are ErrSyntax.
func Expand(expr string) ([]string, error) {
	var names []string
	for rest := expr; ; {
		rest = strings.TrimLeft(rest, ", \t\r\n")
		if rest == "" {
			return names, nil
		}
		end, err := itemEnd(rest)
		if err != nil {
			return nil, fmt.Errorf("%w: %.200q: %s", ErrSyntax, expr, err)
		}
		more, err := item(rest[:end], Max-len(names))
		if err != nil {
			return nil, fmt.Errorf("%w: %.200q: %s", ErrSyntax, expr, err)
		}
		names = append(names, more...)
		rest = rest[end:]
	}
}

// itemEnd is where the first item of s ends: at a separator outside of brackets.
func itemEnd(s string) (int, error) {
	open := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '[' && open:
			return 0, errors.New("a [ within brackets")
		case c == '[':
			open = true
		case c == ']' && !open:
			return 0, errors.New("a ] without its [")
		case c == ']':
			open = false
		case !open && strings.IndexByte(", \t\r\n", c) >= 0:
			return i, nil
		}
	}
	if open {
		return 0, errors.New("a [ without its ]")
	}
	return len(s), nil
}

// item expands one name with any number of brackets, of which the last ends it.
func item(s string, limit int) ([]string, error) {
	names := []string{""}
	for s != "" {
		prefix, rest, bracket := strings.Cut(s, "[")
		if !bracket {
			if len(names) > 1 || names[0] != "" {
				return nil, fmt.Errorf("%q stands behind the last bracket", s)
			}
			if limit < 1 {
				return nil, errTooMany
			}
			return []string{s}, nil
		}
		list, after, _ := strings.Cut(rest, "]")
		numbers, err := ranges(list, limit/len(names))
		if err != nil {
			return nil, err
		}
		product := make([]string, 0, len(names)*len(numbers))
		for _, n := range names {
			for _, number := range numbers {
				product = append(product, n+prefix+number)
			}
		}
		names, s = product, after
	}
	return names, nil
}

var errTooMany = fmt.Errorf("more than %d names", Max)

// ranges expands what stands between brackets: 001-096,100. The first number's
// leading zeros give the width of all of its range.
func ranges(list string, limit int) ([]string, error) {
	var out []string
	for _, r := range strings.Split(list, ",") {
		first, last, isRange := strings.Cut(r, "-")
		if !isRange {
			last = first
		}
		lo, err := number(first)
		if err != nil {
			return nil, err
		}
		hi, err := number(last)
		if err != nil {
			return nil, err
		}
		if lo > hi {
			return nil, fmt.Errorf("%q runs backwards", r)
		}
		if hi-lo >= uint64(max(0, limit-len(out))) {
			return nil, errTooMany
		}
		for n := lo; n <= hi; n++ {
			digits := strconv.FormatUint(n, 10)
			if zeros := len(first) - len(digits); zeros > 0 {
				digits = strings.Repeat("0", zeros) + digits
			}
			out = append(out, digits)
		}
	}
	return out, nil
}

// number reads decimal digits, and nothing but digits.
func number(s string) (uint64, error) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, fmt.Errorf("%q is no number", s)
	}
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%q is too big a number", s)
	}
	return n, nil
}

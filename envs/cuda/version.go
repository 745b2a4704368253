package cuda

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Driver is a version of NVIDIA's driver: branch, and one or two more numbers.
type Driver struct {
	number [3]int
	text   string
}

// ParseDriver reads a version such as 535.104.05: two or three numbers with points, of
// which the first has three digits.
func ParseDriver(s string) (Driver, bool) {
	parts := strings.Split(s, ".")
	if len(parts) < 2 || len(parts) > 3 || len(parts[0]) != 3 {
		return Driver{}, false
	}
	d := Driver{text: s}
	for i, p := range parts {
		n, ok := digits(p)
		if !ok {
			return Driver{}, false
		}
		d.number[i] = n
	}
	return d, true
}

// String is the version as it was written.
func (d Driver) String() string { return d.text }

// Branch of the driver: 535.
func (d Driver) Branch() int { return d.number[0] }

// Compare orders drivers by their numbers.
func (d Driver) Compare(o Driver) int { return slices.Compare(d.number[:], o.number[:]) }

// Version is major and minor of a CUDA, or of a compute capability.
type Version struct{ Major, Minor int }

// ParseVersion reads major.minor, or major alone; more numbers behind them do not
// count: 12.9.1 is a 12.9.
func ParseVersion(s string) (Version, bool) {
	parts := strings.Split(s, ".")
	major, ok := digits(parts[0])
	if !ok {
		return Version{}, false
	}
	v := Version{Major: major}
	if len(parts) > 1 {
		if v.Minor, ok = digits(parts[1]); !ok {
			return Version{}, false
		}
	}
	return v, true
}

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// Compare orders versions.
func (v Version) Compare(o Version) int {
	return cmp.Or(cmp.Compare(v.Major, o.Major), cmp.Compare(v.Minor, o.Minor))
}

// digits reads one to four digits.
func digits(s string) (int, bool) {
	if s == "" || len(s) > 4 || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}

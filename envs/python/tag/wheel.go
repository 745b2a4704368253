package tag

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/hpcenv/hpcenv/envs/python/name"
	"github.com/hpcenv/hpcenv/envs/python/version"
)

// ErrFileName is the class of errors about the name of a wheel or source
// archive.
var ErrFileName = errors.New("not the file name of a Python package")

// WheelName is the name of a .whl file taken apart.
type WheelName struct {
	// File is the whole name.
	File string
	// Project and RawVersion as the file has them; the .dist-info directory in the
	// archive is mostly, not always, spelled the same.
	Project, RawVersion string
	Version             version.Version
	Build               Build
	// Pythons, ABIs and Platforms in lower case, in the name's order: the wheel
	// has a tag for each combination.
	Pythons, ABIs, Platforms []string
}

// Build is the build tag of a wheel: of wheels that fit equally well, the one
// with the highest is taken. The zero value is none and the lowest.
type Build struct {
	// Number: decimal digits without leading zeros; "" = no build tag.
	Number string
	// Rest is what follows the digits.
	Rest string
}

// Compare orders build tags: by number, then by the rest as text.
func (b Build) Compare(c Build) int {
	return cmp.Or(cmp.Compare(len(b.Number), len(c.Number)), cmp.Compare(b.Number, c.Number), cmp.Compare(b.Rest, c.Rest))
}

// maxName in bytes is what Linux allows for a file; it also bounds the number of
// tags in a name.
const maxName = 255

// ParseWheelName takes the name of a file apart: no directory, nothing
// percent-encoded. The error wraps ErrFileName.
func ParseWheelName(file string) (*WheelName, error) {
	fail := func(why string) (*WheelName, error) {
		return nil, fmt.Errorf("%w: wheel %q: %s", ErrFileName, file, why)
	}
	stem, ok := strings.CutSuffix(file, ".whl")
	if !ok {
		return fail("it does not end in .whl")
	}
	if len(file) > maxName {
		return fail("no file system takes a name as long")
	}
	parts := strings.Split(stem, "-")
	if len(parts) != 5 && len(parts) != 6 {
		return fail("it has not 5 or 6 parts with dashes between them")
	}
	w := &WheelName{File: file, Project: parts[0], RawVersion: parts[1]}
	if !name.Valid(w.Project) {
		return fail(fmt.Sprintf("%q is no name of a project", w.Project))
	}
	var err error
	if w.Version, err = version.Parse(w.RawVersion); err != nil || strings.TrimSpace(w.RawVersion) != w.RawVersion {
		return fail(fmt.Sprintf("%q is no version", w.RawVersion))
	}
	if len(parts) == 6 {
		if w.Build, ok = parseBuild(parts[2]); !ok {
			return fail(fmt.Sprintf("the build tag %q does not begin with a digit", parts[2]))
		}
	}
	for i, list := range []*[]string{&w.Pythons, &w.ABIs, &w.Platforms} {
		part := strings.ToLower(parts[len(parts)-3+i])
		*list = strings.Split(part, ".")
		for _, one := range *list {
			if !word(one) {
				return fail(fmt.Sprintf("%q is no compatibility tag", part))
			}
		}
	}
	for _, python := range w.Pythons {
		if python[0] >= '0' && python[0] <= '9' {
			return fail(fmt.Sprintf("%q is no tag of a Python", python))
		}
	}
	return w, nil
}

// word is one ASCII word of a tag.
func word(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_') {
			return false
		}
	}
	return s != ""
}

func parseBuild(s string) (Build, bool) {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	if n == 0 {
		return Build{}, false
	}
	digits := strings.TrimLeft(s[:n], "0")
	if digits == "" {
		digits = "0"
	}
	return Build{Number: digits, Rest: s[n:]}, true
}

// NormalizedName is the project's name as names are compared.
func (w *WheelName) NormalizedName() string { return name.Normalize(w.Project) }

// Tags gives every tag of the wheel.
func (w *WheelName) Tags() iter.Seq[Tag] {
	return func(yield func(Tag) bool) {
		for _, python := range w.Pythons {
			for _, abi := range w.ABIs {
				for _, platform := range w.Platforms {
					if !yield(Tag{python, abi, platform}) {
						return
					}
				}
			}
		}
	}
}

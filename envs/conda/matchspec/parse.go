package matchspec

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hpcenv/hpcenv/envs/conda/version"
)

// ErrMatchSpec is the class of errors about a text that is no match
// specification.
var ErrMatchSpec = errors.New("not a conda match specification")

const blanks = " \t\r\n"

// Parse reads a specification. The error wraps ErrMatchSpec and quotes the text.
func Parse(text string) (*MatchSpec, error) {
	m := &MatchSpec{text: text}
	if err := m.parse(text); err != nil {
		return nil, fmt.Errorf("%w: %q: %w", ErrMatchSpec, text, err)
	}
	return m, nil
}

func (m *MatchSpec) parse(s string) error {
	if before, condition, ok := strings.Cut(s, "; if "); ok {
		s, m.Condition = before, strings.Trim(condition, blanks)
	}
	s, _, _ = strings.Cut(s, " #")
	s = strings.Trim(s, blanks)
	s, brackets, err := cutBrackets(s)
	if err != nil {
		return err
	}
	if strings.Contains(s, "://") && !strings.Contains(s, "::") {
		return m.url(s)
	}
	if before, after, ok := strings.Cut(s, "::"); ok {
		m.setChannel(before)
		s = strings.TrimLeft(after, blanks)
	} else if i := strings.LastIndexByte(s, ':'); i >= 0 {
		// channel:namespace:name; namespaces were never used.
		channel, _, _ := strings.Cut(s[:i], ":")
		m.Channel, s = channel, s[i+1:]
	}
	n := 0
	for n < len(s) && nameByte(s[n]) {
		n++
	}
	if n == 0 {
		return errors.New("it does not begin with the name of a package")
	}
	m.Name = strings.ToLower(s[:n])
	rest := s[n:]
	if rest != "" && !strings.ContainsRune(blanks+"=!<>~", rune(rest[0])) {
		return fmt.Errorf("`%c` cannot stand in the name of a package", rest[0])
	}
	if err := m.versionAndBuild(rest); err != nil {
		return err
	}
	for _, b := range brackets {
		if err := m.set(b.key, b.value); err != nil {
			return err
		}
	}
	return nil
}

func nameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.'
}

// setChannel takes what stands before "::": a channel, perhaps with a subdir.
func (m *MatchSpec) setChannel(s string) {
	if i := strings.LastIndexByte(s, '/'); i >= 0 && knownSubdir(s[i+1:]) {
		m.Subdir, s = s[i+1:], s[:i]
	}
	m.Channel = s
}

func knownSubdir(s string) bool {
	os, _, ok := strings.Cut(s, "-")
	if s == "noarch" {
		return true
	}
	switch os {
	case "linux", "osx", "win", "freebsd", "zos", "emscripten", "wasi":
		return ok
	}
	return false
}

// url reads a specification that is the URL of an archive.
func (m *MatchSpec) url(s string) error {
	m.URL = s
	s, _, _ = strings.Cut(s, "#")
	m.FileName = s[strings.LastIndexByte(s, '/')+1:]
	base, ok := strings.CutSuffix(m.FileName, ".conda")
	if !ok {
		if base, ok = strings.CutSuffix(m.FileName, ".tar.bz2"); !ok {
			return errors.New("the URL is not that of a conda package")
		}
	}
	for range 2 {
		i := strings.LastIndexByte(base, '-')
		if i < 0 {
			return errors.New("the archive's name lacks version or build")
		}
		base = base[:i]
	}
	m.Name = strings.ToLower(base)
	return nil
}

// set takes one key of the brackets.
func (m *MatchSpec) set(key, value string) error {
	var err error
	switch key {
	case "version":
		m.Version, err = version.ParseSpec(value)
	case "build":
		m.Build, err = ParsePattern(value)
	case "build_number":
		m.BuildNumber, err = ParseNumber(value)
	case "channel":
		m.setChannel(value)
	case "subdir":
		m.Subdir = value
	case "fn":
		m.FileName = value
	case "url":
		m.URL = value
	case "md5":
		m.MD5, err = hexDigest(value, 32)
	case "sha256":
		m.SHA256, err = hexDigest(value, 64)
	case "extras":
		m.Extras = list(value)
	case "when":
		m.Condition = value
	case "license":
		m.License = value
	case "name", "license_family", "track_features", "flags":
	default:
		err = fmt.Errorf("the key `%s` is not known", key)
	}
	return err
}

func hexDigest(s string, n int) (string, error) {
	s = strings.ToLower(s)
	if len(s) != n || strings.Trim(s, "0123456789abcdef") != "" {
		return "", fmt.Errorf("%q is not a digest of %d hex digits", s, n)
	}
	return s, nil
}

// list reads `[a, b]` or `a`.
func list(s string) []string {
	s = strings.TrimSuffix(strings.TrimPrefix(strings.Trim(s, blanks), "["), "]")
	var out []string
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.Trim(item, blanks+`'"`); item != "" {
			out = append(out, item)
		}
	}
	return out
}

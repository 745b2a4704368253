package conda

import (
	"fmt"
	"strings"
)

// defaultPlaceholder is what has_prefix means where it names none. It is written
// in two parts so that no prefix replacement ever finds it in this program.
const defaultPlaceholder = "/opt/anaconda1anaconda2" + "anaconda3"

// legacyInfo is what packages of before paths.json say of their files.
type legacyInfo struct {
	files, hasPrefix, noLink, noSoftlink []byte
}

// parseLegacy reads info/files with has_prefix, no_link and no_softlink.
func parseLegacy(in legacyInfo) ([]pathEntry, []string, error) {
	var (
		out   []pathEntry
		notes []string
		index = make(map[string]int)
	)
	for _, line := range lines(in.files) {
		name, err := cleanPath(line)
		if err != nil {
			return nil, nil, fmt.Errorf("info/files: %w", err)
		}
		if _, dup := index[name]; dup {
			continue
		}
		index[name] = len(out)
		out = append(out, pathEntry{Path: name})
	}
	for _, line := range lines(in.hasPrefix) {
		placeholder, mode, p := parseHasPrefix(line)
		name, err := cleanPath(p)
		if err != nil {
			return nil, nil, fmt.Errorf("info/has_prefix: %w", err)
		}
		i, ok := index[name]
		if !ok {
			notes = append(notes, fmt.Sprintf("info/has_prefix names %s, which info/files does not list", name))
			continue
		}
		if err := out[i].setPlaceholder(placeholder, mode); err != nil {
			return nil, nil, fmt.Errorf("info/has_prefix, %s: %w", name, err)
		}
	}
	for _, list := range [][]byte{in.noLink, in.noSoftlink} {
		for _, line := range lines(list) {
			name, err := cleanPath(line)
			if err != nil {
				return nil, nil, fmt.Errorf("info/no_link: %w", err)
			}
			if i, ok := index[name]; ok {
				out[i].NoLink = true
			}
		}
	}
	return out, notes, nil
}

// lines splits a text into its non-empty lines, without line ends.
func lines(data []byte) []string {
	var out []string
	for _, l := range strings.Split(string(data), "\n") {
		if l = strings.TrimRight(l, "\r"); strings.TrimSpace(l) != "" {
			out = append(out, l)
		}
	}
	return out
}

// parseHasPrefix reads one line of info/has_prefix: `placeholder mode path`,
// each of which may be quoted, or a path alone.
func parseHasPrefix(line string) (placeholder, mode, name string) {
	rest := strings.TrimSpace(line)
	first, rest1, ok1 := token(rest)
	second, rest2, ok2 := token(rest1)
	third, _, ok3 := token(rest2)
	if ok1 && ok2 && ok3 && (second == "text" || second == "binary") {
		// An unquoted path runs to the end of the line, blanks included.
		if r := strings.TrimSpace(rest2); !strings.HasPrefix(r, `"`) {
			third = r
		}
		return first, second, third
	}
	if strings.HasPrefix(rest, `"`) && ok1 {
		return defaultPlaceholder, "text", first
	}
	return defaultPlaceholder, "text", rest
}

// token takes the first word of s, which may be quoted with double quotes.
func token(s string) (word, rest string, ok bool) {
	s = strings.TrimLeft(s, " \t")
	if s == "" {
		return "", "", false
	}
	if s[0] == '"' {
		end := strings.IndexByte(s[1:], '"')
		if end < 0 {
			return "", "", false
		}
		return s[1 : 1+end], s[2+end:], end > 0
	}
	end := strings.IndexAny(s, " \t")
	if end < 0 {
		return s, "", true
	}
	return s[:end], s[end:], true
}

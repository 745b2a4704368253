package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Where a value comes from.
const (
	FromDefault  = "default"
	FromFile     = "file"
	FromVariable = "variable"
	FromFlag     = "flag"
)

// Place is where a value was said.
type Place struct {
	// From is one of the From constants.
	From string `json:"from"`
	// Where is FILE:LINE, or the variable or flag; "" = the default.
	Where string `json:"where,omitempty"`
}

// places of keys that were said, and, with " entry N" behind the key, of the entries of
// lists of mappings.
type places map[string]Place

// of is where a key was said, or what stands above it; "" = nowhere.
func (p places) of(key string) string {
	key = strings.ReplaceAll(key, ", entry ", " entry ")
	for {
		if at, ok := p[key]; ok {
			return at.Where
		}
		i := strings.LastIndexAny(key, ". ")
		if i < 0 {
			return ""
		}
		key = strings.TrimSuffix(key[:i], " entry")
	}
}

// bad is an error about a key, with where it was said.
func (p places) bad(key, format string, args ...any) error {
	text := key + ": " + fmt.Sprintf(format, args...)
	if at := p.of(key); at != "" {
		text = at + ": " + text
	}
	return fmt.Errorf("%w: %s", ErrConfig, text)
}

// quoted finds the key in what the decoder says: 'fetch.parallel' …
var quoted = regexp.MustCompile(`'([a-z_.]+)(?:\[(\d+)\][^']*)?'`)

// typed gives a decoder's error the place of the first key that it names.
func (p places) typed(err error) error {
	// One line for each mistake, without the decoder's own heading.
	var lines []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "decoding failed due to") {
			lines = append(lines, line)
		}
	}
	err = errors.New(strings.Join(lines, "; "))
	m := quoted.FindStringSubmatch(err.Error())
	if m == nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	at := p.of(m[1])
	if m[2] != "" {
		n := 0
		if _, serr := fmt.Sscan(m[2], &n); serr == nil {
			at = p.of(fmt.Sprintf("%s entry %d", m[1], n+1))
		}
	}
	if at == "" {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return fmt.Errorf("%w: %s: %w", ErrConfig, at, err)
}

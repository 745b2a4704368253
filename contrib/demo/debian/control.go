package debian

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// Stanza is what an index says of one package.
type Stanza struct {
	Package, Version, Architecture string
	// SHA256 of the .deb file, lower-case hex.
	SHA256      string
	Description string
	// Depends are the clauses of Pre-Depends and Depends: each a list of
	// alternatives, as names without versions and qualifiers.
	Depends [][]string
}

// aptName is NAME:ARCH=VERSION.
func (s *Stanza) aptName() string {
	if s.Architecture == "all" {
		return s.Package + "=" + s.Version
	}
	return s.Package + ":" + s.Architecture + "=" + s.Version
}

// fileName is what apt-get download calls the file.
func (s *Stanza) fileName() string {
	return s.Package + "_" + strings.ReplaceAll(s.Version, ":", "%3a") + "_" + s.Architecture + ".deb"
}

// Upstream is the version without epoch and Debian revision.
func (s *Stanza) Upstream() string {
	v := s.Version
	if _, rest, ok := strings.Cut(v, ":"); ok {
		v = rest
	}
	if i := strings.LastIndexByte(v, '-'); i > 0 {
		v = v[:i]
	}
	return v
}

// parseStanzas reads paragraphs of the control format.
func parseStanzas(r io.Reader) ([]*Stanza, error) {
	var out []*Stanza
	cur := &Stanza{}
	flush := func() {
		if cur.Package != "" {
			out = append(out, cur)
		}
		cur = &Stanza{}
	}
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		line := sc.Text()
		if strings.TrimSpace(line) == "" {
			flush()
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok || line[0] == ' ' || line[0] == '\t' {
			continue // a continued field; none of those read here has any
		}
		value = strings.TrimSpace(value)
		switch key {
		case "Package":
			cur.Package = value
		case "Version":
			cur.Version = value
		case "Architecture":
			cur.Architecture = value
		case "SHA256":
			cur.SHA256 = strings.ToLower(value)
		case "Description", "Description-en":
			cur.Description = value
		case "Depends", "Pre-Depends":
			cur.Depends = append(cur.Depends, parseDepends(value)...)
		}
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("%w: reading package stanzas: %w", ErrApt, err)
	}
	flush()
	return out, nil
}

// parseDepends reads "a (>= 1) | b:any, c" as [[a b] [c]].
func parseDepends(s string) [][]string {
	var out [][]string
	for _, clause := range strings.Split(s, ",") {
		var alts []string
		for _, alt := range strings.Split(clause, "|") {
			name := strings.TrimSpace(alt)
			if i := strings.IndexAny(name, " (:["); i >= 0 {
				name = name[:i]
			}
			if name != "" {
				alts = append(alts, name)
			}
		}
		if len(alts) > 0 {
			out = append(out, alts)
		}
	}
	return out
}

// hasSum tells whether the file is there and has this sha256.
func hasSum(name, want string) (bool, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cached Debian package: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return false, fmt.Errorf("cached Debian package: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)) == want, nil
}

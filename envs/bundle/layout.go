package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"
)

// ErrBundle is the class of errors about a bundle's own content: no bundle, cut
// off, a version that is not read, members that are missing or not what the rest
// says.
var ErrBundle = errors.New("bundle cannot be used")

// Names in pixi-pack's layout.
const (
	packName        = "pixi-pack.json"
	environmentName = "environment.yml"
	channelDir      = "channel"
	pypiDir         = "pypi"
	repodataName    = "repodata.json"
	noarch          = "noarch"
)

// Names of what hpcenv adds.
const (
	ownName     = "hpcenv/bundle.json"
	projectDir  = "hpcenv/project"
	archivesDir = "hpcenv/archives"
	pythonsName = "hpcenv/interpreters.yaml"
)

const (
	// packVersion is the version of pixi-pack's layout that is read and written.
	packVersion = "1"
	// ownVersion is the version of what hpcenv adds.
	ownVersion = 1
)

// packFile is pixi-pack.json.
type packFile struct {
	Version string `json:"version"`
	// PackVersion is the version of the pixi-pack that made it; hpcenv writes none.
	PackVersion string `json:"pixi-pack-version,omitempty"`
	Platform    string `json:"platform"`
}

// ownFile is hpcenv/bundle.json.
type ownFile struct {
	Version int `json:"version"`
	// Lock among the project's files, with the sha256 of its bytes.
	Lock ownMember `json:"lock"`
	// Python of a lock that names none.
	Python   *ownPythons `json:"python,omitempty"`
	Contents []Content   `json:"contents"`
	Archives []member    `json:"archives"`
}

// ownPythons are which Pythons a lock without one gets: a list of them, and the
// platforms that they were chosen for.
type ownPythons struct {
	List      ownMember `json:"list"`
	Platforms []string  `json:"platforms"`
}

type ownMember struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

// Content is one environment for one platform (a conda subdir).
type Content struct {
	Environment string `json:"environment"`
	Platform    string `json:"platform"`
}

func (c Content) String() string { return fmt.Sprintf("%q for %s", c.Environment, c.Platform) }

// asJSON is v as the small files have it: for people, too.
func asJSON(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	return out.Bytes(), nil
}

// safePath: relative, clean, printable, never out of the bundle.
func safePath(name string) bool {
	if name == "" || name == "." || path.IsAbs(name) || path.Clean(name) != name || name == ".." || strings.HasPrefix(name, "../") {
		return false
	}
	for _, r := range name {
		if !unicode.IsPrint(r) || r == '\\' || r == unicode.ReplacementChar {
			return false
		}
	}
	return true
}

// safeName: one segment of a safe path.
func safeName(name string) bool { return safePath(name) && !strings.Contains(name, "/") }

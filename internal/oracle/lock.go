package oracle

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/hpcenv/hpcenv/cache/archive"
)

// Subdir is the platform of all locks made here. Packages for other platforms
// are locked as if they were for it: where files go and what is written into
// them does not depend on it, and rattler's rules for Windows are none of ours.
const Subdir = "linux-64"

// Locked is an archive on this machine with its record in the lock.
type Locked struct {
	// Path of the archive, absolute.
	Path   string
	SHA256 string
	Size   int64
	Index

	location string
}

// Index is the part of info/index.json that goes into the lock.
type Index struct {
	Name                   string   `json:"name"`
	Version                string   `json:"version"`
	Build                  string   `json:"build"`
	BuildNumber            int64    `json:"build_number"`
	Noarch                 any      `json:"noarch"`
	Depends                []string `json:"depends"`
	Constrains             []string `json:"constrains"`
	License                string   `json:"license"`
	LicenseFamily          string   `json:"license_family"`
	Timestamp              int64    `json:"timestamp"`
	PythonSitePackagesPath string   `json:"python_site_packages_path"`
}

var errFound = errors.New("found")

// Lock makes the record of an archive from its own info/index.json. For what
// cannot be read as a package the record follows from the file's name; it is
// then for the two installers to refuse it. ok is false for a name that no
// conda package has.
func Lock(path string) (l Locked, ok bool, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return l, false, err
	}
	sum := sha256.Sum256(data)
	l = Locked{Path: path, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(data))}
	stem := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".conda"), ".tar.bz2")
	parts := strings.Split(stem, "-")
	n := len(parts)
	if n < 3 {
		return l, false, nil
	}
	l.Name, l.Version, l.Build = strings.Join(parts[:n-2], "-"), parts[n-2], parts[n-1]
	var index Index
	visit := func(m archive.Member, content io.Reader) error {
		if m.Path != "info/index.json" {
			return nil
		}
		if err := json.NewDecoder(content).Decode(&index); err != nil {
			return err
		}
		return errFound
	}
	read := archive.ReadTarBz2
	if strings.HasSuffix(path, ".conda") {
		read = archive.ReadConda
	}
	err = read(context.Background(), bytes.NewReader(data), l.Size, archive.LimitsFor(l.Size), visit)
	if errors.Is(err, errFound) && index.Name != "" && index.Version != "" {
		l.Index = index
	}
	return l, true, nil
}

// Text is a lock of version 6 with one environment, default, of these packages.
// Locations are URLs and paths by turns.
func Text(packages []Locked) []byte {
	for i := range packages {
		packages[i].location = packages[i].Path
		if i%2 == 0 {
			packages[i].location = (&url.URL{Scheme: "file", Path: packages[i].Path}).String()
		}
	}
	var b bytes.Buffer
	b.WriteString("version: 6\nenvironments:\n  default:\n    channels:\n    - url: https://conda.example/main/\n    packages:\n      " + Subdir + ":\n")
	for _, p := range packages {
		fmt.Fprintf(&b, "      - conda: %s\n", quoted(p.location))
	}
	b.WriteString("packages:\n")
	for _, p := range packages {
		p.write(&b)
	}
	return b.Bytes()
}

func (l Locked) write(b *bytes.Buffer) {
	noarch, subdir := "", Subdir
	switch n := l.Noarch.(type) {
	case string:
		noarch = n
	case bool:
		if n {
			noarch = "generic"
		}
	}
	if noarch != "" {
		subdir = "noarch"
	}
	fmt.Fprintf(b, "- conda: %s\n  name: %s\n  version: %s\n  build: %s\n  build_number: %d\n  subdir: %s\n",
		quoted(l.location), quoted(l.Name), quoted(l.Version), quoted(l.Build), l.BuildNumber, subdir)
	if noarch != "" {
		fmt.Fprintf(b, "  noarch: %s\n", noarch)
	}
	fmt.Fprintf(b, "  sha256: %s\n", l.SHA256)
	writeList(b, "depends", l.Depends)
	writeList(b, "constrains", l.Constrains)
	for _, f := range []struct{ key, value string }{
		{"license", l.License}, {"license_family", l.LicenseFamily}, {"python_site_packages_path", l.PythonSitePackagesPath},
	} {
		if f.value != "" {
			fmt.Fprintf(b, "  %s: %s\n", f.key, quoted(f.value))
		}
	}
	fmt.Fprintf(b, "  size: %d\n", l.Size)
	if l.Timestamp > 0 {
		fmt.Fprintf(b, "  timestamp: %d\n", l.Timestamp)
	}
}

func writeList(b *bytes.Buffer, key string, values []string) {
	if len(values) == 0 {
		fmt.Fprintf(b, "  %s: []\n", key)
		return
	}
	fmt.Fprintf(b, "  %s:\n", key)
	for _, v := range values {
		fmt.Fprintf(b, "  - %s\n", quoted(v))
	}
}

// quoted is a YAML double-quoted scalar.
func quoted(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always marshals
	}
	return string(data)
}

package pyenv

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/envs/python/tag"
)

// DefaultGlibc is what wheels may ask for where the site says nothing: that of the
// oldest distributions that clusters run (Enterprise Linux 8, Debian 10).
const DefaultGlibc = "2.28"

// Offer is what a site has for locks that name no Python.
type Offer struct {
	// Glibc that wheels may ask for, e.g. "2.28": the oldest of the nodes; "" =
	// DefaultGlibc.
	Glibc string `yaml:"glibc,omitempty" json:"glibc,omitempty"`
	// Interpreters; of several with one version and platform the first counts.
	Interpreters []python.Interpreter `yaml:"interpreters" json:"interpreters"`
	// Place is where the list is written, for messages.
	Place string `yaml:"-" json:"-"`
}

// Parse reads a file with `interpreters:` and, perhaps, `glibc:`, and checks it.
// The error wraps python.ErrInterpreter and names the file (place).
func Parse(place string, data []byte) (*Offer, error) {
	o := &Offer{Place: place}
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(o); err != nil && !errors.Is(err, io.EOF) {
		text := strings.ReplaceAll(err.Error(), "\n ", "")
		return nil, fmt.Errorf("%w: %s: %s; known are glibc and interpreters, and of an interpreter version, platform, kind, free_threaded, url, sha256, with", python.ErrInterpreter, place, text)
	}
	if err := o.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	return o, nil
}

// File is a file that Parse reads as o.
func (o *Offer) File() ([]byte, error) {
	data, err := yaml.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("the list of Pythons: %w", err)
	}
	return data, nil
}

// Check tells what is wrong with the offer; the error wraps python.ErrInterpreter
// and names the entry.
func (o *Offer) Check() error {
	if _, err := o.glibc(); err != nil {
		return err
	}
	for n := range o.Interpreters {
		i := &o.Interpreters[n]
		if err := i.Check(); err != nil {
			return fmt.Errorf("interpreters, entry %d: %w", n+1, err)
		}
		if err := install(i, &lockfile.Platform{}); err != nil {
			return fmt.Errorf("interpreters, entry %d: %w", n+1, err)
		}
	}
	return nil
}

func (o *Offer) glibc() (tag.Glibc, error) {
	text := o.Glibc
	if text == "" {
		text = DefaultGlibc
	}
	var g tag.Glibc
	if _, err := fmt.Sscanf(text, "%d.%d", &g.Major, &g.Minor); err != nil || g.String() != text || g.Major != 2 {
		return g, fmt.Errorf("%w: glibc: %q is no version of glibc, like %s", python.ErrInterpreter, o.Glibc, DefaultGlibc)
	}
	return g, nil
}

// Digest tells offers apart (lockfile.Index.Pythons). It is never "".
func (o *Offer) Digest() string {
	data, err := json.Marshal(o)
	if err != nil {
		panic(err) // texts and booleans alone
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// example is what to write where nothing is offered.
const example = `interpreters:
  - version: 3.12.4
    platform: linux-64
    kind: conda
    url: https://conda.example/linux-64/python-3.12.4-h194c7f8_0_cpython.conda
    sha256: (64 hex digits)
    with:   # all that it depends on
      - {url: https://conda.example/linux-64/libffi-3.4.2-h7f98852_5.tar.bz2, sha256: (64 hex digits)}
  - version: 3.12.4
    platform: linux-aarch64
    kind: standalone   # python-build-standalone, install_only
    url: https://files.example/cpython-3.12.4-aarch64-unknown-linux-gnu-install_only_stripped.tar.gz
    sha256: (64 hex digits)`

// none is the error of a site that offers nothing.
func (o *Offer) none() error {
	place := o.Place
	if place == "" {
		place = "its configuration"
	}
	return fmt.Errorf("%w: the lock names no Python, and this site offers none\n%s in %s would be:\n%s\nnext: list the Pythons there, one per version and platform, or make a pixi.lock, which names its own", python.ErrInterpreter, "an entry", place, example)
}

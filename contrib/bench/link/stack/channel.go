package stack

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
)

// Channel lists what was generated; its JSON form is channel.json.
type Channel struct {
	Packages []Package `json:"packages"`
	// Changed are further versions of one package of middling size; Wide are
	// packages whose zstd frames demand a window of 128 MiB.
	Changed []Package `json:"changed"`
	Wide    []Package `json:"wide"`
	// PatchedFiles of the packages.
	PatchedFiles int `json:"patched_files"`
}

// Package is one archive.
type Package struct {
	Name    string   `json:"name"`
	Version string   `json:"version"`
	Build   string   `json:"build"`
	Subdir  string   `json:"subdir"`
	Noarch  bool     `json:"noarch"`
	Depends []string `json:"depends"`
	File    string   `json:"file"` // relative to its subdir
	SHA256  string   `json:"sha256"`
	MD5     string   `json:"md5"`
	Size    int64    `json:"size"`
	Files   int      `json:"files"`
}

// wideWindow is what zstd's highest level makes; it is the largest that other
// decoders take without being told.
const wideWindow = 128 << 20

const changedVersions, widePackages = 5, 3

// Ensure generates the channel of s in dir unless it is there.
func Ensure(s Spec, dir string, workers int) (*Channel, error) {
	list := filepath.Join(dir, "channel.json")
	data, err := os.ReadFile(list)
	if err == nil {
		c := new(Channel)
		return c, json.Unmarshal(data, c)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	c, err := generate(s, dir, workers)
	if err != nil {
		return nil, err
	}
	if data, err = json.MarshalIndent(c, "", " "); err != nil {
		return nil, err
	}
	// Last and at once: a folder with a list is complete.
	if err := writeFile(list+".new", data); err != nil {
		return nil, err
	}
	return c, os.Rename(list+".new", list)
}

func generate(s Spec, dir string, workers int) (*Channel, error) {
	for _, d := range []string{"linux-64", "noarch"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return nil, err
		}
	}
	pkgs := s.shape()
	c := &Channel{Packages: make([]Package, len(pkgs)), Changed: make([]Package, changedVersions), Wide: make([]Package, widePackages)}
	var group errgroup.Group
	group.SetLimit(max(workers, 1))
	for i, p := range pkgs {
		for _, f := range p.files {
			if f.patch {
				c.PatchedFiles++
			}
		}
		group.Go(func() (err error) {
			c.Packages[i], err = s.write(dir, p)
			return err
		})
	}
	for i := range c.Changed {
		group.Go(func() (err error) {
			p := *pkgs[len(pkgs)/2]
			p.version = fmt.Sprintf("1.%d", i+1)
			p.files = append([]file(nil), p.files...)
			p.files[0].number += uint64(1_000_000 * (i + 1)) // another content
			c.Changed[i], err = s.write(dir, &p)
			return err
		})
	}
	err := group.Wait()
	for i := range c.Wide {
		if err != nil || s.Name != Python().Name {
			break
		}
		// One after the other: the encoder needs several windows.
		c.Wide[i], err = writeWide(dir, i)
	}
	return c, err
}

func (s Spec) write(dir string, p *pkg) (Package, error) {
	data, err := s.archive(p, 8<<20)
	if err != nil {
		return Package{}, fmt.Errorf("package %s: %w", p.name, err)
	}
	return put(dir, p, data)
}

func writeWide(dir string, i int) (Package, error) {
	p := &pkg{name: fmt.Sprintf("wide-%d", i), version: "1.0", build: "h0_0", number: i}
	var buf bytes.Buffer
	if err := wideArchive(p, wideWindow, &buf); err != nil {
		return Package{}, fmt.Errorf("package %s: %w", p.name, err)
	}
	return put(dir, p, buf.Bytes())
}

func put(dir string, p *pkg, data []byte) (Package, error) {
	sha, sum := sha256.Sum256(data), md5.Sum(data)
	out := Package{
		Name: p.name, Version: p.version, Build: p.build, Subdir: p.subdir(), Noarch: p.noarch, Depends: append([]string{}, p.depends...),
		File: p.dist() + ".conda", SHA256: hex.EncodeToString(sha[:]), MD5: hex.EncodeToString(sum[:]), Size: int64(len(data)), Files: len(p.files),
	}
	return out, writeFile(filepath.Join(dir, out.Subdir, out.File), data)
}

package main

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/hpcenv/hpcenv/contrib/demo/condapkg"
)

// subdir of all packages. What is measured does not depend on the architecture.
const subdir = "linux-64"

// ask is what the host's Python is asked for: is its tree its own, and where is it?
const ask = `import platform, sys, sysconfig
assert "posix_local" not in sysconfig.get_scheme_names(), "its files lie among the distribution's"
print(sys.base_prefix, platform.python_version())`

// packages makes the packages of the stack.
func packages(ctx context.Context, wheels string) ([]*condapkg.Package, error) {
	out, err := exec.CommandContext(ctx, "python3", "-I", "-c", ask).Output()
	said := strings.Fields(string(out))
	if err != nil || len(said) != 2 {
		return nil, fmt.Errorf("python3 on PATH is no CPython with a tree of its own, which is what is packed here (a python-build-standalone or one of pyenv): %w", errors.Join(err, fmt.Errorf("it says %q", out)))
	}
	minor := strings.Join(strings.SplitN(said[1], ".", 3)[:2], ".")
	py, err := pythonPackage(said[0], said[1], minor)
	if err != nil {
		return nil, err
	}
	pkgs := []*condapkg.Package{py}
	names, err := filepath.Glob(filepath.Join(wheels, "*.whl"))
	if err != nil || len(names) == 0 {
		return nil, errors.Join(err, fmt.Errorf("no wheels in %s", wheels))
	}
	have := map[string]bool{}
	for _, f := range py.Files {
		have[f.Path] = true
	}
	for _, name := range names {
		p, err := wheelPackage(name, "lib/python"+minor+"/site-packages", have)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		pkgs = append(pkgs, p)
	}
	return pkgs, nil
}

// pythonPackage packs the host's Python without its tests and further packages.
func pythonPackage(prefix, version, minor string) (*condapkg.Package, error) {
	p := &condapkg.Package{Name: "python", Version: version, Build: "0", Subdir: subdir, Timestamp: 1686355200000}
	lib := "lib/python" + minor
	err := filepath.WalkDir(prefix, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(prefix, at)
		if err != nil {
			return err
		}
		if d.IsDir() {
			top, _, _ := strings.Cut(rel, "/")
			switch {
			case rel == "." || rel == "lib":
				return nil
			case top != "bin" && top != "include" && rel != lib && !strings.HasPrefix(rel, lib+"/"),
				rel == lib+"/test", rel == lib+"/site-packages", d.Name() == "__pycache__", strings.HasPrefix(rel, lib+"/config-"):
				return fs.SkipDir
			}
			return nil
		}
		f := condapkg.File{Path: rel}
		if d.Type() == fs.ModeSymlink {
			f.Link, err = os.Readlink(at)
		} else if d.Type().IsRegular() && filepath.Ext(rel) != ".a" {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				f.Executable = info.Mode()&0o111 != 0
				f.Data, err = os.ReadFile(at)
			}
		} else {
			return nil
		}
		if err == nil {
			p.Files = append(p.Files, f)
		}
		return err
	})
	return p, err
}

// wheelPackage packs what a wheel has. Of paths that several have, the first counts.
func wheelPackage(name, site string, have map[string]bool) (_ *condapkg.Package, err error) {
	r, err := zip.OpenReader(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	parts := strings.SplitN(filepath.Base(name), "-", 3)
	p := &condapkg.Package{
		Name: strings.ToLower(parts[0]), Version: parts[1], Build: "0", Subdir: subdir, Depends: []string{"python"}, Timestamp: 1686355200000,
	}
	for _, m := range r.File {
		if m.FileInfo().IsDir() || have[path.Join(site, m.Name)] {
			continue
		}
		in, err := m.Open()
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(in)
		if err = errors.Join(err, in.Close()); err != nil {
			return nil, err
		}
		f := condapkg.File{Path: path.Join(site, m.Name), Data: data, Executable: m.Mode()&0o111 != 0}
		have[f.Path] = true
		p.Files = append(p.Files, f)
	}
	return p, nil
}

// writeLock writes the archives below dir and a lock of them, and returns its path.
func writeLock(ctx context.Context, dir string, pkgs []*condapkg.Package) (string, error) {
	at := filepath.Join(dir, "channel", subdir)
	if err := os.MkdirAll(at, 0o755); err != nil {
		return "", err
	}
	var list, records strings.Builder
	for _, p := range pkgs {
		data, err := p.Archive(ctx, condapkg.Conda)
		if err != nil {
			return "", err
		}
		file := filepath.Join(at, p.Dist()+".conda")
		if err := os.WriteFile(file, data, 0o644); err != nil {
			return "", err
		}
		sum := sha256.Sum256(data)
		fmt.Fprintf(&list, "      - conda: file://%s\n", file)
		fmt.Fprintf(&records, "- conda: file://%s\n  sha256: %s\n  size: %d\n", file, hex.EncodeToString(sum[:]), len(data))
		if len(p.Depends) > 0 {
			fmt.Fprintf(&records, "  depends:\n  - %s\n", p.Depends[0])
		}
		p.Files = nil
	}
	lock := fmt.Sprintf("version: 6\nenvironments:\n  default:\n    channels:\n    - url: file://%s/\n    packages:\n      %s:\n%spackages:\n%s", filepath.Dir(at), subdir, list.String(), records.String())
	path := filepath.Join(dir, "pixi.lock")
	return path, os.WriteFile(path, []byte(lock), 0o644)
}

package standalonetest

import (
	"bytes"
	"debug/elf"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Python is a CPython of this host, packed.
type Python struct {
	// Version, complete, and the conda subdir it runs on.
	Version, Subdir string
	Files           []File
}

// ask is what a Python is asked: is it one whose tree is its own, and where is it?
const ask = `import json, platform, sys, sysconfig
own = "posix_local" not in sysconfig.get_scheme_names() and sys.implementation.name == "cpython"
print(json.dumps(0) if not own else "\n".join([sys.base_prefix, platform.python_version(), platform.machine()]))`

// Real packs a CPython that this host has, as python-build-standalone packs one: it
// is made relocatable, its texts name /install, and compilers are clang. Python
// proper and pip are in it, tests are not. It skips the test, loudly, where the host
// has none but a distribution's, whose files lie elsewhere.
func Real(t testing.TB) *Python {
	t.Helper()
	out, err := exec.Command("python3", "-I", "-c", ask).Output()
	said := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(said) != 3 {
		t.Skipf("SKIPPED: python3 on PATH is no CPython with a tree of its own (%v, %q), so that none can be packed", err, out)
	}
	subdir := map[string]string{"x86_64": "linux-64", "aarch64": "linux-aarch64"}[said[2]]
	if subdir == "" {
		t.Skipf("SKIPPED: the Python of this host runs on %s", said[2])
	}
	p := &Python{Version: said[1], Subdir: subdir}
	p.pack(t, said[0])
	return p
}

func (p *Python) pack(t testing.TB, prefix string) {
	minor := strings.Join(strings.SplitN(p.Version, ".", 3)[:2], ".")
	lib := "lib/python" + minor
	left := map[string]bool{lib + "/test": true, lib + "/idlelib": true, lib + "/ensurepip": false, lib + "/lib2to3/tests": true, lib + "/tkinter": true}
	err := filepath.WalkDir(prefix, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(prefix, at)
		if err != nil {
			return err
		}
		if d.IsDir() {
			inside := rel == "." || rel == "bin" || rel == "include" || rel == "lib" || rel == "lib/pkgconfig" || strings.HasPrefix(rel, "include/python"+minor) || strings.HasPrefix(rel+"/", lib+"/")
			if site, ok := strings.CutPrefix(rel, lib+"/site-packages/"); ok {
				inside = inside && (site == "pip" || strings.HasPrefix(site, "pip/") || strings.HasPrefix(site, "pip-"))
			}
			if !inside || left[rel] || d.Name() == "__pycache__" || strings.HasPrefix(d.Name(), "config-"+minor) {
				return fs.SkipDir
			}
			return nil
		}
		return p.add(t, prefix, rel, minor, d)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// add takes a file as it would be in such an archive.
func (p *Python) add(t testing.TB, prefix, rel, minor string, d fs.DirEntry) error {
	dir, name := filepath.Split(rel)
	switch {
	case dir == "bin/" && !strings.HasPrefix(name, "python") && name != "pip3":
		return nil
	case strings.HasSuffix(dir, "/site-packages/") || strings.HasSuffix(name, ".pyc") || strings.HasSuffix(name, ".a"):
		return nil
	}
	if d.Type()&fs.ModeSymlink != 0 {
		to, err := os.Readlink(filepath.Join(prefix, rel))
		p.Files = append(p.Files, File{Path: rel, Link: to})
		return err
	}
	data, err := os.ReadFile(filepath.Join(prefix, rel))
	if err != nil {
		return err
	}
	st, err := d.Info()
	if err != nil {
		return err
	}
	if bytes.HasPrefix(data, []byte(elf.ELFMAG)) {
		data = relocatable(t, data, prefix)
	} else {
		data = bytes.ReplaceAll(data, []byte(prefix), []byte("/install"))
		if strings.HasPrefix(name, "_sysconfigdata_") {
			data = bytes.ReplaceAll(data, []byte("'gcc"), []byte("'clang"))
			data = bytes.ReplaceAll(data, []byte("'g++"), []byte("'clang++"))
		}
		if dir == "bin/" && bytes.HasPrefix(data, []byte("#!/install/bin/python"+minor)) && name == "pip3" {
			_, rest, _ := bytes.Cut(data, []byte("\n"))
			data = append([]byte("#!/bin/sh\n'''exec' \"$(dirname -- \"$(realpath -- \"$0\")\")/python"+minor+"\" \"$0\" \"$@\"\n' '''\n"), rest...)
		}
	}
	p.Files = append(p.Files, File{Path: rel, Content: string(data), Exec: st.Mode()&0o111 != 0})
	return nil
}

// relocatable makes a program find its libraries beside itself: the path that it was
// linked with, if it is the prefix's, is replaced in place.
func relocatable(t testing.TB, data []byte, prefix string) []byte {
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	const beside = "$ORIGIN/../lib"
	for _, tag := range []elf.DynTag{elf.DT_RUNPATH, elf.DT_RPATH} {
		paths, err := f.DynString(tag)
		if err != nil {
			continue // it is linked statically
		}
		for _, p := range paths {
			if strings.HasPrefix(p, prefix+"/lib") && len(p) >= len(beside) {
				data = bytes.ReplaceAll(data, append([]byte(p), 0), append([]byte(beside), make([]byte, len(p)-len(beside)+1)...))
			}
		}
	}
	return data
}

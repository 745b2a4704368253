package wheels

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Prefix is a prefix with a Python and no packages.
type Prefix struct {
	// Path is absolute; Short is Python's major.minor.
	Path, Short string
	// own is all that was there before anything was installed.
	own map[string]bool
}

// describe asks a Python what a prefix for it is made of.
const describe = `import json, os, sys, sysconfig
exe = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
print(json.dumps({"exe": exe, "stdlib": sysconfig.get_path("stdlib"), "short": "%d.%d" % sys.version_info[:2]}))`

// MakePrefix makes a prefix at path for the Python that interpreter is, or that it
// is a virtual environment of.
func MakePrefix(interpreter, path string) (*Prefix, error) {
	var base struct{ Exe, Stdlib, Short string }
	if err := ask(interpreter, describe, &base); err != nil {
		return nil, err
	}
	p := &Prefix{Path: path, Short: base.Short}
	lib := filepath.Join(path, "lib", "python"+p.Short)
	for _, dir := range []string{filepath.Join(path, "bin"), filepath.Join(lib, "site-packages"), filepath.Join(path, "include")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	program, err := os.ReadFile(base.Exe)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(p.Python(), program, 0o755); err != nil {
		return nil, err
	}
	modules, err := os.ReadDir(base.Stdlib)
	if err != nil {
		return nil, err
	}
	for _, m := range modules {
		switch m.Name() {
		case "site-packages", "dist-packages", "EXTERNALLY-MANAGED":
			continue
		}
		if err := os.Symlink(filepath.Join(base.Stdlib, m.Name()), filepath.Join(lib, m.Name())); err != nil {
			return nil, err
		}
	}
	if p.own, err = paths(path); err != nil {
		return nil, err
	}
	return p, p.check()
}

// Python is the prefix's interpreter.
func (p *Prefix) Python() string { return filepath.Join(p.Path, "bin", "python"+p.Short) }

// check says whether packages go where those of a conda environment go. (Debian's
// Python has places of its own.)
func (p *Prefix) check() error {
	var got struct{ Purelib, Platlib, Scripts, Data, Include string }
	if err := ask(p.Python(), "import json, sysconfig; print(json.dumps(sysconfig.get_paths()))", &got); err != nil {
		return err
	}
	site := filepath.Join(p.Path, "lib", "python"+p.Short, "site-packages")
	want := got
	want.Purelib, want.Platlib, want.Scripts, want.Data = site, site, filepath.Join(p.Path, "bin"), p.Path
	if got != want {
		return fmt.Errorf("this Python installs packages into places of its own: %+v", got)
	}
	return nil
}

func ask(python, program string, out any) error {
	cmd := exec.Command(python, "-I", "-c", program)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	data, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", python, err, stderr.String())
	}
	return json.Unmarshal(data, out)
}

// paths are all paths below root.
func paths(root string) (map[string]bool, error) {
	out := make(map[string]bool)
	err := filepath.WalkDir(root, func(p string, _ os.DirEntry, err error) error {
		if rel, ok := strings.CutPrefix(p, root+"/"); ok {
			out[rel] = true
		}
		return err
	})
	return out, err
}

// Clean removes what was installed.
func (p *Prefix) Clean() error {
	now, err := paths(p.Path)
	if err != nil {
		return err
	}
	for rel := range now {
		if !p.own[rel] {
			if err := os.RemoveAll(filepath.Join(p.Path, rel)); err != nil {
				return err
			}
		}
	}
	return nil
}

package elf

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Copies of one library, of different content.
type Copies struct {
	// Library without version: libucp.
	Library string `json:"library"`
	// Files, sorted.
	Files []string `json:"files"`
	// By is a file whose loader path has more than one of them: its own RPATH or
	// RUNPATH, and the RPATH that a program of the prefix (Program) passes on to all
	// that it loads. "" = no file's path has two; an LD_LIBRARY_PATH may.
	By      string `json:"by,omitempty"`
	Program string `json:"program,omitempty"`
}

// single are the libraries of which one process must have one copy.
var single = []struct{ library, source string }{
	{"libucp", "UCX: mixing two builds in a process corrupts memory (openucx/ucx pull request 10844, issue 6675; 2026-08)"},
	{"libcudart", "CUDA runtime: two in a process do not share streams and contexts (rapidsai/ucxx's wheels; 2026-08)"},
	{"libibverbs", "rdma-core: must match the node's drivers (ai-dynamo/nixl pull request 1929; 2026-08)"},
	{"libmpi", "MPI: of two in a process, one is not initialised (nv-legate's networking-wheels.rst; 2026-08)"},
}

// copies finds copies of those libraries among the files of a prefix.
func copies(root, prefix string, own []Scanned) ([]Copies, error) {
	found := []Copies{}
	for _, l := range single {
		var copies []Scanned
		for _, f := range own {
			if f.Facts.Kind != Library || stem(f) != l.library {
				continue
			}
			if f.SHA256 == "" {
				var err error
				if f.SHA256, err = sum(filepath.Join(root, filepath.FromSlash(f.Path))); err != nil {
					return nil, err
				}
			}
			if !slices.ContainsFunc(copies, func(c Scanned) bool { return c.SHA256 == f.SHA256 }) {
				copies = append(copies, f)
			}
		}
		if len(copies) < 2 {
			continue
		}
		c := Copies{Library: l.library}
		for _, f := range copies {
			c.Files = append(c.Files, f.Path)
		}
		c.By, c.Program = onePath(prefix, own, copies)
		found = append(found, c)
	}
	return found, nil
}

// sum is the sha256 of a file's content.
func sum(path string) (hexed string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// stem is a library's name without version; auditwheel's hash (libcudart-256e6409)
// counts as version.
func stem(f Scanned) string {
	name := f.Facts.SOName
	if name == "" {
		name = path.Base(f.Path)
	}
	name, _, _ = strings.Cut(name, ".so")
	if base, hash, ok := strings.Cut(name, "-"); ok && len(hash) == 8 && strings.Trim(hash, "0123456789abcdef") == "" {
		return base
	}
	return name
}

// onePath is a file on whose loader path two of the copies are, and the program
// whose RPATH is needed for that ("" = none).
func onePath(prefix string, own, copies []Scanned) (by, program string) {
	reached := func(dirs []string) int {
		n := 0
		for _, c := range copies {
			if slices.Contains(dirs, path.Dir(c.Path)) {
				n++
			}
		}
		return n
	}
	for _, f := range own {
		if reached(searched(prefix, f)) > 1 {
			return f.Path, ""
		}
	}
	for _, p := range own {
		if p.Facts.Kind != Executable || path.Dir(p.Path) != "bin" || p.Facts.HasRunPath || p.Facts.RPath == "" {
			continue
		}
		passed := searched(prefix, p)
		for _, f := range own {
			// What has a RUNPATH does not look at its loaders' RPATH.
			if !f.Facts.HasRunPath && reached(append(searched(prefix, f), passed...)) > 1 {
				return f.Path, p.Path
			}
		}
	}
	return "", ""
}

// searched are the directories of a file's own search path that lie in its prefix.
func searched(prefix string, f Scanned) []string {
	list := f.Facts.RPath
	if f.Facts.HasRunPath {
		list = f.Facts.RunPath
	}
	var dirs []string
	for item := range strings.SplitSeq(list, ":") {
		rest, ok := strings.CutPrefix(item, "$ORIGIN")
		if !ok {
			rest, ok = strings.CutPrefix(item, "${ORIGIN}")
		}
		if at, under := strings.CutPrefix(path.Clean(item), prefix+"/"); under && prefix != "" {
			dirs = append(dirs, at)
			continue
		}
		if ok && (rest == "" || rest[0] == '/') {
			dirs = append(dirs, path.Join(path.Dir(f.Path), rest))
		}
	}
	return dirs
}

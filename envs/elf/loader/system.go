package loader

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
)

// Options of a node that its files do not tell.
type Options struct {
	// Machine as `uname -m` says it.
	Machine string
	// PageSize of its kernel in bytes.
	PageSize uint64
	// HWCaps are the subdirectories of glibc-hwcaps that its processor can use, best
	// first (X86Levels).
	HWCaps []string
	// Platform is what $PLATFORM stands for; "" = the machine's name.
	Platform string
}

// System is a node whose loader is followed. Its methods may be called at once by
// many.
type System struct {
	Options
	// Interpreter is the loader's path, by which programs ask for it.
	Interpreter string
	// Lib is what $LIB stands for.
	Lib string
	// DefaultDirs are searched last.
	DefaultDirs []string
	// Problem: the node has no ld.so.cache that the loader would use, and why. The
	// loader then goes on without it, and so does this.
	Problem string

	files *files
	cache *ldCache // nil = there is none

	mu     sync.Mutex
	opened map[string]*opened // by path on the node without links
}

// interpreters are the paths of the machines' loaders, fixed by their ABIs.
var interpreters = map[string]string{
	"x86_64":  "/lib64/ld-linux-x86-64.so.2",
	"aarch64": "/lib/ld-linux-aarch64.so.1",
	"ppc64le": "/lib64/ld64.so.2",
}

// maxInterpreter bounds what is read of a loader, which has about 0.3 MB.
const maxInterpreter = 16 << 20

// ErrNoLoader: the node has no GNU loader for the machine, so that nothing can be
// said.
var ErrNoLoader = errors.New("no GNU dynamic loader")

// X86Levels are the subdirectories of glibc-hwcaps of a processor of x86-64-v<level>.
func X86Levels(level int) (dirs []string) {
	for l := min(level, 4); l >= 2; l-- {
		dirs = append(dirs, fmt.Sprintf("x86-64-v%d", l))
	}
	return dirs
}

// X86Platform is what $PLATFORM stands for on a processor of x86-64-v<level>, whose
// vendor is as /proc/cpuinfo has it: glibc calls those of Intel that have all of AVX2, BMI,
// LZCNT, MOVBE and FMA "haswell" (sysdeps/x86/cpu-features.c; that it calls Xeon Phi
// "xeon_phi" is left out).
func X86Platform(vendor string, level int) string {
	if vendor == "GenuineIntel" && level >= 3 {
		return "haswell"
	}
	return "x86_64"
}

// Open reads how the loader of a node works: its default directories, from the
// loader itself, and its cache. Errors are of class ErrNoLoader.
func Open(root Root, o Options) (*System, error) {
	s := &System{Options: o, Interpreter: interpreters[o.Machine], opened: map[string]*opened{}}
	if s.Interpreter == "" {
		return nil, fmt.Errorf("%w: hpcenv does not know that of machine %q", ErrNoLoader, o.Machine)
	}
	if s.Platform == "" {
		s.Platform = o.Machine
	}
	var err error
	if s.files, err = newFiles(root); err != nil {
		return nil, fmt.Errorf("%s: %w", root.Recorded.At, err)
	}
	b, err := s.files.read(s.Interpreter, maxInterpreter)
	if err != nil {
		return nil, fmt.Errorf("%w: %w; is this a node with the GNU C library?", ErrNoLoader, err)
	}
	if s.DefaultDirs = defaultDirs(b); len(s.DefaultDirs) == 0 {
		return nil, fmt.Errorf("%w: %s names no default directories", ErrNoLoader, s.Interpreter)
	}
	s.Lib = strings.TrimPrefix(strings.TrimPrefix(s.DefaultDirs[0], "/"), "usr/")
	b, err = s.files.read(cachePath, maxCache)
	if err == nil {
		s.cache, err = openCache(b, o.Machine)
	}
	if err != nil {
		s.Problem = fmt.Sprintf("%s: %v", cachePath, err)
	}
	return s, nil
}

// ReadFile is the content of a file of the node of at most limit bytes.
func (s *System) ReadFile(path string, limit int64) ([]byte, error) { return s.files.read(path, limit) }

// defaultDirs finds the default directories in a loader's content, in their order:
// a row of paths, each with a slash and a zero byte at its end, one of them below
// /usr/lib.
func defaultDirs(interpreter []byte) (dirs []string) {
	const sign = "/usr/lib"
	for at := 0; ; {
		i := bytes.Index(interpreter[at:], []byte(sign))
		if i < 0 {
			return nil
		}
		at += i
		if dirs := dirsAround(interpreter, at); dirs != nil {
			return dirs
		}
		at += len(sign)
	}
}

// dirsAround are the directories of the row in which one begins at; nil = there is
// no such row.
func dirsAround(b []byte, at int) (dirs []string) {
	first := at
	for { // back, directory by directory
		start := first - 1 // of the zero byte before
		if start < 0 || b[start] != 0 {
			return nil
		}
		before := bytes.LastIndexByte(b[:start], 0) + 1
		if !isDir(b[before:start]) || before == 0 {
			break
		}
		first = before
	}
	for rest := b[first:]; ; {
		word, after, ended := bytes.Cut(rest, []byte{0})
		if !ended || !isDir(word) {
			return dirs
		}
		dirs = append(dirs, path.Clean(string(word)))
		rest = after
	}
}

// isDir: it reads as a directory with a slash at its end.
func isDir(word []byte) bool {
	if len(word) == 0 || len(word) > maxDefaultDir || word[0] != '/' || word[len(word)-1] != '/' {
		return false
	}
	for _, c := range word {
		if !letter(c) && !bytes.ContainsRune([]byte("/.+-"), rune(c)) {
			return false
		}
	}
	return true
}

// maxDefaultDir bounds a default directory in bytes.
const maxDefaultDir = 256

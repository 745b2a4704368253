package elf

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strings"
)

// Options of a survey.
type Options struct {
	// Machine that the prefix is for; "" = that of most of its files.
	Machine string
	// Prefix is the path that the files will have on nodes, which search paths may
	// name; "" = none does.
	Prefix string
	// Cache of facts; nil = every file is read.
	Cache Cache
}

// Survey of a prefix: what its files ask of a node, together. Paths are relative to
// the prefix.
type Survey struct {
	// Files of the prefix, ELF those that are such files.
	Files int `json:"files"`
	ELF   int `json:"elf"`
	// Machine that was taken to be wanted.
	Machine string `json:"machine"`
	// Glibc, GLIBCXX and CXXABI: the highest version that a file needs. None of a
	// family that no file needs.
	Glibc   *Floor `json:"glibc,omitempty"`
	GLIBCXX *Floor `json:"glibcxx,omitempty"`
	CXXABI  *Floor `json:"cxxabi,omitempty"`
	// Page is the largest page size that all files can be loaded with.
	Page *PageFloor `json:"page,omitempty"`
	// Node are the libraries that the node must have.
	Node []NodeLibrary `json:"node"`
	// Copies of libraries of which a process may have one.
	Copies []Copies `json:"copies"`
	// Foreign files are for another machine than the prefix; nobody can run them.
	Foreign []Foreign `json:"foreign"`
	// CUDA code by file.
	CUDA []CUDA `json:"cuda"`
	// Broken files begin as ELF files and could not be loaded.
	Broken []Broken `json:"broken"`
}

// NodeLibrary is a library that files of the prefix need and none of it provides.
type NodeLibrary struct {
	Name string `json:"name"`
	// File that needs it, the first by path, of Files.
	File  string `json:"file"`
	Files int    `json:"files"`
	// Version is the highest numbered one that is needed of it, "" = any will do.
	Version string `json:"version,omitempty"`
}

// Foreign file.
type Foreign struct {
	File    string `json:"file"`
	Machine string `json:"machine"`
}

// CUDA code of a file.
type CUDA struct {
	File string   `json:"file"`
	Code []string `json:"code"`
	// Problem: not all of it could be read.
	Problem string `json:"problem,omitempty"`
}

// Broken file.
type Broken struct {
	File    string `json:"file"`
	Problem string `json:"problem"`
}

// apart are parts of paths below which files serve no process of this prefix on
// this node, or only one that says so.
var apart = []struct{ dir, source string }{
	{"sysroot", "conda-forge's sysroot_* packages: the C library to compile against, below <triplet>/sysroot (2026-11)"},
	{"stubs", "CUDA's *-dev packages: libraries without code, to link against, below lib/stubs (2026-11)"},
	{"cuda-compat", "conda-forge's cuda-compat: a newer libcuda.so.1, used where somebody asks for it (2026-11)"},
}

// isApart tells whether a file lies below such a directory.
func isApart(file string) bool {
	for dir := range strings.SplitSeq(path.Dir(file), "/") {
		for _, a := range apart {
			if a.dir == dir {
				return true
			}
		}
	}
	return false
}

// Look surveys the prefix at root with all its files.
func Look(ctx context.Context, root string, o Options) (*Survey, error) {
	files, err := List(root)
	if err != nil {
		return nil, err
	}
	return SurveyOf(ctx, root, files, o)
}

// SurveyOf surveys the prefix at root whose regular files and symbolic links are
// files. Errors are the storage's, and name the file.
func SurveyOf(ctx context.Context, root string, files []File, o Options) (*Survey, error) {
	scanned, err := Scan(ctx, root, files, o.Cache)
	if err != nil {
		return nil, err
	}
	return Together(root, files, scanned, o)
}

// Together is SurveyOf where the ELF files among files were read before. Of the prefix
// only those are read whose content must be compared and whose sha256 is not known.
func Together(root string, files []File, scanned []Scanned, o Options) (s *Survey, err error) {
	scanned = slices.Clone(scanned)
	slices.SortFunc(scanned, func(a, b Scanned) int { return cmp.Compare(a.Path, b.Path) })
	s = &Survey{Files: len(files), ELF: len(scanned), Machine: o.Machine,
		Node: []NodeLibrary{}, Copies: []Copies{}, Foreign: []Foreign{}, CUDA: []CUDA{}, Broken: []Broken{}}
	if s.Machine == "" {
		s.Machine = most(scanned)
	}
	own := s.Own(scanned)
	for _, f := range scanned {
		switch {
		case f.Facts == nil:
			s.Broken = append(s.Broken, Broken{f.Path, f.Problem})
		case !ordinary(f.Facts):
		case f.Facts.Machine != s.Machine:
			s.Foreign = append(s.Foreign, Foreign{f.Path, f.Facts.Machine})
		}
	}
	for _, f := range own {
		if len(f.Facts.CUDA) > 0 || f.Facts.CUDAProblem != "" {
			s.CUDA = append(s.CUDA, CUDA{f.Path, f.Facts.CUDA, f.Facts.CUDAProblem})
		}
	}
	s.floors(own)
	s.nodeLibraries(own, links(files))
	s.Copies, err = copies(root, o.Prefix, own)
	return s, err
}

// ordinary: a program or library for a processor.
func ordinary(f *Facts) bool { return f.Kind != Other && f.Machine != "cuda" }

// Own are those of the files that processes of the prefix may load.
func (s *Survey) Own(scanned []Scanned) (own []Scanned) {
	for _, f := range scanned {
		if f.Facts != nil && ordinary(f.Facts) && f.Facts.Machine == s.Machine && !isApart(f.Path) {
			own = append(own, f)
		}
	}
	return own
}

// most is the machine of most files; of equally many the first by name.
func most(files []Scanned) string {
	count := map[string]int{}
	for _, f := range files {
		if f.Facts != nil && ordinary(f.Facts) {
			count[f.Facts.Machine]++
		}
	}
	best := ""
	for _, m := range slices.Sorted(maps.Keys(count)) {
		if best == "" || count[m] > count[best] {
			best = m
		}
	}
	return best
}

// links are the paths that symbolic links lead to, by the link's path. What leads
// out of the prefix is left out.
func links(files []File) map[string]string {
	to := map[string]string{}
	for _, f := range files {
		if f.Link == "" || path.IsAbs(f.Link) {
			continue
		}
		if at := path.Join(path.Dir(f.Path), f.Link); at != ".." && !strings.HasPrefix(at, "../") {
			to[f.Path] = at
		}
	}
	return to
}

// maxLinks is how many links Linux follows.
const maxLinks = 40

// nodeLibraries finds what nothing in the prefix provides: neither a library's name,
// nor a link to one, nor a library's SONAME.
func (s *Survey) nodeLibraries(own []Scanned, links map[string]string) {
	provided, library := map[string]bool{}, map[string]bool{}
	for _, f := range own {
		if f.Facts.Kind == Library {
			library[f.Path] = true
			provided[path.Base(f.Path)] = true
			if f.Facts.SOName != "" {
				provided[f.Facts.SOName] = true
			}
		}
	}
	for link := range links {
		at := link
		for range maxLinks {
			next, is := links[at]
			if !is {
				break
			}
			at = next
		}
		if library[at] && !isApart(link) {
			provided[path.Base(link)] = true
		}
	}
	node := map[string]*NodeLibrary{}
	for _, f := range own {
		versions := map[string][]Version{}
		for _, need := range f.Facts.Needs {
			versions[need.Library] = append(versions[need.Library], need.Versions...)
		}
		for _, name := range f.Facts.Needed {
			if provided[path.Base(name)] {
				continue
			}
			n := node[name]
			if n == nil {
				n = &NodeLibrary{Name: name, File: f.Path}
				node[name] = n
			}
			n.Files++
			for _, v := range versions[name] {
				if !v.Weak && higher(v.Name, n.Version) {
					n.Version = v.Name
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(node)) {
		s.Node = append(s.Node, *node[name])
	}
}

// higher tells that version a, with numbers, is higher than b ("" = none) of the
// same family; of two families the one that came first stays.
func higher(a, b string) bool {
	family, n, ok := numbered(a)
	if !ok {
		return false
	}
	other, m, ok := numbered(b)
	return !ok || family == other && slices.Compare(n, m) > 0
}

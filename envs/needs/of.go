package needs

import (
	"cmp"
	"context"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/elf"
	"github.com/hpcenv/hpcenv/envs/requirement"
	"github.com/hpcenv/hpcenv/envs/stack"
)

// Package of an environment.
type Package struct {
	// Name is "name version".
	Name string
	// Manifest as the store has it.
	Manifest *cache.Manifest

	// begin are the contents that begin as ELF files; nil = it is not known which do.
	begin map[string]bool
}

// NewPackage is a package called "name version".
func NewPackage(name string, m *cache.Manifest) *Package {
	p := &Package{Name: name, Manifest: m}
	if m.ELF != nil {
		p.begin = make(map[string]bool, len(m.ELF))
		for _, i := range m.ELF {
			p.begin[m.Entries[i].SHA256] = true
		}
	}
	return p
}

// File of a prefix, or a symbolic link.
type File struct {
	Path string
	// Package that it is of; nil = none, hpcenv made it.
	Package *Package
	// Content is the sha256 that the package has it with; "" = it is not one of the
	// package's files as it is. Changed: something was replaced in it when it was placed.
	Content string
	Changed bool
	// Link is where a symbolic link leads; "" = a regular file.
	Link string
}

// Matters tells whether the file can have a part in what is asked of a node: a link, a
// library by its name, or what may be an ELF file by its content.
func (f *File) Matters() bool {
	if f.Link != "" || libraryName(path.Base(f.Path)) {
		return true
	}
	return f.Content != "" && f.Package != nil && (f.Package.begin == nil || f.Package.begin[f.Content])
}

// libraryName tells names that a loader may look for.
func libraryName(name string) bool { return strings.Contains(name, ".so") }

// Input of a survey.
type Input struct {
	// Store keeps the facts of packages and has their files.
	Store *cache.Store
	// Root is where the published prefix can be read, Prefix its path on nodes.
	Root, Prefix string
	// Subdir is the conda platform.
	Subdir string
	// Files of the prefix, sorted by path, those at least that matter; nil = Root is
	// listed, and nothing is known of its packages.
	Files []File
	// Touched: package code ran in the prefix, so that Files tell whose a path is and
	// Root what there is.
	Touched bool
	// Locked and Stack as Needs has them.
	Locked []requirement.Requirement
	Stack  stack.Stack
}

// machines by conda platform.
var machines = map[string]string{"linux-64": "x86_64", "linux-aarch64": "aarch64", "linux-ppc64le": "ppc64le"}

// Of surveys a published prefix. Facts that nobody read before are kept in the store.
// Errors are of class cache.ErrStore or ErrTooMuch, the storage's, or the context's.
func Of(ctx context.Context, in *Input) (*Needs, error) {
	files, scanned, err := in.scan(ctx)
	if err != nil {
		return nil, err
	}
	survey, err := elf.Together(in.Root, files, scanned, elf.Options{Machine: machines[in.Subdir], Prefix: in.Prefix})
	if err != nil {
		return nil, err
	}
	listing := elf.NewListing(in.Prefix, files)
	modules, err := listing.Modules()
	if err != nil {
		return nil, err
	}
	n := &Needs{Version: Version, Extractor: elf.Extractor, Locked: in.Locked, Stack: in.Stack}
	n.floors(survey, in.owner)
	own := survey.Own(scanned)
	early := neededEarly(own, openedLate(own, listing, modules))
	for _, l := range survey.Node {
		n.Libraries = append(n.Libraries, Library{Name: l.Name, Version: l.Version, File: l.File, Files: l.Files,
			Package: in.owner(l.File), Module: !early[l.Name]})
	}
	n.Copies, n.Foreign, n.Broken = survey.Copies, survey.Foreign, survey.Broken
	for _, c := range survey.CUDA {
		n.CUDA = append(n.CUDA, CUDA{c, in.owner(c.File)})
	}
	for _, m := range modules {
		n.Modules = append(n.Modules, Module{m, in.owner(m.Path)})
	}
	facts := make(map[string]*elf.Facts, len(scanned))
	for _, s := range scanned {
		if s.Facts != nil {
			facts[s.Path] = s.Facts
		}
	}
	n.Prefix, err = prefixOf(listing, facts, modules)
	return n, err
}

// owner is the package of a path, "" if it has none.
func (in *Input) owner(file string) string {
	i, found := slices.BinarySearchFunc(in.Files, file, func(f File, at string) int { return strings.Compare(f.Path, at) })
	if !found || in.Files[i].Package == nil {
		return ""
	}
	return in.Files[i].Package.Name
}

// floors are what a node's C library, pages and C++ library must be.
func (n *Needs) floors(s *elf.Survey, owner func(string) string) {
	if f := s.Glibc; f != nil && !f.OK() {
		r := requirement.Requirement{Spec: "__glibc >=" + f.Version, Source: requirement.Files, File: f.File}
		if by := owner(f.File); by != "" {
			r.Packages = []string{by}
		}
		n.Requirements = append(n.Requirements, r)
	}
	if p := s.Page; p != nil {
		n.Page = &Page{Size: int(min(p.Size, maxPage)), File: p.File, Package: owner(p.File)}
	}
	for _, f := range []struct {
		family string
		*elf.Floor
	}{{"CXXABI", s.CXXABI}, {"GLIBCXX", s.GLIBCXX}} {
		if f.Floor != nil && !f.OK() {
			n.Runtime = append(n.Runtime, Runtime{Name: f.family + "_" + f.Version, File: f.File, Package: owner(f.File)})
		}
	}
}

// maxPage in bytes is more than any node has.
const maxPage = 1 << 30

// late are files that programs do not start with: modules, and libraries that only
// those need.
type late map[string]bool

// openedLate finds them among the files that processes load.
func openedLate(own []elf.Scanned, l *elf.Listing, modules []elf.Module) late {
	out := late{}
	for _, m := range modules {
		out[m.Path] = true
	}
	provides := map[string][]string{} // paths by name
	for _, f := range own {
		if f.Facts.Kind != elf.Library {
			continue
		}
		provides[path.Base(f.Path)] = append(provides[path.Base(f.Path)], f.Path)
		if so := f.Facts.SOName; so != "" && so != path.Base(f.Path) {
			provides[so] = append(provides[so], f.Path)
		}
	}
	for link := range l.Links() {
		if at, _, ok := l.Resolve(link); ok {
			provides[path.Base(link)] = append(provides[path.Base(link)], at)
		}
	}
	// by counts the files that need a library and that processes start with.
	by, needs := map[string]int{}, map[string][]string{}
	for _, f := range own {
		once := map[string]bool{}
		for _, name := range f.Facts.Needed {
			for _, p := range provides[path.Base(name)] {
				if !once[p] {
					once[p] = true
					by[p]++
					needs[f.Path] = append(needs[f.Path], p)
				}
			}
		}
	}
	queue := slices.Collect(maps.Keys(out))
	for len(queue) > 0 {
		f := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, p := range needs[f] {
			if by[p]--; by[p] == 0 && !out[p] {
				out[p] = true
				queue = append(queue, p)
			}
		}
	}
	return out
}

// neededEarly are the names that files need which programs may start with.
func neededEarly(own []elf.Scanned, l late) map[string]bool {
	names := map[string]bool{}
	for _, f := range own {
		if l[f.Path] {
			continue
		}
		for _, name := range f.Facts.Needed {
			names[name] = true
		}
	}
	return names
}

// scan lists the prefix and reads its ELF files, or takes what is known of them.
func (in *Input) scan(ctx context.Context) (files []elf.File, scanned []elf.Scanned, err error) {
	if in.Files == nil || in.Touched {
		if files, err = elf.List(in.Root); err != nil {
			return nil, nil, err
		}
		scanned, err = in.read(ctx, files)
		return files, scanned, err
	}
	packages := map[*Package]bool{}
	for i := range in.Files {
		if p := in.Files[i].Package; p != nil {
			packages[p] = true
		}
	}
	sorted := slices.SortedFunc(maps.Keys(packages), func(a, b *Package) int { return cmp.Compare(a.Manifest.SHA256, b.Manifest.SHA256) })
	known, err := factsOf(ctx, in.Store, sorted)
	if err != nil {
		return nil, nil, err
	}
	var read []elf.File
	for i := range in.Files {
		f := &in.Files[i]
		file := elf.File{Path: f.Path, Link: f.Link}
		if !f.Changed {
			file.SHA256 = f.Content
		}
		files = append(files, file)
		if f.Link != "" || f.Package == nil || f.Content == "" {
			continue
		}
		of := known[f.Package]
		fact, is := of[f.Content]
		switch {
		case of == nil, is && f.Changed:
			read = append(read, file)
		case is:
			scanned = append(scanned, elf.Scanned{File: file, Facts: fact.Facts, Problem: fact.Problem})
		}
	}
	more, err := in.read(ctx, read)
	return files, append(scanned, more...), err
}

// read reads files of the prefix.
func (in *Input) read(ctx context.Context, files []elf.File) ([]elf.Scanned, error) {
	scanned, err := elf.Scan(ctx, in.Root, files, nil)
	for i := range scanned {
		scanned[i].Problem = problem(scanned[i].Problem, filepath.Join(in.Root, filepath.FromSlash(scanned[i].Path)))
	}
	return scanned, err
}

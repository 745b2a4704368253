package stack

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
)

// kind of a file's content.
type kind int

const (
	source kind = iota // Python
	text
	library
)

// file is one file to generate.
type file struct {
	path   string
	size   int
	kind   kind
	patch  bool // holds the placeholder
	exec   bool
	number uint64 // seeds the content
}

// pkg is one package to generate.
type pkg struct {
	name, version, build string
	number               int
	noarch               bool // noarch python
	depends              []string
	files                []file
}

func (p *pkg) subdir() string {
	if p.noarch {
		return "noarch"
	}
	return "linux-64"
}

func (p *pkg) dist() string { return p.name + "-" + p.version + "-" + p.build }

// site is where packages of the architecture have their modules; noarch ones
// have them below noarchSite.
const (
	site       = "lib/python3.11/site-packages"
	noarchSite = "site-packages"
)

// random is a generator that depends on the Spec and what only.
func (s Spec) random(what uint64) *rand.Rand {
	var seed uint64
	for _, b := range []byte(s.Name) {
		seed = seed*257 + uint64(b)
	}
	return rand.New(rand.NewPCG(seed, what))
}

// shape decides all packages and their files.
func (s Spec) shape() []*pkg {
	rnd := s.random(0)
	sizes := make([]int, s.Files)
	for i := range sizes {
		q := (float64(i) + 0.5) / float64(s.Files)
		if q >= s.Empty {
			sizes[i] = s.size(q)
		}
	}
	rnd.Shuffle(len(sizes), func(i, j int) { sizes[i], sizes[j] = sizes[j], sizes[i] })
	pkgs := make([]*pkg, s.Packages)
	counts := s.counts()
	var number uint64
	for i := range pkgs {
		p := &pkg{name: fmt.Sprintf("%s-%03d", s.Name, i), version: "1.0", build: "py311_0", number: i}
		if i == 0 {
			p.name, p.version, p.build = "python", "3.11.9", "h0_0_cpython"
		} else {
			p.noarch = i%5 < 3
			p.depends = []string{"python >=3.11,<3.12.0a0"}
		}
		if p.noarch {
			p.build = "pyh0_0"
		}
		s.place(rnd, p, sizes[:counts[i]], &number)
		sizes = sizes[counts[i]:]
		pkgs[i] = p
	}
	return pkgs
}

// counts shares the files out: a few packages have thousands, most have some
// dozen.
func (s Spec) counts() []int {
	weights := make([]float64, s.Packages)
	total := 0.0
	for i := range weights {
		weights[i] = 1 / float64(i+4)
		total += weights[i]
	}
	counts, left := make([]int, s.Packages), s.Files
	for i := range counts {
		counts[i] = max(2, int(weights[i]/total*float64(s.Files)))
		left -= counts[i]
	}
	counts[0] += left // what rounding left
	return counts
}

// place gives each size a path in p's directories.
func (s Spec) place(rnd *rand.Rand, p *pkg, sizes []int, number *uint64) {
	module := strings.ReplaceAll(p.name, "-", "_")
	root := site + "/" + module
	switch {
	case p.noarch:
		root = noarchSite + "/" + module
	case p.number == 0:
		root = "lib/python3.11"
	}
	dirs := []string{root}
	for want := int(float64(len(sizes))/s.PerDir + 0.5); len(dirs) < want; {
		parent := dirs[rnd.IntN(len(dirs))]
		if strings.Count(parent, "/")-strings.Count(root, "/") < 5 {
			dirs = append(dirs, fmt.Sprintf("%s/part%03d", parent, len(dirs)))
		}
	}
	for i, size := range sizes {
		dir := dirs[rnd.IntN(len(dirs))]
		if i < len(dirs) {
			dir = dirs[i] // none stays empty
		}
		*number++
		f := file{size: size, number: *number}
		f.patch = size > 2*len(placeholder) && rnd.Float64() < s.Patched/s.patchable()
		s.choose(rnd, &f, dir, i)
		p.files = append(p.files, f)
	}
	if p.number == 0 {
		*number++
		p.files = append(p.files, file{path: "bin/python3.11", size: 20000, kind: library, exec: true, number: *number})
	}
	sort.Slice(p.files, func(i, j int) bool { return p.files[i].path < p.files[j].path })
}

// patchable is the share of files that are large enough for the placeholder.
func (s Spec) patchable() float64 {
	for q := s.Empty; q < 1; q += 0.01 {
		if s.size(q) > 2*len(placeholder) {
			return 1 - q
		}
	}
	return 1
}

// choose decides what kind of file one of this size is and how it is called.
func (s Spec) choose(rnd *rand.Rand, f *file, dir string, i int) {
	switch roll := rnd.Float64(); {
	case f.size == 0:
		f.kind, f.path = source, fmt.Sprintf("%s/empty%04d.py", dir, i)
	case f.patch && roll < 0.9:
		f.kind, f.path = text, fmt.Sprintf("%s/config%04d.cmake", dir, i)
	case f.patch, f.size > 500_000, f.size > 50_000 && roll < 0.4:
		f.kind, f.exec, f.path = library, true, fmt.Sprintf("%s/native%04d.so", dir, i)
	case roll < 0.55 && f.size < 500_000:
		f.kind, f.path = source, fmt.Sprintf("%s/module%04d.py", dir, i)
	default:
		f.kind, f.path = text, fmt.Sprintf("%s/data%04d.json", dir, i)
	}
}

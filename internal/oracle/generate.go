package oracle

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/internal/condatest"
)

// Set is packages to install together.
type Set struct {
	Name     string
	Packages []condatest.Package
	// SitePackages is python_site_packages_path of python's record, if any.
	SitePackages string
	// PrefixLen is how many bytes the prefix has.
	PrefixLen int
}

// Lengths of prefixes: shortPrefix is that of a user's own store, longPrefix the
// longest that hpcenv takes, at which interpreter lines become too long.
const (
	shortPrefix = 48
	longPrefix  = 110
)

// placeholder is what build tools compile in: 255 bytes.
var placeholder = "/build/" + strings.Repeat("_placehold", 25)[:248]

// Themes of sets; a set has more of its theme than the others have.
var themes = []string{
	"files", "dirs", "links", "text", "binary", "long", "noarch", "threads", "legacy", "mixed",
}

// Generate makes set number n: the same number, the same set. Where rattler's
// result is chance it stays away: no circles of dependencies and no two packages
// with one entry point (see order.go of materialize, and the entry points'
// writing beside rattler's registry of conflicts).
func Generate(n int) Set {
	g := &generator{r: rand.New(rand.NewPCG(3, uint64(n))), theme: themes[n%len(themes)]}
	s := Set{Name: fmt.Sprintf("%s-%03d", g.theme, n), PrefixLen: shortPrefix + g.r.IntN(20)}
	if g.theme == "long" {
		s.PrefixLen = longPrefix - g.r.IntN(4)
	}
	g.prefixLen = s.PrefixLen
	names := slices.Clone(packageNames)
	g.r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = names[:2+g.r.IntN(5)]
	g.first, g.second = names[0], names[1]
	if g.theme == "noarch" || g.theme == "threads" || g.chance(2) {
		g.python = pick(g, "3.9.18", "3.11.4", "3.12.1", "3.13.0rc1")
		if g.theme == "threads" {
			g.python, s.SitePackages = "3.13.1", "lib/python3.13t/site-packages"
		}
		s.Packages = append(s.Packages, g.pythonPackage())
	}
	for i, name := range names {
		s.Packages = append(s.Packages, g.pkg(name, names[:i]))
	}
	g.r.Shuffle(len(s.Packages), func(i, j int) { s.Packages[i], s.Packages[j] = s.Packages[j], s.Packages[i] })
	return s
}

var packageNames = []string{"alpha", "b_c", "beta", "beta-2", "delta.x", "lib1", "lib10", "lib2", "omega", "zz"}

// generator holds what the packages of one set have in common.
type generator struct {
	r         *rand.Rand
	theme     string
	python    string // version; "" = no python
	prefixLen int
	// first depends on no other package of the set; second may, on it.
	first, second string
}

func (g *generator) chance(oneIn int) bool { return g.r.IntN(oneIn) == 0 }

func pick[T any](g *generator, from ...T) T { return from[g.r.IntN(len(from))] }

// short is python's major.minor.
func (g *generator) short() string {
	parts := strings.Split(g.python, ".")
	return parts[0] + "." + parts[1]
}

func (g *generator) pythonPackage() condatest.Package {
	v := g.short()
	p := condatest.Package{Name: "python", Version: g.python, Build: "h1_0_cp", Files: []condatest.File{
		{Path: "bin/python" + v, Content: "\x7fELF python", Exec: true},
		{Path: "bin/python", Link: "python" + v},
		{Path: "lib/python" + v + "/os.py", Content: "import sys\n"},
	}}
	if g.theme == "threads" {
		p.Files = append(p.Files, condatest.File{Path: "lib/python" + v + "t/os.py", Content: "import sys\n"})
	}
	return p
}

// pkg makes one package, which may depend on some of those before it.
func (g *generator) pkg(name string, before []string) condatest.Package {
	p := condatest.Package{Name: name, Version: pick(g, "1.0", "2023.4b1", "1!2.0.post1"), Build: fmt.Sprintf("h%d_%d", g.r.IntN(9), g.r.IntN(3))}
	p.BuildNumber = g.r.IntN(3)
	for _, b := range before {
		if g.chance(3) {
			p.Depends = append(p.Depends, b+pick(g, "", " >=1", "==1.0", " 1.0 h0_0", " >=1,<3|4.*"))
		}
	}
	if g.chance(4) {
		p.Depends = append(p.Depends, "__glibc >=2.17", "absent >=1")
	}
	switch {
	case g.python != "" && (g.theme == "noarch" || g.theme == "threads" || g.chance(3)):
		p.Noarch = "python"
		p.Depends = append(p.Depends, "python >=3")
		for i := range g.r.IntN(3) {
			p.EntryPoints = append(p.EntryPoints, fmt.Sprintf("run-%s-%d = %s", name, i,
				pick(g, "pkg.mod:main", "pkg:Class.method", " pkg.sub.mod : main ")))
		}
	case g.chance(4):
		p.Noarch = "generic"
	}
	g.files(&p)
	if p.Noarch != "python" && (g.theme == "legacy" && !g.chance(3)) {
		legacy(&p)
	}
	return p
}

// files fills a package: some paths that others of the set have as well, some of
// its own.
func (g *generator) files(p *condatest.Package) {
	taken := make(map[string]bool)
	add := func(f condatest.File) {
		for have := range taken {
			if place(have) == place(f.Path) || strings.HasPrefix(have, f.Path+"/") || strings.HasPrefix(f.Path, have+"/") {
				return // a package does not contradict itself
			}
		}
		taken[f.Path] = true
		p.Files = append(p.Files, f)
	}
	for range 1 + g.r.IntN(6) {
		add(g.file(g.commonPath(p)))
	}
	for i := range 1 + g.r.IntN(4) {
		add(g.file(pick(g, "bin/", "lib/", "share/"+p.Name+"/", "etc/a/b/c/") + fmt.Sprintf("%s-%d", p.Name, i)))
	}
	if p.Noarch == "python" {
		for i := range 1 + g.r.IntN(3) {
			add(g.file(fmt.Sprintf("site-packages/%s/m%d.py", p.Name, i)))
		}
	}
}

// place is where the two spellings of bin/ meet.
func place(p string) string { return strings.Replace(p, "python-scripts/", "bin/", 1) }

// commonPath is a path that several packages are likely to have.
func (g *generator) commonPath(p *condatest.Package) string {
	if p.Noarch == "python" && g.chance(2) {
		return pick(g, "site-packages/shared/mod.py", "site-packages/shared/__init__.py", "site-packages/one.py", "python-scripts/tool")
	}
	if (p.Name == g.first || p.Name == g.second) && (g.theme == "dirs" || g.chance(6)) {
		return g.fileOrDir(p)
	}
	return pick(g, "bin/tool", "lib/libshared.so", "lib/libshared.so.1", "share/doc/README", "etc/conf", "etc/conf.d/a",
		"share/doc/LICENSE", "include/a/b.h")
}

// fileOrDir is a path that is a file in one package and a directory in another,
// which depends on it, so that the directory wins. Of other cases rattler makes
// what the order of its threads gives: a file that wins stays below __clobbers__
// if its place had become a directory first, and so does a part of a directory
// that several packages fill.
func (g *generator) fileOrDir(p *condatest.Package) string {
	if p.Name == g.first {
		return pick(g, "share/x", "opt/d")
	}
	if !slices.Contains(p.Depends, g.first) {
		p.Depends = append(p.Depends, g.first)
	}
	return pick(g, "share/x/y", "share/x/w", "share/x/v", "opt/d/e")
}

// file makes the file at a path: of what kind depends on the theme.
func (g *generator) file(path string) condatest.File {
	f := condatest.File{Path: path, Exec: g.chance(3), NoLink: g.chance(8)}
	switch kind := g.r.IntN(10); {
	case kind == 0:
		return f // empty
	case g.theme == "links" && kind < 7 || kind == 1:
		return condatest.File{Path: path, Link: g.link(path)}
	case (g.theme == "text" || g.theme == "long" || g.theme == "legacy") && kind < 7 || kind == 2:
		g.text(&f)
	case g.theme == "binary" && kind < 8 || kind == 3:
		g.binary(&f)
	default:
		// Few contents, so that conflicting packages often agree.
		f.Content = pick(g, "one\n", "two\n", "three\n", "no line end", "\x00binary\xff")
	}
	return f
}

func (g *generator) link(path string) string {
	up := strings.Repeat("../", strings.Count(path, "/"))
	return pick(g, up+"bin/tool", "nowhere", up+"lib/libshared.so", "./sibling", up+"share/doc", "/etc/hostname", "../../../../outside", "b c ü")
}

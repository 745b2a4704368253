package lockinfo

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// Known tells how many files a package brings that a store knows, by sha256.
type Known func(sha256 string) (files int, ok bool)

// Describe says what a lock holds. format is what the file is called; known may
// be nil.
func Describe(lock *lockfile.Lock, format string, known Known) *Report {
	if known == nil {
		known = func(string) (int, bool) { return 0, false }
	}
	r := &Report{Format: format, Digest: lock.Digest, Environments: []Environment{}, Warnings: []string{}}
	for _, env := range lock.Environments {
		e := Environment{Name: env.Name, Channels: env.Channels, Other: env.Skipped, Platforms: []Platform{}}
		for _, p := range env.Platforms {
			e.Platforms = append(e.Platforms, describe(p, known))
		}
		e.Warnings = append(skew(env), deadLabels(env)...)
		r.Environments = append(r.Environments, e)
	}
	return r
}

func describe(p *lockfile.Platform, known Known) Platform {
	out := Platform{
		Name: p.Name, Subdir: p.Subdir, Conda: len(p.Conda), PyPI: len(p.PyPI),
		Requirements: requirements(p), Stack: stack(p),
	}
	count := func(sha256 string, size int64) {
		if size > 0 {
			out.Bytes += size
		} else {
			out.UnknownSizes++
		}
		files, ok := 0, false
		if sha256 != "" {
			files, ok = known(sha256)
		}
		if !ok {
			files, out.Estimated = GuessFiles(size), true
		}
		out.Files += files
	}
	for _, c := range p.Conda {
		count(c.SHA256, c.Size)
	}
	if p.Python != nil {
		count(p.Python.SHA256, 0)
	}
	for _, w := range p.Installed() { // source trees are not fetched
		count(w.SHA256, w.Size)
	}
	for _, t := range lockfile.SourceTrees(p) {
		out.Trees = append(out.Trees, fmt.Sprintf("%s (%s)", t.Name, lockfile.RedactURL(t.Location)))
	}
	var problems *lockfile.ProblemsError
	if errors.As(p.Supported(), &problems) {
		out.Unsupported = problems.Problems
	}
	out.Warnings = warnings(p, out.Stack)
	return out
}

// requirements collects the match specs over virtual packages.
func requirements(p *lockfile.Platform) []Requirement {
	type key struct {
		spec string
		only bool
	}
	by := map[key]map[string]bool{}
	add := func(k key, pkg string) {
		if by[k] == nil {
			by[k] = map[string]bool{}
		}
		if pkg != "" {
			by[k][pkg] = true
		}
	}
	for _, v := range p.VirtualPackages {
		add(key{spec: v}, "")
	}
	for _, c := range p.Conda {
		for _, d := range c.Depends {
			if strings.HasPrefix(d, "__") {
				add(key{spec: d}, c.Name)
			}
		}
		for _, d := range c.Constrains {
			if strings.HasPrefix(d, "__") {
				add(key{d, true}, c.Name)
			}
		}
	}
	out := []Requirement{}
	for k, pkgs := range by {
		r := Requirement{Spec: k.spec, If: k.only}
		for name := range pkgs {
			r.Packages = append(r.Packages, name)
		}
		slices.Sort(r.Packages)
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Requirement) int {
		if c := cmp.Compare(a.Spec, b.Spec); c != 0 {
			return c
		}
		if a.If == b.If {
			return 0
		}
		if a.If {
			return 1
		}
		return -1
	})
	return out
}

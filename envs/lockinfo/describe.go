package lockinfo

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/requirement"
	"github.com/hpcenv/hpcenv/envs/stack"
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
		Requirements: requirements(p), Stack: stack.Parts(p),
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

// requirements are those that the lock states: match specs over virtual packages.
func requirements(p *lockfile.Platform) []Requirement {
	out := []Requirement{}
	for _, r := range requirement.Of(p, nil) {
		if r.Source == requirement.Wheel || r.Source == requirement.CUDA {
			continue // file names, versions and the packages' list say it
		}
		q := Requirement{Spec: r.Spec, If: r.Source == requirement.Constrains}
		for _, pkg := range r.Packages {
			name, _, _ := strings.Cut(pkg, " ")
			if !slices.Contains(q.Packages, name) {
				q.Packages = append(q.Packages, name)
			}
		}
		slices.Sort(q.Packages)
		out = append(out, q)
	}
	return merge(out)
}

// merge joins what a platform and its packages ask alike: the lists are sorted by
// spec.
func merge(all []Requirement) []Requirement {
	out := all[:0]
	for _, r := range all {
		if n := len(out); n > 0 && out[n-1].Spec == r.Spec && out[n-1].If == r.If {
			out[n-1].Packages = append(out[n-1].Packages, r.Packages...)
			continue
		}
		out = append(out, r)
	}
	return out
}

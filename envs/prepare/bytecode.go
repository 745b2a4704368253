package prepare

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/bytecode"
	"github.com/hpcenv/hpcenv/envs/lockfile"
)

// wantByteCode tells whether the environments of a lock are made with byte-code:
// a value of Index.ByteCode.
func (r *run) wantByteCode(lock *lockfile.Lock) string {
	python := slices.ContainsFunc(lock.Environments, func(e *lockfile.Environment) bool {
		return slices.ContainsFunc(e.Platforms, func(p *lockfile.Platform) bool { return pythonOf(p) != nil })
	})
	switch {
	case !python:
		return ""
	case r.sandboxed():
		return lockfile.ByteCodeYes
	default:
		return lockfile.ByteCodeNo
	}
}

// sandboxed tells whether byte-code is wanted and this host has a sandbox for
// compiling it. Where it has none environments are made without, under the ids
// that environments without byte-code have, and the user is told.
func (r *run) sandboxed() bool {
	if r.deps.NoByteCode || r.deps.Sandbox == nil {
		return false
	}
	if err := r.deps.Sandbox.Available(); err != nil {
		r.note(fmt.Sprintf("environments are made without byte-code, so that Python starts slower: %v; once that is mended, preparing again makes them with it", err))
		return false
	}
	return true
}

// note keeps a note for the user, once.
func (r *run) note(text string) {
	if !slices.Contains(r.notes, text) {
		r.notes = append(r.notes, text)
	}
}

// hostSubdir is the platform whose programs this host runs.
func hostSubdir() string {
	if runtime.GOARCH == "arm64" {
		return "linux-aarch64"
	}
	return "linux-64"
}

// pythonOf is a platform's Python: its own, or the package python; nil = none.
func pythonOf(p *lockfile.Platform) *locked {
	if p.Python != nil {
		return &locked{python: p.Python}
	}
	for _, c := range p.Conda {
		if c.Name == "python" {
			return &locked{conda: c}
		}
	}
	return nil
}

// version of a Python.
func (l *locked) version() string {
	if l.python != nil {
		return l.python.Version
	}
	return l.conda.Version
}

// compilerSubdir is the platform whose Python compiles for all others, if it is
// of the same version: byte-code does not depend on the architecture.
const compilerSubdir = "linux-64"

// chooseCompiler decides whose Python compiles for a platform of env: that of
// linux-64 if it has the same full version, else its own. Without one that host
// can run, the answer is nil and the reason.
func chooseCompiler(env *lockfile.Environment, p *lockfile.Platform, host string) (*lockfile.Platform, string) {
	own := pythonOf(p)
	if own == nil {
		return nil, ""
	}
	var tried []string
	if x86, err := env.Platform(compilerSubdir); err == nil {
		switch c := pythonOf(x86); {
		case c == nil:
			tried = append(tried, "the lock has no python for "+compilerSubdir)
		case c.version() != own.version():
			tried = append(tried, fmt.Sprintf("the lock's python for %s is %s, not %s", compilerSubdir, c.version(), own.version()))
		case host == compilerSubdir:
			return x86, ""
		}
	} else {
		tried = append(tried, "the lock has no packages for "+compilerSubdir)
	}
	if p.Subdir == host {
		return p, ""
	}
	return nil, strings.Join(append(tried, fmt.Sprintf("this host (%s) cannot run the python of %s", host, p.Subdir)), ", and ")
}

// compilerPackages are python first and then, by name, what it needs of its own
// architecture.
func compilerPackages(p *lockfile.Platform) []locked {
	if p == nil {
		return nil
	}
	if p.Python != nil {
		return []locked{{python: p.Python}} // it has all that it needs
	}
	byName := map[string]*lockfile.CondaPackage{}
	for _, c := range p.Conda {
		byName[c.Name] = c
	}
	python := pythonOf(p).conda
	need, seen := []*lockfile.CondaPackage{python}, map[string]bool{python.Name: true}
	for i := 0; i < len(need); i++ {
		for _, spec := range need[i].Depends {
			name := spec
			if i := strings.IndexAny(spec, " =<>!~["); i >= 0 {
				name = spec[:i]
			}
			c := byName[name]
			if c == nil || seen[name] || c.Noarch != "" || c.Subdir == "noarch" {
				continue
			}
			seen[name] = true
			need = append(need, c)
		}
	}
	slices.SortFunc(need[1:], func(a, b *lockfile.CondaPackage) int { return strings.Compare(a.Name, b.Name) })
	var out []locked
	for _, c := range need {
		out = append(out, locked{conda: c})
	}
	return out
}

// interpreter describes a platform's Python; nil where there is no platform.
func interpreter(p *lockfile.Platform, manifests map[string]*cache.Manifest) *bytecode.Interpreter {
	if p == nil {
		return nil
	}
	in := &bytecode.Interpreter{Version: pythonOf(p).version()}
	for _, c := range compilerPackages(p) {
		m := manifests[c.sha256()]
		if m == nil {
			return nil // no byte-code was wanted, so nothing was obtained
		}
		in.Packages = append(in.Packages, m)
	}
	return in
}

// CompilerSources are the archives of other platforms that making p may need on
// whatever host: those of the Python that compiles for it.
func CompilerSources(env *lockfile.Environment, p *lockfile.Platform) (out []cache.Source, err error) {
	for _, host := range []string{"linux-64", "linux-aarch64"} {
		c, _ := chooseCompiler(env, p, host)
		if c == nil || c == p {
			continue
		}
		// Others than p's own are always those of compilerSubdir.
		for _, l := range compilerPackages(c) {
			src, err := l.source()
			if err != nil {
				return nil, err
			}
			out = append(out, src)
		}
		return out, nil
	}
	return nil, nil
}

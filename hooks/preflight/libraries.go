package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/needs"
)

// program: the environment's own program starts. What it lacks keeps everything else of
// the environment from running, too.
func program(_ context.Context, in *Input) ([]Finding, error) {
	p, err := in.start()
	if p == nil || err != nil || in.Needs.Prefix.Program == "" {
		return nil, err
	}
	file := in.Needs.Prefix.Program
	if p.space != nil {
		return []Finding{{ID: "program", Level: Fits, Evidence: file + " has all the libraries that it needs", File: file}}, nil
	}
	f := Finding{ID: "program", Level: Unfit, File: file, Evidence: in.lack(p.verdict, ""), Act: User,
		Next: "add the package that has the library to the manifest (pixi add), or ask the administrator to install it on the nodes"}
	if path, set := in.lookup("LD_LIBRARY_PATH"); set && path != "" {
		without, _, err := p.begin("")
		if err != nil {
			return nil, err
		}
		if without != nil {
			f.Evidence += "; without LD_LIBRARY_PATH=" + path + " it would start"
			f.Next = "unset LD_LIBRARY_PATH, or the module that sets it, before the environment's programs start"
		}
	}
	if in.preloaded() {
		f.Level = Warn
		f.Evidence += "; LD_PRELOAD, whose libraries were not looked at, may have it"
	}
	return []Finding{in.settable(f)}, nil
}

// maxNamed bounds what one message names; the others are counted.
const maxNamed = 4

// libraries: what the environment's files need of the node is there. What only modules
// need is modules.go's, and what the program needs is above.
func libraries(_ context.Context, in *Input) ([]Finding, error) {
	p, err := in.start()
	if p == nil || p.space == nil || err != nil {
		return nil, err
	}
	f := Finding{ID: "libraries", Level: Fits}
	var lacks []string
	for i := range in.Needs.Libraries {
		l := &in.Needs.Libraries[i]
		if l.Module {
			continue
		}
		lack, err := p.lacks(l)
		if err != nil {
			return nil, err
		}
		if lack == "" {
			continue
		}
		lacks = append(lacks, lack)
		f.Packages = append(f.Packages, packages(l.Package)...)
		if f.File == "" {
			f.File = l.File
		}
	}
	if len(lacks) == 0 {
		if len(in.Needs.Libraries) == 0 {
			return nil, nil
		}
		f.Evidence = "has the libraries that the environment's files need of a node"
		return []Finding{f}, nil
	}
	slices.Sort(f.Packages)
	f.Packages = slices.Compact(f.Packages)
	f.Level, f.Act = Warn, User
	f.Evidence = enumerate(lacks) + ": programs that use it will not start"
	f.Next = "add the package that has the library to the manifest (pixi add), or ask the administrator to install it on the nodes"
	return []Finding{f}, nil
}

// lacks says what of a library is not there; "" = it is there, or stands for hardware
// that the node does not have either.
func (p *process) lacks(l *needs.Library) (string, error) {
	who := by(l.File, l.Package)
	if l.Files > 1 {
		who += fmt.Sprintf(" and %d more files", l.Files-1)
	}
	found, err := p.space.Find(l.Name)
	switch {
	case err != nil:
		return "", err
	case found == nil:
		if lackingOf(l.Name).expected(p.in) {
			return "", nil
		}
		return who + " needs " + l.Name + ", which neither the environment nor " + p.in.name() + " provides", nil
	case found.Facts == nil:
		return who + " needs " + l.Name + ", and " + p.in.short(found.Path) + " cannot be loaded: " + found.Why, nil
	}
	// The C library's versions are a requirement of their own (__glibc).
	if l.Version == "" || strings.HasPrefix(l.Version, "GLIBC_") || !found.Facts.Versioned || slices.Contains(found.Facts.Defines, l.Version) {
		return "", nil
	}
	return who + " needs " + l.Version + ", which " + p.in.short(found.Path) + " does not have", nil
}

// enumerate joins what a message names.
func enumerate(list []string) string {
	if n := len(list) - maxNamed; n > 0 {
		return fmt.Sprintf("%s; and %d more", strings.Join(list[:maxNamed], "; "), n)
	}
	return strings.Join(list, "; ")
}

// cxxLibrary has the versions of needs.Runtime.
const cxxLibrary = "libstdc++.so.6"

// cxxRuntime: the node's C++ library has the versions that nothing in the environment has.
func cxxRuntime(_ context.Context, in *Input) ([]Finding, error) {
	p, err := in.start()
	if p == nil || p.space == nil || err != nil || len(in.Needs.Runtime) == 0 {
		return nil, err
	}
	found, err := p.space.Find(cxxLibrary)
	if err != nil || found == nil || found.Facts == nil {
		return nil, err // libraries has said so
	}
	var lacks []string
	f := Finding{ID: "runtime", Level: Warn, Act: User, Next: "add libstdcxx to the manifest (pixi add libstdcxx), so that the environment brings its own"}
	for _, r := range in.Needs.Runtime {
		if slices.Contains(found.Facts.Defines, r.Name) {
			continue
		}
		lacks = append(lacks, by(r.File, r.Package)+" needs "+r.Name)
		f.Packages = append(f.Packages, packages(r.Package)...)
		if f.File == "" {
			f.File = r.File
		}
	}
	if len(lacks) == 0 {
		return []Finding{{ID: "runtime", Level: Fits, Evidence: in.short(found.Path) + " has the versions that the environment's files need"}}, nil
	}
	f.Evidence = enumerate(lacks) + ", which " + in.short(found.Path) + " does not have: what needs it will not load"
	return []Finding{f}, nil
}

package loader

import (
	"slices"
	"strings"
)

// object is what is loaded into a process.
type object struct {
	// path as the loader opened it; "" of the program itself.
	path string
	// origin is what $ORIGIN stands for in it.
	origin string
	*opened
	// names under which it was asked for.
	names []string
	// loader is the object that it was loaded for; nil of the program.
	loader *object
	// program: it is the process's program.
	program bool
}

// known tells whether a name means this object.
func (o *object) known(name string) bool {
	if o.path == name && name != "" {
		return true
	}
	return slices.Contains(o.names, name)
}

// hit is what a search ended with.
type hit struct {
	path string
	*opened
	// broken names a file at which the loader ends with an error, and why.
	broken, why string
}

// find looks for a library that by needs. It returns nil if there is none.
func (p *Space) find(name string, by *object) (*hit, error) {
	if strings.Contains(name, "/") {
		return p.try(p.system.expand(name, by.origin))
	}
	for _, search := range []func(string, *object) (*hit, error){p.inRPath, p.inLibraryPath, p.inRunPath, p.inCache, p.inDefault} {
		if h, err := search(name, by); h != nil || err != nil {
			return h, err
		}
	}
	return nil, nil
}

// try opens one path, which stays as the loader knows it, relative or not. nil: there is no file, or one for another machine.
func (p *Space) try(at string) (*hit, error) {
	o, ok, err := p.system.open(absolute(at, p.Dir))
	switch {
	case err != nil || !ok || o.other:
		return nil, err
	case o.broken != "":
		return &hit{broken: at, why: o.broken}, nil
	}
	return &hit{path: at, opened: o}, nil
}

// in tries directories in turn, in each first what is for the node's processor.
func (p *Space) in(dirs []string, name string) (*hit, error) {
	for _, dir := range dirs {
		if dir != "" {
			dir = strings.TrimRight(dir, "/") + "/"
		}
		for _, level := range p.system.HWCaps {
			if h, err := p.try(dir + "glibc-hwcaps/" + level + "/" + name); h != nil || err != nil {
				return h, err
			}
		}
		if h, err := p.try(dir + name); h != nil || err != nil {
			return h, err
		}
	}
	return nil, nil
}

// inRPath: an object's RPATH serves what it needs and what those need whom it
// loaded, unless the one that needs it has a RUNPATH.
func (p *Space) inRPath(name string, by *object) (*hit, error) {
	if by.facts.HasRunPath {
		return nil, nil
	}
	program := false
	for o := by; o != nil; o = o.loader {
		if o.facts.HasRunPath {
			continue
		}
		program = program || o.program
		if h, err := p.in(p.system.dirs(o.facts.RPath, ":", o.origin), name); h != nil || err != nil {
			return h, err
		}
	}
	if m := p.objects[0]; !program && m.program && !m.facts.HasRunPath {
		return p.in(p.system.dirs(m.facts.RPath, ":", m.origin), name)
	}
	return nil, nil
}

func (p *Space) inLibraryPath(name string, _ *object) (*hit, error) {
	return p.in(p.libraryDirs, name)
}

// inRunPath: an object's RUNPATH serves what it needs itself, no more.
func (p *Space) inRunPath(name string, by *object) (*hit, error) {
	if !by.facts.HasRunPath {
		return nil, nil
	}
	return p.in(p.system.dirs(by.facts.RunPath, ":", by.origin), name)
}

func (p *Space) inCache(name string, by *object) (*hit, error) {
	at := p.system.fromCache(name)
	if at == "" {
		return nil, nil
	}
	if by.facts.NoDefaultLib {
		for _, dir := range p.system.DefaultDirs {
			if strings.HasPrefix(at, dir+"/") {
				return nil, nil
			}
		}
	}
	return p.try(at)
}

func (p *Space) inDefault(name string, by *object) (*hit, error) {
	if by.facts.NoDefaultLib {
		return nil, nil
	}
	return p.in(p.system.DefaultDirs, name)
}

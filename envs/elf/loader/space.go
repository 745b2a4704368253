package loader

import (
	"fmt"
	"slices"

	"github.com/hpcenv/hpcenv/envs/elf"
)

// Process is how a program starts.
type Process struct {
	// Program is its path on the node; "" = none in particular: one that needs nothing.
	Program string
	// LibraryPath is its LD_LIBRARY_PATH.
	LibraryPath string
	// Dir is its working directory; "" = /.
	Dir string
}

// Space is what is loaded into a process. It is for one goroutine.
type Space struct {
	Process
	system      *System
	libraryDirs []string
	objects     []*object // in the order of loading, the program first
}

// kernelLibrary is what the kernel puts into every process (vDSO), by machine.
var kernelLibrary = map[string]string{"x86_64": "linux-vdso.so.1", "aarch64": "linux-vdso.so.1", "ppc64le": "linux-vdso64.so.1"}

// Start loads a program with all that it needs. The space is nil if it does not
// start; the verdict says why. Errors are the storage's.
func (s *System) Start(process Process) (*Space, Verdict, error) {
	if process.Dir == "" {
		process.Dir = "/"
	}
	p := &Space{Process: process, system: s}
	if process.Program == "" {
		return s.startNothing(p)
	}
	unloadable := func(file, why string) (*Space, Verdict, error) {
		return nil, Verdict{Problem: Unloadable, Missing: file, Why: why}, nil
	}
	program, ok, err := s.open(process.Program)
	switch {
	case err != nil:
		return nil, Verdict{}, fmt.Errorf("program %s: %w", process.Program, err)
	case !ok:
		return nil, Verdict{Problem: NoLibrary, Missing: process.Program}, nil
	case program.other:
		return unloadable(process.Program, "it is for another machine")
	case program.broken != "":
		return unloadable(process.Program, program.broken)
	case program.facts.Interpreter == "":
		return unloadable(process.Program, "it is static: it loads no libraries")
	}
	interpreter, ok, err := s.open(program.facts.Interpreter)
	switch {
	case err != nil:
		return nil, Verdict{}, fmt.Errorf("loader of %s: %w", process.Program, err)
	case !ok || interpreter.facts == nil:
		return nil, Verdict{Problem: NoLibrary, Missing: program.facts.Interpreter, Chain: []string{process.Program}}, nil
	}
	real, err := s.files.resolve(process.Program) // as the kernel knows it
	if err != nil {
		return nil, Verdict{}, err
	}
	main := &object{opened: program, origin: dirOf(real), program: true}
	p.objects = []*object{main, s.ownObject(program.facts.Interpreter, interpreter)}
	p.libraryDirs = s.dirs(process.LibraryPath, ":;", main.origin)
	v, err := p.closure(main, len(p.objects), false)
	if err != nil || !v.Loads {
		return nil, v, err
	}
	return p, v, nil
}

// startNothing is a process of a program that needs nothing and opens what it is told.
func (s *System) startNothing(p *Space) (*Space, Verdict, error) {
	interpreter, ok, err := s.open(s.Interpreter)
	if err != nil {
		return nil, Verdict{}, err
	}
	if !ok || interpreter.facts == nil {
		return nil, Verdict{Problem: NoLibrary, Missing: s.Interpreter}, nil
	}
	p.objects = []*object{{origin: "/", program: true, opened: &opened{facts: &elf.Facts{}}}, s.ownObject(s.Interpreter, interpreter)}
	p.libraryDirs = s.dirs(p.LibraryPath, ":;", "/")
	return p, Verdict{Loads: true}, nil
}

// ownObject is the loader, and what the kernel adds to it, in a process.
func (s *System) ownObject(at string, o *opened) *object {
	return &object{path: at, origin: dirOf(at), opened: o, names: []string{at, kernelLibrary[s.Machine]}}
}

// Judge says what dlopen would for the file of a name or path, and leaves the
// process as it was. Errors are the storage's.
func (p *Space) Judge(name string) (Verdict, error) { return p.Copy().Open(name) }

// Copy is a process in the same state, which then goes its own way.
func (p *Space) Copy() *Space {
	// Names that libraries get on the way are the copy's alone, too.
	copied := *p
	copied.objects = make([]*object, len(p.objects))
	at := make(map[*object]*object, len(p.objects))
	for i, o := range p.objects {
		c := *o
		c.names = slices.Clone(o.names)
		copied.objects[i], at[o] = &c, &c
	}
	for _, o := range copied.objects {
		o.loader = at[o.loader]
	}
	return &copied
}

// Found is a library that the loader takes for a name.
type Found struct {
	// Path on the node as the loader has it.
	Path string
	// Facts of the file; nil = it is none that can be loaded, Why says why.
	Facts *elf.Facts
	Why   string
}

// Find is the library that the program would get for a name, whether or not what that
// needs is there; nil = there is none. Errors are the storage's.
func (p *Space) Find(name string) (*Found, error) {
	for _, o := range p.objects {
		if o.known(name) || o.facts.SOName == name && name != "" && !o.program {
			return &Found{Path: o.path, Facts: o.facts}, nil
		}
	}
	h, err := p.find(name, p.objects[0])
	switch {
	case h == nil || err != nil:
		return nil, err
	case h.broken != "":
		return &Found{Path: h.broken, Why: h.why}, nil
	}
	if why := p.system.refused(h.facts, true); why != "" {
		return &Found{Path: h.path, Why: why}, nil
	}
	return &Found{Path: h.path, Facts: h.facts}, nil
}

// Open is dlopen: it loads the file of a name or path with all that it needs into
// the process, or nothing if something is missing.
func (p *Space) Open(name string) (Verdict, error) {
	main, before := p.objects[0], len(p.objects)
	o, v, err := p.load(name, main, true)
	if o == nil || err != nil {
		return v, err
	}
	if len(p.objects) == before {
		return Verdict{Loads: true}, nil // it is loaded
	}
	v, err = p.closure(o, before, true)
	if err != nil || !v.Loads {
		p.objects = p.objects[:before]
	}
	return v, err
}

// load finds one library that by needs, if it is not loaded. The object is nil if
// that fails; the verdict then says why, without a chain.
func (p *Space) load(name string, by *object, dlopen bool) (*object, Verdict, error) {
	for _, o := range p.objects {
		if o.known(name) {
			return o, Verdict{}, nil
		}
		if o.facts.SOName == name && name != "" && !o.program {
			o.names = append(o.names, name)
			return o, Verdict{}, nil
		}
	}
	h, err := p.find(name, by)
	switch {
	case err != nil:
		return nil, Verdict{}, err
	case h == nil:
		return nil, Verdict{Problem: NoLibrary, Missing: name}, nil
	case h.broken != "":
		return nil, Verdict{Problem: Unloadable, Missing: h.broken, Why: h.why}, nil
	}
	for _, o := range p.objects {
		if o.opened == h.opened || o.dev == h.dev && o.ino == h.ino && o.ino != 0 {
			o.names = append(o.names, name)
			return o, Verdict{}, nil
		}
	}
	if why := p.system.refused(h.facts, dlopen); why != "" {
		return nil, Verdict{Problem: Unloadable, Missing: h.path, Why: why}, nil
	}
	o := &object{path: h.path, origin: dirOf(absolute(h.path, p.Dir)), opened: h.opened, names: []string{name}, loader: by}
	p.objects = append(p.objects, o)
	return o, Verdict{}, nil
}

// closure loads all that first needs, breadth first, and checks the versions of
// what is loaded from fresh on.
func (p *Space) closure(first *object, fresh int, dlopen bool) (Verdict, error) {
	queue := []*object{first}
	seen := map[*object]bool{first: true}
	for i := 0; i < len(queue); i++ {
		by := queue[i]
		for _, name := range by.facts.Needed {
			o, v, err := p.load(p.system.expand(name, by.origin), by, dlopen)
			if err != nil {
				return Verdict{}, err
			}
			if o == nil {
				v.Chain = p.chain(by, first)
				return v, nil
			}
			if !seen[o] {
				seen[o] = true
				queue = append(queue, o)
			}
		}
	}
	isNew := map[*object]bool{}
	for _, o := range p.objects[min(fresh, len(p.objects)):] {
		isNew[o] = true
	}
	for _, o := range queue {
		if !isNew[o] && o != first {
			continue
		}
		if v := p.versions(o); v != nil {
			v.Chain = p.chain(o, first)
			return *v, nil
		}
	}
	v := Verdict{Loads: true}
	for _, o := range queue[1:] {
		if isNew[o] {
			v.Loaded = append(v.Loaded, Loaded{o.names[0], o.path})
		}
	}
	return v, nil
}

// versions checks that what an object needs is defined; nil: it is. A library
// without versions has every one, as the loader has it.
func (p *Space) versions(o *object) *Verdict {
	for _, need := range o.facts.Needs {
		i := slices.IndexFunc(p.objects, func(l *object) bool { return l.known(need.Library) })
		if i < 0 || !p.objects[i].facts.Versioned {
			continue
		}
		for _, v := range need.Versions {
			if !v.Weak && !slices.Contains(p.objects[i].facts.Defines, v.Name) {
				return &Verdict{Problem: NoVersion, Missing: v.Name, In: p.objects[i].path}
			}
		}
	}
	return nil
}

// chain of files from first to o.
func (p *Space) chain(o, first *object) (files []string) {
	for ; o != nil; o = o.loader {
		name := o.path
		if o.program {
			name = p.Program
		}
		files = append([]string{name}, files...)
		if o == first {
			break
		}
	}
	return files
}

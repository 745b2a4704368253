package preflight

import (
	"path"
	"strings"

	"github.com/hpcenv/hpcenv/envs/elf/loader"
	"github.com/hpcenv/hpcenv/envs/needs"
	"github.com/hpcenv/hpcenv/hooks/facts"
)

// process is the environment's program as the node's loader would start it, and what
// became of each module. Nothing is started.
type process struct {
	in     *Input
	system *loader.System
	// space is the process; nil = it does not start, and verdict says why.
	space   *loader.Space
	verdict loader.Verdict
	modules []judged
	// err: nothing can be said. told: a check has said so.
	err  error
	told bool
}

// judged is a module on this node.
type judged struct {
	needs.Module
	loader.Verdict
}

// start is the process; nil = nothing is known of the environment, or of how the node
// loads libraries. The error of the latter is told to one caller.
func (in *Input) start() (*process, error) {
	if in.Needs == nil || in.Facts == nil {
		return nil, nil
	}
	if in.process == nil {
		in.process = &process{in: in}
		in.process.err = in.process.load()
	}
	p := in.process
	if p.err != nil {
		if p.told {
			return nil, nil
		}
		p.told = true
		return nil, p.err
	}
	return p, nil
}

func (p *process) load() (err error) {
	in := p.in
	known := in.Needs.Prefix
	root := loader.Root{Dir: in.Root, Recorded: &loader.Recorded{At: in.Prefix, Dirs: known.Dirs, Links: known.Links, Objects: known.Objects}}
	p.system, err = loader.Open(root, loader.Options{Machine: in.Facts.Machine, PageSize: uint64(max(in.Facts.PageSize, 0)), HWCaps: hwcaps(in.Facts.CPU.Level, in.Facts.Glibc), Platform: platform(in.Facts)})
	if err != nil {
		return err
	}
	libraryPath, _ := in.lookup("LD_LIBRARY_PATH")
	if p.space, p.verdict, err = p.begin(libraryPath); err != nil || p.space == nil {
		return err
	}
	for _, m := range in.Needs.Modules {
		v, err := p.open(p.space, path.Join(in.Prefix, m.Path))
		if err != nil {
			return err
		}
		p.modules = append(p.modules, judged{m, v})
	}
	return nil
}

// begin starts the program with a path of libraries.
func (p *process) begin(libraryPath string) (*loader.Space, loader.Verdict, error) {
	start := loader.Process{LibraryPath: libraryPath}
	if program := p.in.Needs.Prefix.Program; program != "" {
		start.Program = path.Join(p.in.Prefix, program)
	}
	return p.system.Start(start)
}

// open is what becomes of a module, when those who open it are loaded: they lie in the
// directory above it, and their libraries beside them. The process stays as it is.
func (p *process) open(space *loader.Space, module string) (loader.Verdict, error) {
	v, err := space.Judge(module)
	if err != nil || v.Problem != loader.NoLibrary {
		return v, err
	}
	opener := path.Dir(path.Dir(module))
	copied := space.Copy()
	for range maxOpeners {
		beside := p.beside(opener, v.Missing)
		if beside == "" {
			return v, nil
		}
		opened, err := copied.Open(beside)
		switch {
		case err != nil:
			return v, err
		case opened.Problem == loader.NoLibrary && opened.Missing != v.Missing && p.beside(opener, opened.Missing) != "":
			// A library of the opener itself, which was built without a path to it.
			if opened, err = copied.Open(p.beside(opener, opened.Missing)); err != nil || !opened.Loads {
				return v, err
			}
			continue
		case !opened.Loads:
			return opened, nil
		}
		if v, err = copied.Judge(module); err != nil || v.Problem != loader.NoLibrary {
			return v, err
		}
	}
	return v, nil
}

// maxOpeners bounds the libraries of what opens a module.
const maxOpeners = 16

// beside is a library of that name in a directory of the prefix; "" = it has none.
func (p *process) beside(dir, name string) string {
	rel, ok := p.in.inPrefix(dir)
	if !ok || strings.Contains(name, "/") {
		return ""
	}
	known, at := &p.in.Needs.Prefix, path.Join(rel, name)
	if _, link := known.Links[at]; !link && known.Objects[at] == nil {
		return ""
	}
	return path.Join(dir, name)
}

// inPrefix is a file's path below the prefix. The loader's own paths (a/../b) are made
// short.
func (in *Input) inPrefix(file string) (rel string, ok bool) {
	file = path.Clean(file)
	rest, ok := strings.CutPrefix(file, path.Clean(in.Prefix)+"/")
	if !ok {
		return file, false
	}
	return rest, true
}

// short is a path for messages: below the prefix if it lies there.
func (in *Input) short(file string) string {
	rel, _ := in.inPrefix(file)
	return rel
}

// lookup is a variable of the process that is to run.
func (in *Input) lookup(name string) (string, bool) {
	if in.Env == nil {
		return "", false
	}
	return in.Env(name)
}

// name of the node for messages.
func (in *Input) name() string {
	if in.Node == "" {
		return "the node"
	}
	return in.Node
}

// lack says why a file of a package ("" = of none) does not load: "lib/ucx/libuct_ib.so
// (ucx 1.19.0) needs libibverbs.so.1, which neither the environment nor n7 provides".
func (in *Input) lack(v loader.Verdict, pkg string) string {
	var chain []string
	for i, file := range v.Chain {
		if file = in.short(file); i == 0 {
			file = by(file, pkg)
		}
		chain = append(chain, file)
	}
	by := strings.Join(chain, " → ")
	switch {
	case v.Problem == loader.NoLibrary && by == "":
		return in.short(v.Missing) + " is not there"
	case v.Problem == loader.NoLibrary:
		return by + " needs " + v.Missing + ", which neither the environment nor " + in.name() + " provides"
	case v.Problem == loader.NoVersion:
		return by + " needs " + v.Missing + ", which " + in.short(v.In) + " does not have"
	case by == "":
		return in.short(v.Missing) + " cannot be loaded: " + v.Why
	}
	return by + " needs " + in.short(v.Missing) + ", which cannot be loaded: " + v.Why
}

// hwcaps are the directories for the processor that the node's loader knows: glibc has
// them since 2.33.
func hwcaps(level int, glibc string) []string {
	major, minor, ok := strings.Cut(glibc, ".")
	if ok && major == "2" && len(minor) == 2 && minor < "33" || ok && len(minor) == 1 {
		return nil
	}
	return loader.X86Levels(level)
}

// platform is what $PLATFORM stands for on a node; "" = the machine's name.
func platform(f *facts.Facts) string {
	if f.Machine != "x86_64" {
		return ""
	}
	return loader.X86Platform(f.CPU.Vendor, f.CPU.Level)
}

// by is a file with its package for messages: "lib/libfoo.so (foo 1.2)".
func by(file, pkg string) string {
	if pkg == "" {
		return file
	}
	return file + " (" + pkg + ")"
}

// packages is a list of one, or none.
func packages(pkg string) []string {
	if pkg == "" {
		return nil
	}
	return []string{pkg}
}

package needs

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/elf"
)

// prefixOf is the part of a prefix that a loader can meet which starts its program and
// opens its modules.
//
// Which of several directories a name is found in depends on who loaded what before. So
// every name that any of the files needs is taken to be looked for in every directory
// that any of them searches: more than one process meets, never less.
func prefixOf(l *elf.Listing, facts map[string]*elf.Facts, modules []elf.Module) (Prefix, error) {
	r := &reach{
		Listing: l, facts: facts, names: map[string]bool{}, seen: map[string]bool{}, left: maxPlaces,
		out: Prefix{Dirs: map[string][]string{}, Links: map[string]string{}, Objects: map[string]*elf.Facts{}},
	}
	for _, name := range []string{"bin/python", "bin/python3"} {
		at, _, ok := l.Resolve(name)
		if f := facts[at]; ok && f != nil && f.Kind == elf.Executable {
			r.out.Program = at
			r.file(name)
			r.file(at)
			break
		}
	}
	for _, m := range modules {
		for _, at := range append([]string{m.Path}, m.Links...) {
			r.file(at)
		}
		// What opens it lies in the directory above, with libraries that are loaded by
		// then: modules in wheels have no path to them.
		if opener := path.Dir(path.Dir(m.Path)); opener != "." {
			r.dir(opener, r.nameList)
		}
	}
	r.follow()
	if r.left <= 0 {
		return Prefix{}, fmt.Errorf("%w: more than %d places to look for libraries in", ErrTooMuch, maxPlaces)
	}
	for dir, names := range r.out.Dirs {
		r.out.Dirs[dir] = slices.DeleteFunc(names, func(n string) bool { return !libraryName(n) && !r.names[n] })
	}
	if len(r.out.Objects) == 0 {
		return Prefix{}, nil
	}
	return r.out, nil
}

// ErrTooMuch: the files name more libraries and directories than any real environment.
var ErrTooMuch = errors.New("the environment's files name too much")

// maxPlaces bounds the names, times the directories that they are looked for in: ten
// thousand names in six hundred directories, which take some ten seconds.
const maxPlaces = 6 << 20

// reach is what was met so far.
type reach struct {
	*elf.Listing
	facts map[string]*elf.Facts
	out   Prefix
	// dirs that are searched, in the order in which they were met, and names that are
	// looked for there; queue are new ones.
	dirs     []string
	names    map[string]bool
	nameList []string
	queue    []string // files, as they were found
	seen     map[string]bool
	// left are the places that may still be looked at.
	left int
}

// file takes a file in under the path at which it is opened. Nothing is there, or it is
// no ELF file: whoever meets it reads it in the prefix.
//
// $ORIGIN is the directory of the path that was opened, not of where the file's own links
// lead. How that directory is spelled does not matter: what follows it is looked for
// where its links lead.
func (r *reach) file(at string) {
	if r.left--; r.left <= 0 {
		return
	}
	origin, passed, ok := r.Resolve(originOf(at))
	if !ok {
		return
	}
	r.pass(passed)
	at = origin + "/" + path.Base(at)
	real, passed, ok := r.Resolve(at)
	if !ok {
		return
	}
	r.pass(passed)
	r.list(path.Dir(real))
	facts := r.facts[real]
	if key := origin + "\x00" + real; facts != nil && !r.seen[key] {
		r.seen[key] = true
		r.out.Objects[real] = facts
		r.queue = append(r.queue, at)
	}
}

// originOf is the directory of a path.
func originOf(at string) string {
	if i := strings.LastIndexByte(at, '/'); i >= 0 {
		return at[:i]
	}
	return "."
}

func (r *reach) pass(links []string) {
	for _, link := range links {
		r.out.Links[link], _ = r.Link(link)
		r.list(path.Dir(link))
	}
}

// list notes the names in a directory, without links in its path.
func (r *reach) list(dir string) {
	if _, known := r.out.Dirs[dir]; !known {
		names, _ := r.Names(dir)
		r.out.Dirs[dir] = append([]string{}, names...)
	}
}

// follow goes on until no file brings a name or a directory that was not known.
func (r *reach) follow() {
	for len(r.queue) > 0 && r.left > 0 {
		at := r.queue[0]
		r.queue = r.queue[1:]
		real, _, _ := r.Resolve(at)
		facts, origin := r.facts[real], originOf(at)
		search := facts.RPath
		if facts.HasRunPath {
			search = facts.RunPath
		}
		for item := range strings.SplitSeq(search, ":") {
			if item == "" {
				continue // the working directory
			}
			for _, dir := range r.expand(item, origin) {
				r.dir(dir, r.nameList)
			}
		}
		for _, name := range facts.Needed {
			if strings.Contains(name, "/") {
				for _, at := range r.expand(name, origin) {
					r.file(at)
				}
				continue
			}
			if !r.names[name] {
				r.names[name] = true
				r.nameList = append(r.nameList, name)
				for _, dir := range slices.Clone(r.dirs) {
					r.file(dir + "/" + name)
				}
			}
		}
	}
}

// dir is searched from now on, for names that were met before.
func (r *reach) dir(at string, names []string) {
	if r.left--; r.left <= 0 {
		return
	}
	real, passed, ok := r.Resolve(at)
	r.pass(passed)
	if ok && slices.Contains(r.dirs, real) {
		return
	}
	if !ok {
		if clean := path.Clean(at); len(passed) == 0 && clean != ".." && !strings.HasPrefix(clean, "../") {
			r.out.Dirs[clean] = []string{} // the prefix does not have it
		}
		return
	}
	r.dirs = append(r.dirs, real)
	r.list(real)
	for _, name := range names {
		r.file(real + "/" + name)
	}
	const levels = "glibc-hwcaps"
	for _, level := range r.Subdirs(path.Join(real, levels)) {
		r.dir(real+"/"+levels+"/"+level, names)
	}
}

// libs are what $LIB stands for, on various distributions.
var libs = []string{"lib64", "lib", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"}

// expand gives the paths below the prefix that a search path, or a name, may mean.
func (r *reach) expand(item, origin string) (paths []string) {
	texts := []string{strings.ReplaceAll(item, "${LIB}", "$LIB")}
	if strings.Contains(texts[0], "$LIB") {
		var all []string
		for _, lib := range libs {
			all = append(all, strings.ReplaceAll(texts[0], "$LIB", lib))
		}
		texts = all
	}
	for _, text := range texts {
		rest, is := strings.CutPrefix(strings.ReplaceAll(text, "${ORIGIN}", "$ORIGIN"), "$ORIGIN")
		switch {
		case is && (rest == "" || rest[0] == '/'):
			paths = append(paths, origin+rest)
		case path.IsAbs(text):
			if below, under := r.Below(text); under {
				paths = append(paths, below)
			}
		}
	}
	return paths
}

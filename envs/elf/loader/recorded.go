package loader

import (
	"path"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/elf"
)

// Recorded is what is known of a directory of the node, such as a prefix on shared
// storage, so that it need not be read there. Paths are below At, with slashes, and
// "." for At itself. What it does not tell is read.
//
// The files of Objects are taken to be different files: none is a hard link of
// another one, of whatever name.
type Recorded struct {
	// At is the directory's path on the node; it is not a link itself.
	At string
	// Dirs: the sorted names in directories. What is not among a directory's names is
	// not there, as far as libraries are concerned; a subdirectory need not be among
	// them, except that of a directory that has names all of glibc-hwcaps/… that exist
	// have theirs, too.
	Dirs map[string][]string
	// Links: where symbolic links lead, as written.
	Links map[string]string
	// Objects are files and what is in them.
	Objects map[string]*elf.Facts
}

// hwcapsDir is the subdirectory that is tried in every directory.
const hwcapsDir = "glibc-hwcaps"

// record is a Recorded that can be asked.
type record struct {
	*Recorded
	at   string // the directory without links
	dirs map[string]bool
}

func newRecord(at string, known *Recorded) *record {
	r := &record{Recorded: known, at: at, dirs: map[string]bool{".": true}}
	above := func(dir string) {
		for ; !r.dirs[dir]; dir = path.Dir(dir) {
			r.dirs[dir] = true
		}
	}
	for dir := range known.Dirs {
		above(path.Clean(dir))
	}
	for file := range known.Objects {
		above(path.Dir(file))
	}
	return r
}

// below is the path within the recorded directory; ok is false elsewhere.
func (r *record) below(at string) (rel string, ok bool) {
	if at == r.at {
		return ".", true
	}
	rest, ok := strings.CutPrefix(at, r.at)
	if !ok || rest[0] != '/' {
		return "", false
	}
	return rest[1:], true
}

// look says what is at a path without links. known is false if it does not know.
func (r *record) look(at string, inner bool) (e entry, to string, known bool) {
	rel, ok := r.below(at)
	if !ok {
		// On the way to it, on a host on which nothing is attached.
		return directory, "", inner && strings.HasPrefix(r.at, at+"/")
	}
	if to, ok := r.Links[rel]; ok {
		return link, to, true
	}
	if r.dirs[rel] {
		return directory, "", true
	}
	if r.Objects[rel] != nil {
		return other, "", true
	}
	dir, name := path.Split(rel)
	names, ok := r.Dirs[strings.TrimSuffix(dir, "/")]
	if dir == "" {
		names, ok = r.Dirs["."]
	}
	if !ok {
		return nothing, "", false
	}
	if _, has := slices.BinarySearch(names, name); has {
		return nothing, "", false
	}
	return nothing, "", !inner || name == hwcapsDir || strings.HasSuffix(dir, hwcapsDir+"/")
}

// facts of a file; nil = they are not recorded.
func (r *record) facts(at string) *elf.Facts {
	rel, ok := r.below(at)
	if !ok {
		return nil
	}
	return r.Objects[rel]
}

package elf

import (
	"path"
	"slices"
	"strings"
)

// Listing is what lies in a prefix, without the prefix: regular files, symbolic links,
// and the directories that have some.
type Listing struct {
	// prefix is the path that links may name; "" = none does.
	prefix string
	files  map[string]bool
	links  map[string]string
	dirs   map[string][]name // sorted
}

// NewListing lists files, whose paths are clean and below a prefix that will be at the
// path prefix on nodes ("" = not known).
func NewListing(prefix string, files []File) *Listing {
	l := &Listing{prefix: prefix, files: make(map[string]bool, len(files)), links: map[string]string{}, dirs: map[string][]name{".": nil}}
	for _, f := range files {
		if f.Link != "" {
			l.links[f.Path] = f.Link
		} else {
			l.files[f.Path] = true
		}
		is := false // a directory
		for at := f.Path; ; at = path.Dir(at) {
			dir := path.Dir(at)
			_, known := l.dirs[dir]
			l.dirs[dir] = append(l.dirs[dir], name{path.Base(at), is})
			if known {
				break
			}
			is = true
		}
	}
	for _, names := range l.dirs {
		slices.SortFunc(names, func(a, b name) int { return strings.Compare(a.name, b.name) })
	}
	return l
}

// Names are those of the files and links in a directory, sorted; ok is false if there
// is no such directory. Links within its path are not followed.
func (l *Listing) Names(dir string) (files []string, ok bool) {
	names, ok := l.dirs[dir]
	for _, n := range names {
		if !n.dir {
			files = append(files, n.name)
		}
	}
	return files, ok
}

// Subdirs are the directories in a directory, sorted.
func (l *Listing) Subdirs(dir string) (dirs []string) {
	for _, n := range l.dirs[dir] {
		if n.dir {
			dirs = append(dirs, n.name)
		}
	}
	return dirs
}

// Links are where all symbolic links lead, as written, by path.
func (l *Listing) Links() map[string]string { return l.links }

// Link is where a symbolic link leads, as written; ok is false of anything else.
func (l *Listing) Link(at string) (to string, ok bool) {
	to, ok = l.links[at]
	return to, ok
}

// Resolve follows the links in a path of the prefix and returns the path without, and
// the links that were passed. ok is false if nothing is there, or if the path leads out
// of the prefix.
func (l *Listing) Resolve(file string) (at string, passed []string, ok bool) {
	left := strings.Split(file, "/")
	done := "."
	for len(left) > 0 {
		word := left[0]
		left = left[1:]
		switch word {
		case "", ".":
			continue
		case "..":
			if done == "." {
				return "", passed, false
			}
			done = path.Dir(done)
			continue
		}
		next := path.Join(done, word)
		to, is := l.links[next]
		if !is {
			_, dir := l.dirs[next]
			if !dir && (len(left) > 0 || !l.files[next]) {
				return "", passed, false
			}
			done = next
			continue
		}
		if passed = append(passed, next); len(passed) > maxLinks {
			return "", passed, false
		}
		if path.IsAbs(to) {
			below, under := l.Below(to)
			if !under {
				return "", passed, false
			}
			done, to = ".", below
		}
		left = append(strings.Split(to, "/"), left...)
	}
	return done, passed, true
}

// Below is where a path of nodes lies in the prefix.
func (l *Listing) Below(abs string) (string, bool) {
	if l.prefix == "" {
		return "", false
	}
	if abs == l.prefix {
		return ".", true
	}
	return strings.CutPrefix(abs, l.prefix+"/")
}

func (l *Listing) names(dir string) ([]name, error) {
	at, _, ok := l.Resolve(dir)
	if !ok {
		return nil, nil
	}
	return l.dirs[at], nil
}

func (l *Listing) real(file string) (string, error) {
	if at, _, ok := l.Resolve(file); ok {
		return at, nil
	}
	return file, nil
}

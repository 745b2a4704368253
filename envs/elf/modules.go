package elf

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

//go:embed modules.txt
var modulesText string

// maxDepth is how many directories ** stands for at most.
const maxDepth = 8

// Module is a file that is opened at run time.
type Module struct {
	// Of is what opens it: UCX, libfabric, OpenMPI …
	Of string `json:"of"`
	// Path below the prefix.
	Path string `json:"path"`
	// Links are the other names it has there: symbolic links that lead to it.
	Links []string `json:"links,omitempty"`
}

// place is one line of modules.txt.
type place struct{ of, pattern, source string }

var places = sync.OnceValue(func() []place {
	var all []place
	for line := range strings.Lines(modulesText) {
		text, source, _ := strings.Cut(strings.TrimSpace(line), "#")
		if f := strings.Fields(text); len(f) == 2 {
			all = append(all, place{f[0], f[1], strings.TrimSpace(source)})
		}
	}
	return all
})

// Modules are the files below the prefix that programs open at run time, by their
// places (modules.txt), sorted by path. Whether they are ELF files of the right
// machine is not looked at: who opens them does not either. A link that leads
// nowhere is a module, too: opening it fails. Errors are the storage's.
func Modules(prefix string) ([]Module, error) {
	modules, err := modulesIn(disk(prefix))
	if err != nil {
		return nil, fmt.Errorf("modules below %s: %w", prefix, err)
	}
	return modules, nil
}

// Modules is Modules of the listed prefix.
func (l *Listing) Modules() ([]Module, error) { return modulesIn(l) }

// folder is a prefix in which modules are looked for.
type folder interface {
	// names of what is in a directory; none if there is no such directory.
	names(dir string) ([]name, error)
	// real is where a file of the prefix lies, links followed; a link that leads
	// nowhere, or out of the prefix, is where it is itself.
	real(file string) (string, error)
}

// name is one in a directory. dir: it is a directory, no link to one.
type name struct {
	name string
	dir  bool
}

func modulesIn(prefix folder) ([]Module, error) {
	of := map[string]string{}
	for _, p := range places() {
		found, err := match(prefix, ".", strings.Split(p.pattern, "/"), 0)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.of, err)
		}
		for _, f := range found {
			if of[f] == "" {
				of[f] = p.of
			}
		}
	}
	modules := map[string]*Module{}
	links := map[string][]string{}
	for file, by := range of {
		at, err := prefix.real(file)
		if err != nil {
			return nil, err
		}
		if at != file {
			links[at] = append(links[at], file)
			if of[at] != "" {
				continue // found under its own name, too
			}
		}
		if modules[at] == nil {
			modules[at] = &Module{Of: by, Path: at}
		}
	}
	var all []Module
	for _, m := range modules {
		m.Links = links[m.Path]
		slices.Sort(m.Links)
		all = append(all, *m)
	}
	slices.SortFunc(all, func(a, b Module) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

// disk is a prefix on disk.
type disk string

func (d disk) real(file string) (string, error) {
	prefix := string(d)
	top, err := filepath.EvalSymlinks(prefix)
	if err != nil {
		return "", err
	}
	at, err := filepath.EvalSymlinks(filepath.Join(prefix, filepath.FromSlash(file)))
	if errors.Is(err, fs.ErrNotExist) {
		return file, nil
	}
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(top, at)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return file, nil
	}
	return filepath.ToSlash(rel), nil
}

func (d disk) names(dir string) ([]name, error) {
	entries, err := os.ReadDir(filepath.Join(string(d), filepath.FromSlash(dir)))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := make([]name, len(entries))
	for i, e := range entries {
		out[i] = name{e.Name(), e.IsDir()}
	}
	return out, nil
}

// match are the files below dir (of prefix) that the pattern's words name. Only
// directories that can have one are read.
func match(prefix folder, dir string, words []string, depth int) (found []string, err error) {
	word, rest := words[0], words[1:]
	if word == "**" {
		if found, err = match(prefix, dir, rest, depth); err != nil || depth == maxDepth {
			return found, err
		}
	} else if len(rest) > 0 && !strings.ContainsAny(word, "*?[") {
		return match(prefix, path.Join(dir, word), rest, depth)
	}
	names, err := prefix.names(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range names {
		at := path.Join(dir, e.name)
		is, err := path.Match(word, e.name)
		if err != nil {
			return nil, fmt.Errorf("pattern %s: %w", word, err)
		}
		var more []string
		switch {
		case word == "**":
			if e.dir {
				more, err = match(prefix, at, words, depth+1)
			}
		case !is:
		case len(rest) > 0:
			more, err = match(prefix, at, rest, depth)
		case !e.dir:
			more = []string{at}
		}
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	return found, nil
}

package uvlock

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/lockfile/pyfile"
	"github.com/hpcenv/hpcenv/envs/python"
	"github.com/hpcenv/hpcenv/envs/python/tag"
)

// deliver turns the chosen entries into packages, in the lock's order.
func (l *Lock) deliver(target *python.Target, chosen map[*entry][]string) ([]*lockfile.PyPIPackage, error) {
	tags := target.Tags()
	var packages []*lockfile.PyPIPackage
	var trouble []string
	first := map[string]*entry{}
	for _, e := range l.entries {
		extras, ok := chosen[e]
		if !ok || e.source.kind == virtual {
			continue
		}
		if other := first[e.name]; other != nil {
			trouble = append(trouble, fmt.Sprintf("line %d: package `%s` is chosen twice: %s and %s (line %d)", e.line, e.name, e.version, other.version, other.line))
			continue
		}
		first[e.name] = e
		p, err := e.deliver(target, tags)
		if err != nil {
			trouble = append(trouble, fmt.Sprintf("line %d: package `%s` %s: %v", e.line, e.name, e.version, err))
			continue
		}
		p.Extras = slices.Sorted(slices.Values(extras))
		packages = append(packages, p)
	}
	if trouble != nil {
		return nil, fmt.Errorf("%w: uv.lock: %d of %d packages cannot be had for %s:\n  %s\nnext: change the lock (`uv lock`), or leave out what needs them",
			lockfile.ErrLock, len(trouble), len(first), target, strings.Join(trouble, "\n  "))
	}
	return packages, nil
}

func (e *entry) deliver(target *python.Target, tags *tag.Set) (*lockfile.PyPIPackage, error) {
	p := &lockfile.PyPIPackage{Name: e.name, Version: e.version, Subdirectory: e.source.subdirectory, Line: int(e.line)}
	switch e.source.kind {
	case git:
		r, err := parseGit(e.source.location)
		if err != nil {
			return nil, err
		}
		p.Kind, p.Direct = lockfile.PyPIGit, true
		p.Location, p.URL, p.Commit, p.Ref = e.source.location, r.url, r.commit, r.ref
		if r.subdirectory != "" {
			p.Subdirectory = r.subdirectory
		}
		p.Local = strings.HasPrefix(r.url, "file:")
		return p, nil
	case directory, editable:
		p.Kind, p.Direct, p.Local, p.Editable = lockfile.PyPIDirectory, true, true, e.source.kind == editable
		if p.Location = e.source.location; p.Location == "" {
			p.Location = "."
		}
		p.URL = p.Location
		return p, nil
	case registry:
		p.Index = pyfile.IndexURL(e.source.location)
	default:
		p.Direct = true
	}
	file := pyfile.Best(tags, e.wheels)
	if file == nil {
		file = e.sdist
	}
	if file == nil {
		return nil, fmt.Errorf("%s", pyfile.None(target, e.wheels))
	}
	if err := file.Verified(); err != nil {
		return nil, err
	}
	file.Into(p)
	return p, nil
}

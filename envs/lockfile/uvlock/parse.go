package uvlock

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/lockfile/pyfile"
	"github.com/hpcenv/hpcenv/envs/python/marker"
	"github.com/hpcenv/hpcenv/envs/python/name"
	"github.com/hpcenv/hpcenv/envs/python/version"
	"github.com/hpcenv/hpcenv/envs/tomltree"
)

// Version of the format that is read.
const Version = 1

// reader takes a lock out of its tree; its first error counts.
type reader struct {
	tomltree.Decoder
	// markers by their text: a lock has few that differ.
	markers map[string]*marker.Marker
}

// Parse reads a uv.lock. The error wraps lockfile.ErrLock and names line and
// key.
func Parse(data []byte) (*Lock, error) {
	root, err := tomltree.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%w: uv.lock: %w", lockfile.ErrLock, err)
	}
	r := &reader{markers: map[string]*marker.Marker{}}
	l := r.lock(root)
	if r.Err == nil {
		l.link(r)
	}
	if r.Err != nil {
		return nil, fmt.Errorf("%w: uv.lock, %w", lockfile.ErrLock, r.Err)
	}
	return l, nil
}

func (r *reader) lock(root *tomltree.Value) *Lock {
	v := root.Get("version")
	if v == nil {
		r.Failf(1, "it has no `version`; is it a uv.lock?")
		return nil
	}
	if n, ok := v.Int(); !ok || n != Version {
		r.Failf(v.Line, "`version` is %s, this hpcenv reads %d; next: use a newer hpcenv, or `uv lock` with a uv that writes version %d", v.Text, Version, Version)
		return nil
	}
	l := &Lock{Revision: int(r.Size(root, "revision")), groups: sections{}, byName: map[string][]*entry{}}
	var err error
	if text := r.Required(root, "requires-python"); text != "" {
		if l.RequiresPython, err = version.ParseSet(text); err != nil {
			r.Failf(root.Get("requires-python").Line, "`requires-python`: %w", err)
		}
	}
	l.supported = r.markerList(root, "supported-markers")
	if list := root.Get("conflicts"); list != nil {
		l.conflicts = r.conflicts(root)
	}
	if manifest := r.Table(root, "manifest"); manifest != nil {
		for _, m := range r.Texts(manifest, "members") {
			l.members = append(l.members, name.Normalize(m))
		}
		l.requirements = r.requirements(manifest, "requirements")
		if groups := r.Table(manifest, "dependency-groups"); groups != nil {
			for _, e := range groups.Entries {
				n := name.Normalize(e.Key)
				l.groups[n] = append(l.groups[n], r.requirements(groups, e.Key)...)
			}
		}
	}
	for _, table := range r.Items(root, "package", tomltree.Table) {
		if e := r.entry(table); e != nil {
			l.entries = append(l.entries, e)
			l.byName[e.name] = append(l.byName[e.name], e)
		}
	}
	return l
}

func (r *reader) markerList(table *tomltree.Value, key string) []*marker.Marker {
	var list []*marker.Marker
	for _, v := range r.Items(table, key, tomltree.String) {
		list = append(list, r.parseMarker(v, key))
	}
	return list
}

func (r *reader) parseMarker(v *tomltree.Value, key string) *marker.Marker {
	if m, there := r.markers[v.Text]; there {
		return m
	}
	m, err := marker.Parse(v.Text)
	if err != nil {
		r.Failf(v.Line, "`%s`: %w", key, err)
	}
	r.markers[v.Text] = m
	return m
}

func (r *reader) marker(table *tomltree.Value) *marker.Marker {
	if v := table.Get("marker"); v != nil && r.Text(table, "marker") != "" {
		return r.parseMarker(v, "marker")
	}
	return nil
}

func (r *reader) entry(table *tomltree.Value) *entry {
	e := &entry{name: name.Normalize(r.Required(table, "name")), version: r.Text(table, "version"), line: table.Line}
	if r.Err != nil {
		return nil
	}
	if !name.Valid(e.name) {
		r.Failf(table.Line, "`name`: %.100q is no name of a Python package", r.Text(table, "name"))
	}
	from := r.Table(table, "source")
	if from == nil {
		r.Failf(table.Line, "package `%s`: `source` is missing", e.name)
		return nil
	}
	e.source = r.source(from)
	if _, err := version.Parse(e.version); err != nil && (e.version != "" || !e.source.tree()) {
		r.Failf(table.Line, "package `%s`: `version`: %w", e.name, err)
	}
	e.forks = r.markerList(table, "resolution-markers")
	e.dependencies = r.dependencies(table, "dependencies")
	e.extras = r.sections(table, "optional-dependencies")
	e.groups = r.sections(table, "dev-dependencies")
	r.files(table, e)
	r.offered(table, e)
	return e
}

func (r *reader) sections(table *tomltree.Value, key string) sections {
	t := r.Table(table, key)
	if t == nil {
		return nil
	}
	all := sections{}
	for _, e := range t.Entries {
		n := name.Normalize(e.Key)
		all[n] = append(all[n], r.dependencies(t, e.Key)...)
	}
	return all
}

// offered finds the extras and groups without dependencies too.
func (r *reader) offered(table *tomltree.Value, e *entry) {
	e.offeredExtras = slices.Collect(maps.Keys(e.extras))
	e.offeredGroups = slices.Collect(maps.Keys(e.groups))
	metadata := r.Table(table, "metadata")
	if metadata == nil {
		return
	}
	for _, x := range r.Texts(metadata, "provides-extras") {
		e.offeredExtras = append(e.offeredExtras, name.Normalize(x))
	}
	if groups := r.Table(metadata, "requires-dev"); groups != nil {
		for _, g := range groups.Entries {
			e.offeredGroups = append(e.offeredGroups, name.Normalize(g.Key))
		}
	}
}

func (r *reader) dependencies(table *tomltree.Value, key string) []dependency {
	var all []dependency
	for _, t := range r.Items(table, key, tomltree.Table) {
		d := dependency{name: name.Normalize(r.Required(t, "name")), version: r.Text(t, "version"), marker: r.marker(t), line: t.Line}
		if from := r.Table(t, "source"); from != nil {
			s := r.source(from)
			d.source = &s
		}
		for _, x := range r.Texts(t, "extra") {
			d.extras = append(d.extras, name.Normalize(x))
		}
		all = append(all, d)
	}
	return all
}

// requirements of a root that is no package; the entry is found by forks.
func (r *reader) requirements(table *tomltree.Value, key string) []dependency {
	var all []dependency
	for _, t := range r.Items(table, key, tomltree.Table) {
		d := dependency{name: name.Normalize(r.Required(t, "name")), marker: r.marker(t), line: t.Line}
		for _, x := range r.Texts(t, "extras") {
			d.extras = append(d.extras, name.Normalize(x))
		}
		all = append(all, d)
	}
	return all
}

// files reads the archives of an entry.
func (r *reader) files(table *tomltree.Value, e *entry) {
	for _, t := range r.Items(table, "wheels", tomltree.Table) {
		f := r.file(t, e)
		if f == nil {
			return
		}
		if err := f.SetWheel(e.name, e.version); err != nil {
			r.Failf(t.Line, "package `%s`: `wheels`: %w", e.name, err)
			return
		}
		e.wheels = append(e.wheels, f)
	}
	if t := r.Table(table, "sdist"); t != nil && (e.source.kind == registry || e.source.kind == direct || e.source.kind == local) {
		e.sdist = r.file(t, e)
	}
}

func (r *reader) file(t *tomltree.Value, e *entry) *pyfile.File {
	f := &pyfile.File{Location: r.Text(t, "url"), Size: r.Size(t, "size"), Line: t.Line}
	switch {
	case e.source.kind == direct || e.source.kind == local:
		f.Location = e.source.location // the entry is this one file
	case f.Location == "":
		f.Location = r.Text(t, "path")
		if f.Location == "" {
			r.Failf(t.Line, "package `%s`: its file has neither `url` nor `path`", e.name)
			return nil
		}
		// Paths of a registry that is a directory are relative to it.
		if !pyfile.IsURL(e.source.location) && !strings.HasPrefix(f.Location, "/") {
			f.Location = strings.TrimSuffix(e.source.location, "/") + "/" + f.Location
		}
	}
	var err error
	if f.Name, err = pyfile.NameOf(f.Location); err != nil {
		r.Failf(t.Line, "package `%s`: %w", e.name, err)
		return nil
	}
	if text := r.Text(t, "hash"); text != "" {
		algorithm, digest, _ := strings.Cut(text, ":")
		if err := f.SetHash(algorithm, digest); err != nil {
			r.Failf(t.Line, "package `%s`: `hash`: %w", e.name, err)
		}
	}
	return f
}

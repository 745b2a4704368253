package satisfy

import (
	"fmt"
	"slices"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/python/marker"
	"github.com/hpcenv/hpcenv/envs/python/name"
	"github.com/hpcenv/hpcenv/envs/python/version"
	"github.com/hpcenv/hpcenv/envs/tomltree"
)

// uvLocked is what a uv.lock recorded of the manifests that it was made from.
type uvLocked struct {
	revision       int64
	requiresPython version.Set
	// members of the workspace, normalized; empty for a single project.
	members []string
	// lists of [manifest], by key.
	lists map[string][]uvRequirement
	// groups of a root that is no package.
	groups map[string][]uvRequirement
	// excluded names, normalized.
	excluded []string
	trees    []*uvTree
	// options as the lock has them; what is not there has its default.
	options map[string]string
	// names of all packages, normalized.
	names map[string]bool
}

// uvTree is an entry of a project that lies in a directory.
type uvTree struct {
	name, version string
	// kind is the key of its source; dir its path, relative to the lock.
	kind, dir string
	requires  []uvRequirement
	groups    map[string][]uvRequirement
	extras    []string
	line      int32
}

// uvRequirement is one of a lock's lists of requirements.
type uvRequirement struct {
	demand
	// source is the key of where it comes from, of uvSources; "" = an index. place is
	// the value.
	source, place string
}

// treeSources are sources that are directories.
var treeSources = []string{"editable", "virtual", "directory"}

var uvSources = append([]string{"git", "url", "path"}, treeSources...)

// readUV reads what was recorded; the error wraps lockfile.ErrLock.
func readUV(data []byte) (*uvLocked, error) {
	root, err := tomltree.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%w: uv.lock: %w", lockfile.ErrLock, err)
	}
	r := &uvReader{markers: map[string]*marker.Marker{}}
	l := r.lock(root)
	if r.Err != nil {
		return nil, fmt.Errorf("%w: uv.lock, %w", lockfile.ErrLock, r.Err)
	}
	return l, nil
}

type uvReader struct {
	tomltree.Decoder
	markers map[string]*marker.Marker
}

func (r *uvReader) lock(root *tomltree.Value) *uvLocked {
	l := &uvLocked{revision: r.Size(root, "revision"), lists: map[string][]uvRequirement{}, names: map[string]bool{}, options: map[string]string{}}
	var err error
	if l.requiresPython, err = version.ParseSet(r.Text(root, "requires-python")); err != nil {
		r.Failf(root.Line, "`requires-python`: %w", err)
	}
	if options := r.Table(root, "options"); options != nil {
		for _, o := range uvOptions {
			l.options[o.locked] = r.Text(options, o.locked)
		}
	}
	if manifest := r.Table(root, "manifest"); manifest != nil {
		l.members = canonicalNames(r.Texts(manifest, "members"))
		l.excluded = canonicalNames(r.Texts(manifest, "excludes"))
		for _, key := range manifestLists {
			l.lists[key] = r.list(manifest, key)
		}
		l.groups = r.lists(manifest, "dependency-groups")
	}
	for _, table := range r.Items(root, "package", tomltree.Table) {
		l.names[name.Normalize(r.Text(table, "name"))] = true
		source := r.Table(table, "source")
		for _, kind := range treeSources {
			if source.Get(kind) == nil {
				continue
			}
			t := &uvTree{name: name.Normalize(r.Text(table, "name")), version: r.Text(table, "version"), kind: kind, dir: r.Text(source, kind), line: table.Line}
			if metadata := r.Table(table, "metadata"); metadata != nil {
				t.requires, t.groups = r.list(metadata, "requires-dist"), r.lists(metadata, "requires-dev")
				t.extras = canonicalNames(r.Texts(metadata, "provides-extras"))
			}
			l.trees = append(l.trees, t)
		}
	}
	return l
}

func (r *uvReader) lists(table *tomltree.Value, key string) map[string][]uvRequirement {
	t := r.Table(table, key)
	if t == nil {
		return nil
	}
	out := map[string][]uvRequirement{}
	for _, e := range t.Entries {
		out[name.Normalize(e.Key)] = r.list(t, e.Key)
	}
	return out
}

func (r *uvReader) list(table *tomltree.Value, key string) []uvRequirement {
	var out []uvRequirement
	for _, t := range r.Items(table, key, tomltree.Table) {
		u := uvRequirement{demand: demand{name: name.Normalize(r.Required(t, "name")), extras: canonicalNames(r.Texts(t, "extras")), line: t.Line}}
		set, err := version.ParseSet(r.Text(t, "specifier"))
		if err != nil {
			r.Failf(t.Line, "`specifier`: %w", err)
		}
		u.what = canonicalVersions(set)
		for _, source := range uvSources {
			if t.Get(source) != nil {
				u.what, u.source, u.place = elsewhere, source, r.Text(t, source)
			}
		}
		if text := r.Text(t, "marker"); text != "" {
			m := r.markers[text]
			if m == nil {
				if m, err = marker.Parse(text); err != nil {
					r.Failf(t.Line, "`marker`: %w", err)
				}
				r.markers[text] = m
			}
			u.markers = []*marker.Marker{m}
		}
		out = append(out, u)
	}
	return out
}

// demands of a lock's list. Of a loose name versions and source do not count.
func demands(list []uvRequirement, loose func(string) bool) []*demand {
	var out []*demand
	for _, u := range list {
		d := u.demand
		if loose(d.name) {
			d.what = ""
		}
		out = append(out, &d)
	}
	return out
}

// member tells that a tree is one of the workspace's.
func (l *uvLocked) member(t *uvTree) bool {
	return t.dir == "." || t.dir == "" || slices.Contains(l.members, t.name)
}

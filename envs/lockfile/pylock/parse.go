package pylock

import (
	"fmt"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/python/marker"
	"github.com/hpcenv/hpcenv/envs/python/name"
	"github.com/hpcenv/hpcenv/envs/python/version"
	"github.com/hpcenv/hpcenv/envs/tomltree"
)

// Major is the major version of the format that is read.
const Major = "1"

// reader takes a lock out of its tree; its first error counts.
type reader struct{ tomltree.Decoder }

// Parse reads a pylock.toml. The error wraps lockfile.ErrLock and names line and
// key.
func Parse(data []byte) (*Lock, error) {
	root, err := tomltree.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%w: pylock.toml: %w", lockfile.ErrLock, err)
	}
	r := &reader{}
	l := r.lock(root)
	if r.Err != nil {
		return nil, fmt.Errorf("%w: pylock.toml, %w", lockfile.ErrLock, r.Err)
	}
	return l, nil
}

func (r *reader) lock(root *tomltree.Value) *Lock {
	l := &Lock{}
	text := r.Required(root, "lock-version")
	if r.Err != nil {
		return nil
	}
	line := root.Get("lock-version").Line
	var err error
	if l.Version, err = version.Parse(text); err != nil {
		r.Failf(line, "`lock-version`: %w", err)
		return nil
	}
	if l.Version.Release(1)[0] != Major || l.Version.IsPrerelease() {
		r.Failf(line, "`lock-version` is %s, this hpcenv reads %s.x; next: use a newer hpcenv, or write the lock with a program that writes %s.0", text, Major, Major)
		return nil
	}
	l.CreatedBy = r.Required(root, "created-by")
	l.RequiresPython = r.specifiers(root, "requires-python")
	if root.Get("environments") != nil {
		l.environments = []*marker.Marker{}
	}
	for _, v := range r.Items(root, "environments", tomltree.String) {
		l.environments = append(l.environments, r.marker(v, "environments"))
	}
	l.Extras = r.names(root, "extras")
	l.DependencyGroups = r.names(root, "dependency-groups")
	l.DefaultGroups = r.names(root, "default-groups")
	if root.Get("packages") == nil {
		r.Failf(1, "`packages` is missing")
	}
	for _, t := range r.Items(root, "packages", tomltree.Table) {
		if e := r.entry(t); e != nil {
			l.packages = append(l.packages, e)
		}
	}
	return l
}

// names of a list, normalized; extras must be so in the file.
func (r *reader) names(root *tomltree.Value, key string) []string {
	var all []string
	for _, v := range r.Items(root, key, tomltree.String) {
		if !name.Valid(v.Text) || key == "extras" && !name.Normalized(v.Text) {
			r.Failf(v.Line, "`%s`: `%s` is no normalized name", key, v.Text)
		}
		all = append(all, name.Normalize(v.Text))
	}
	return all
}

func (r *reader) specifiers(table *tomltree.Value, key string) version.Set {
	text := r.Text(table, key)
	set, err := version.ParseSet(text)
	if err != nil {
		r.Failf(table.Get(key).Line, "`%s`: %w", key, err)
	}
	return set
}

func (r *reader) marker(v *tomltree.Value, key string) *marker.Marker {
	m, err := marker.Parse(v.Text)
	if err != nil {
		r.Failf(v.Line, "`%s`: %w", key, err)
	}
	return m
}

func (r *reader) entry(t *tomltree.Value) *entry {
	e := &entry{name: r.Required(t, "name"), version: r.Text(t, "version"), index: r.Text(t, "index"), line: t.Line}
	if r.Err != nil {
		return nil
	}
	if !name.Normalized(e.name) {
		r.Failf(t.Get("name").Line, "`name`: `%s` is no normalized name", e.name)
	}
	if v := t.Get("version"); v != nil {
		if _, err := version.Parse(e.version); err != nil {
			r.Failf(v.Line, "package `%s`: `version`: %w", e.name, err)
		}
	}
	if v := t.Get("marker"); v != nil {
		if r.Text(t, "marker"); v.Kind == tomltree.String {
			e.marker = r.marker(v, "marker")
		}
	}
	e.requiresPython = r.specifiers(t, "requires-python")
	r.Items(t, "dependencies", tomltree.Table)
	r.Table(t, "tool")
	for _, identity := range r.Items(t, "attestation-identities", tomltree.Table) {
		r.Required(identity, "kind")
	}
	r.origins(t, e)
	return e
}

package uvlock

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/envs/tomltree"
)

// sourceKind is the key of a source.
type sourceKind string

const (
	registry  sourceKind = "registry"
	git       sourceKind = "git"
	direct    sourceKind = "url"
	local     sourceKind = "path"
	directory sourceKind = "directory"
	editable  sourceKind = "editable"
	virtual   sourceKind = "virtual"
)

var sourceKinds = []sourceKind{registry, git, direct, local, directory, editable, virtual}

// source is where an entry comes from.
type source struct {
	kind sourceKind
	// location is a URL or path.
	location     string
	subdirectory string
}

func (s source) String() string {
	return fmt.Sprintf("%s = %q", s.kind, lockfile.RedactURL(s.location))
}

// tree: the source is a directory of the user's.
func (s source) tree() bool {
	return s.kind == directory || s.kind == editable || s.kind == virtual
}

// project: the source is the directory in which the lock lies.
func (s source) project() bool { return s.tree() && (s.location == "." || s.location == "") }

func (r *reader) source(table *tomltree.Value) source {
	s := source{subdirectory: r.Text(table, "subdirectory")}
	for _, kind := range sourceKinds {
		v := table.Get(string(kind))
		if v == nil {
			continue
		}
		if s.kind != "" {
			r.Failf(v.Line, "`source` has both `%s` and `%s`", s.kind, kind)
		}
		s.kind, s.location = kind, r.Text(table, string(kind))
		if s.location == "" && !s.tree() {
			r.Failf(v.Line, "`%s` is empty", kind)
		}
	}
	if s.kind == "" {
		r.Failf(table.Line, "`source` has none of registry, git, url, path, directory, editable, virtual: a newer uv wrote it?")
	}
	return s
}

// repository is a git source taken apart.
type repository struct{ url, ref, commit, subdirectory string }

// parseGit reads URL?rev=REF&subdirectory=DIR#COMMIT.
func parseGit(location string) (repository, error) {
	rest, commit, _ := strings.Cut(location, "#")
	base, query, _ := strings.Cut(rest, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return repository{}, errors.New("the query of its git source cannot be read")
	}
	r := repository{commit: strings.ToLower(commit), subdirectory: values.Get("subdirectory")}
	for _, key := range []string{"rev", "tag", "branch"} {
		if v := values.Get(key); v != "" {
			r.ref = v
		}
		values.Del(key)
	}
	values.Del("subdirectory")
	values.Del("lfs")
	if r.url = base; len(values) > 0 {
		r.url += "?" + values.Encode()
	}
	if b, err := hex.DecodeString(r.commit); err != nil || len(b) != 20 && len(b) != 32 {
		return repository{}, errors.New("its git source names no commit (40 hex digits behind the #)")
	}
	return r, nil
}

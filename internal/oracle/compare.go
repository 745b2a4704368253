package oracle

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
)

// Difference is one thing that the two prefixes do not have in common.
type Difference struct {
	// Path in the prefix; for what records say of a path it is that path.
	Path string
	// Field: "path" (only one has it), "type", "exec", "content", "link"; and of
	// a conda-meta record "record" (a key at its top), "files" (the path is
	// listed), "paths" (the path is described) or "paths.<key>".
	Field string
	// Record is the conda-meta file for the last four, and Key the key of
	// "record".
	Record, Key string
	// Rattler and Hpcenv are what each has; "" = nothing.
	Rattler, Hpcenv string
}

func (d Difference) String() string {
	where := d.Path
	if d.Record != "" {
		where = strings.TrimSpace(d.Record + " " + d.Key + " " + d.Path)
	}
	return fmt.Sprintf("%s: %s:\n  rattler: %s\n  hpcenv:  %s", where, d.Field, d.Rattler, d.Hpcenv)
}

// Side is a prefix as it was read: its tree and its records.
type Side struct {
	Tree    map[string]Node
	Records map[string]map[string]any
}

// ReadSide reads a prefix.
func ReadSide(root string) (*Side, error) {
	tree, err := Tree(root)
	if err != nil {
		return nil, err
	}
	s := &Side{Tree: tree, Records: make(map[string]map[string]any)}
	for p := range tree {
		if !isRecord(p) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(p)))
		if err != nil {
			return nil, err
		}
		var r map[string]any
		if err := json.Unmarshal(data, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		s.Records[p] = r
	}
	return s, nil
}

func isRecord(p string) bool {
	return path.Dir(p) == "conda-meta" && strings.HasSuffix(p, ".json")
}

// Compare lists all differences, sorted. The text of records is not compared but
// what it says.
func Compare(rattler, hpcenv *Side) []Difference {
	var out []Difference
	for _, p := range union(rattler.Tree, hpcenv.Tree) {
		r, inR := rattler.Tree[p]
		h, inH := hpcenv.Tree[p]
		switch {
		case !inR || !inH:
			out = append(out, Difference{Path: p, Field: "path", Rattler: r.Type, Hpcenv: h.Type})
			continue
		case r.Type != h.Type:
			out = append(out, Difference{Path: p, Field: "type", Rattler: r.Type, Hpcenv: h.Type})
			continue
		}
		if r.Exec != h.Exec {
			out = append(out, Difference{Path: p, Field: "exec", Rattler: fmt.Sprint(r.Exec), Hpcenv: fmt.Sprint(h.Exec)})
		}
		if r.Link != h.Link {
			out = append(out, Difference{Path: p, Field: "link", Rattler: r.Link, Hpcenv: h.Link})
		}
		if r.SHA256 != h.SHA256 && !isRecord(p) {
			out = append(out, Difference{Path: p, Field: "content", Rattler: r.content(h), Hpcenv: h.content(r)})
		}
	}
	for _, p := range union(rattler.Records, hpcenv.Records) {
		r, h := rattler.Records[p], hpcenv.Records[p]
		if r != nil && h != nil {
			out = append(out, compareRecords(p, r, h)...)
		}
	}
	return out
}

// compareRecords compares what two records of one package say.
func compareRecords(record string, r, h map[string]any) []Difference {
	var out []Difference
	add := func(field, key, p string, rv, hv any) {
		out = append(out, Difference{Path: p, Field: field, Record: record, Key: key, Rattler: text(rv), Hpcenv: text(hv)})
	}
	for _, k := range union(r, h) {
		if k != "files" && k != "paths_data" && k != "link" && !reflect.DeepEqual(r[k], h[k]) {
			add("record", k, "", r[k], h[k])
		}
	}
	rl, hl := object(r["link"]), object(h["link"])
	for _, k := range union(rl, hl) {
		if !reflect.DeepEqual(rl[k], hl[k]) {
			add("record", "link."+k, "", rl[k], hl[k])
		}
	}
	rf, hf := files(r), files(h)
	for _, p := range union(rf, hf) {
		if rf[p] != hf[p] {
			add("files", "", p, count(rf[p]), count(hf[p]))
		}
	}
	rp, hp := paths(r), paths(h)
	for _, p := range union(rp, hp) {
		if rp[p] == nil || hp[p] == nil {
			add("paths", "", p, orNil(rp[p]), orNil(hp[p]))
			continue
		}
		for _, k := range union(rp[p], hp[p]) {
			if !reflect.DeepEqual(rp[p][k], hp[p][k]) {
				add("paths."+k, "", p, rp[p][k], hp[p][k])
			}
		}
	}
	if rv, hv := object(r["paths_data"])["paths_version"], object(h["paths_data"])["paths_version"]; rv != hv {
		add("record", "paths_data.paths_version", "", rv, hv)
	}
	return out
}

func union[V any](a, b map[string]V) []string {
	var out []string
	for k := range a {
		out = append(out, k)
	}
	for k := range b {
		if _, both := a[k]; !both {
			out = append(out, k)
		}
	}
	sort.Strings(out)
	return out
}

func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// files counts how often a record lists each file.
func files(record map[string]any) map[string]int {
	out := make(map[string]int)
	list, _ := record["files"].([]any)
	for _, f := range list {
		out[fmt.Sprint(f)]++
	}
	return out
}

// paths is what a record says of each path; a path described twice shows.
func paths(record map[string]any) map[string]map[string]any {
	out := make(map[string]map[string]any)
	list, _ := object(record["paths_data"])["paths"].([]any)
	for _, e := range list {
		m := object(e)
		p := fmt.Sprint(m["_path"])
		for out[p] != nil {
			p += " (again)"
		}
		out[p] = m
	}
	return out
}

func count(n int) any {
	if n == 0 {
		return nil
	}
	return n
}

func orNil(m map[string]any) any {
	if m == nil {
		return nil
	}
	return m
}

// text is a value in JSON; "" for none.
func text(v any) string {
	if v == nil {
		return ""
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

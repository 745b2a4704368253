package oracle

import (
	"errors"
	"strings"
	"testing"
)

// TestLedger: exactly what an entry says is allowed, and what nothing hits shows.
func TestLedger(t *testing.T) {
	l := &Ledger{
		Allowed: []Allowance{
			{Path: `a`, Field: `path`, Holds: only("rattler"), Reason: "first"},
			{Path: `b`, Field: `exec`, Reason: "never there"},
			{Path: `c`, Field: `exec`, Shared: true, Reason: "shared only"},
		},
		Refusals: []Refusal{{Case: `set-.*`, Who: "rattler", Says: "panic", Reason: "a fault"}},
	}
	rest := l.Explain("x", []Difference{
		{Path: "a", Field: "path", Rattler: "file"},
		{Path: "a", Field: "path", Hpcenv: "file"},
		{Path: "aa", Field: "path", Rattler: "file"},
		{Path: "a", Field: "paths", Rattler: "file"},
	})
	if len(rest) != 3 {
		t.Errorf("left are %v", rest)
	}
	for name, want := range map[string]bool{"set-1": true, "x-set-1": false} {
		if got := l.Refused(name, "rattler", errors.New("a panic")); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if l.Refused("set-1", "hpcenv", errors.New("a panic")) || l.Refused("set-1", "rattler", errors.New("other")) {
		t.Error("another's refusal, or for another reason, is allowed")
	}
	table, unused := l.Table(false)
	if len(unused) != 1 || unused[0] != "exec b" || !strings.Contains(table, "first") {
		t.Errorf("unused %q in\n%s", unused, table)
	}
	if _, unused = l.Table(true); len(unused) != 2 {
		t.Errorf("with the shared data, unused %q", unused)
	}
}

// TestCompareSeesEverything: each kind of difference, made in a copy.
func TestCompareSeesEverything(t *testing.T) {
	side := func(change func(*Side)) *Side {
		s := &Side{
			Tree: map[string]Node{
				"d": {Type: "directory"}, "f": {Type: "file", SHA256: "x"}, "l": {Type: "link", Link: "f"},
				"conda-meta/p-1-0.json": {Type: "file", SHA256: "text"},
			},
			Records: map[string]map[string]any{"conda-meta/p-1-0.json": {
				"name": "p", "files": []any{"f", "l"}, "link": map[string]any{"type": 1.0},
				"paths_data": map[string]any{"paths_version": 1.0, "paths": []any{map[string]any{"_path": "f", "sha256": "1"}}},
			}},
		}
		if change != nil {
			change(s)
		}
		return s
	}
	record := func(s *Side) map[string]any { return s.Records["conda-meta/p-1-0.json"] }
	for field, change := range map[string]func(*Side){
		"path":         func(s *Side) { delete(s.Tree, "f") },
		"type":         func(s *Side) { s.Tree["d"] = Node{Type: "file"} },
		"exec":         func(s *Side) { s.Tree["f"] = Node{Type: "file", SHA256: "x", Exec: true} },
		"content":      func(s *Side) { s.Tree["f"] = Node{Type: "file", SHA256: "y"} },
		"link":         func(s *Side) { s.Tree["l"] = Node{Type: "link", Link: "g"} },
		"record":       func(s *Side) { record(s)["url"] = "u" },
		"files":        func(s *Side) { record(s)["files"] = []any{"f", "l", "l"} },
		"paths":        func(s *Side) { record(s)["paths_data"] = map[string]any{"paths_version": 1.0} },
		"paths.sha256": func(s *Side) { object(record(s)["paths_data"])["paths"].([]any)[0].(map[string]any)["sha256"] = "2" },
	} {
		got := Compare(side(nil), side(change))
		if len(got) != 1 || got[0].Field != field {
			t.Errorf("%s: got %v", field, got)
		}
	}
	if got := Compare(side(nil), side(func(s *Side) { s.Tree["conda-meta/p-1-0.json"] = Node{Type: "file", SHA256: "other text"} })); len(got) != 0 {
		t.Errorf("the form of a record counts: %v", got)
	}
}

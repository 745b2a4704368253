package main

import (
	"bytes"
	"regexp"
	"strings"
	"time"

	"github.com/hpcenv/hpcenv/envs/cuda"
	"github.com/hpcenv/hpcenv/envs/stack"
)

// cudaTable: its own reader is strict.
func cudaTable(t *table, data []byte) {
	parsed, err := cuda.Parse(t.name, data)
	if err != nil {
		t.problem("%v", err)
		return
	}
	used := map[string]bool{}
	lines(data, func(_ int, w []string, _ string) {
		if w[0] == "source" {
			return
		}
		t.rows++
		key := len(w) - 1
		if w[0] == "model" {
			key = 3
		}
		used[w[key]] = true
	})
	for _, s := range parsed.Sources() {
		t.date(s.Read)
		if !used[s.Key] {
			t.problem("no row is from the source %s", s.Key)
		}
	}
}

// archspecTable: the order is archspec's, but parents come first.
func archspecTable(t *table, data []byte) {
	header, _, _ := strings.Cut(string(data), "\nvendor ")
	if !strings.Contains(header, "archspec-json ") {
		t.problem("it names no source")
	}
	t.dates(header)
	seen := map[string]bool{}
	lines(data, func(n int, w []string, _ string) {
		t.rows++
		switch {
		case w[0] == "vendor" && len(w) >= 3:
			t.once(n, seen, "vendor "+w[1])
		case w[0] == "target" && len(w) == 6:
			t.once(n, seen, "target "+w[1])
			for p := range strings.SplitSeq(w[4], ",") {
				if p != "-" && !seen["target "+p] {
					t.problem("line %d: the parent %s of %s does not come before it", n, p, w[1])
				}
			}
		default:
			t.problem("line %d: it is neither \"vendor CODE NAME\" nor \"target NAME VENDOR PART PARENTS FEATURES\"", n)
		}
	})
}

// modulesTable: each line has its source behind #.
func modulesTable(t *table, data []byte) {
	t.dates(string(data))
	seen := map[string]bool{}
	lines(data, func(n int, w []string, source string) {
		t.rows++
		if len(w) != 2 {
			t.problem("line %d: it is not of the form \"NAME PATTERN # SOURCE\"", n)
			return
		}
		if source == "" {
			t.problem("line %d: %s has no source", n, w[1])
		}
		t.once(n, seen, w[1])
	})
}

// networks is the table in envs/stack, which is part of the code.
func networks() *table {
	t := &table{name: "envs/stack/networks.go"}
	statements, asOf := stack.Statements()
	t.date(asOf)
	seen := map[string]bool{}
	for i, s := range statements {
		t.rows++
		if s.Source == "" {
			t.problem("row %d, of %s, has no source", i+1, s.Of)
		}
		t.once(i+1, seen, s.Of)
	}
	return t
}

// once complains of what is there twice.
func (t *table) once(line int, seen map[string]bool, what string) {
	if seen[what] {
		t.problem("line %d: %s is there twice", line, what)
	}
	seen[what] = true
}

var isDate = regexp.MustCompile(`\b(20[0-9]{2}-[0-9]{2})(-[0-9]{2})?\b`)

// dates notes the first date in what a table says of itself.
func (t *table) dates(text string) {
	m := isDate.FindStringSubmatch(text)
	if m == nil {
		return
	}
	day := m[2]
	if day == "" {
		day = "-01"
	}
	if d, err := time.Parse(time.DateOnly, m[1]+day); err == nil {
		t.date(d)
	}
}

// lines calls row for each line but comments, with its words and what is behind #.
func lines(data []byte, row func(n int, words []string, source string)) {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		text, source, _ := strings.Cut(string(line), "#")
		if w := strings.Fields(text); len(w) > 0 {
			row(n, w, strings.TrimSpace(source))
		}
	}
}

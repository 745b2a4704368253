// Checkdata reads the tables that the project keeps as data, line by line: every
// statement must have a source and a date, be in order and be there once. The readers in
// the program skip what they do not understand, and never look at dates.
//
//	checkdata [-today 2026-11-30] DIR
//
// DIR is the repository. What is wrong is told with its line, and the status is 1. A
// table that nobody looked through for twelve months is a warning.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// old is the age in months from which a table is warned of.
const old = 12

// table is what was found out about one.
type table struct {
	name     string
	rows     int
	oldest   time.Time
	problems []string
}

func (t *table) problem(format string, args ...any) {
	t.problems = append(t.problems, fmt.Sprintf(format, args...))
}

// date notes when statements were read.
func (t *table) date(d time.Time) {
	if t.oldest.IsZero() || d.Before(t.oldest) {
		t.oldest = d
	}
}

func main() {
	today := flag.String("today", time.Now().Format(time.DateOnly), "day by which ages count")
	flag.Parse()
	now, err := time.Parse(time.DateOnly, *today)
	if err != nil || flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: checkdata [-today YYYY-MM-DD] DIR")
		os.Exit(2)
	}
	if !run(flag.Arg(0), now) {
		os.Exit(1)
	}
}

// run checks the tables of the repository in dir; false = something is wrong.
func run(dir string, now time.Time) bool {
	good := true
	for _, t := range []*table{
		file(dir, "envs/cuda/cuda.txt", cudaTable), file(dir, "hooks/facts/archspec.txt", archspecTable),
		file(dir, "envs/elf/modules.txt", modulesTable), networks(),
	} {
		switch {
		case t.rows == 0:
			t.problem("it has no rows")
		case t.oldest.IsZero():
			t.problem("it names no date")
		case t.oldest.After(now):
			t.problem("its date %s has not come yet", t.oldest.Format(time.DateOnly))
		}
		for _, p := range t.problems {
			good = false
			fmt.Fprintf(os.Stderr, "%s: %s\n", t.name, p)
		}
		if !t.oldest.IsZero() && t.oldest.AddDate(0, old, 0).Before(now) {
			fmt.Fprintf(os.Stderr, "warning: %s: statements of %s are older than %d months; next: read their sources again\n", t.name, t.oldest.Format(time.DateOnly), old)
		}
		if len(t.problems) == 0 {
			fmt.Printf("%-28s %4d rows, looked through %s or later\n", t.name, t.rows, t.oldest.Format(time.DateOnly))
		}
	}
	return good
}

// file checks a table that is a file.
func file(dir, name string, check func(*table, []byte)) *table {
	t := &table{name: name}
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.problem("%v", err)
		return t
	}
	check(t, data)
	return t
}

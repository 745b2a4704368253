package elf

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestTables: every line of the tables says where it is from, and when; every line
// of modules.txt is read.
func TestTables(t *testing.T) {
	date := regexp.MustCompile(`20[0-9][0-9]-[01][0-9]`)
	if !date.MatchString(strings.SplitN(modulesText, "\nUCX", 2)[0]) {
		t.Error("modules.txt has no date")
	}
	lines := 0
	for line := range strings.Lines(modulesText) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			lines++
		}
	}
	if all := places(); len(all) != lines || lines == 0 {
		t.Errorf("of %d lines %d are read", lines, len(all))
	}
	for _, p := range places() {
		if p.source == "" {
			t.Errorf("%s has no source", p.pattern)
		}
		if _, err := path.Match(p.pattern, ""); err != nil || path.IsAbs(p.pattern) || path.Clean(p.pattern) != p.pattern {
			t.Errorf("pattern %s: %v", p.pattern, err)
		}
	}
	for _, s := range single {
		if !date.MatchString(s.source) {
			t.Errorf("%s: no source with its date", s.library)
		}
	}
	for _, a := range apart {
		if !date.MatchString(a.source) {
			t.Errorf("%s: no source with its date", a.dir)
		}
	}
}

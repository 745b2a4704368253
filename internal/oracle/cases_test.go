//go:build oracle

package oracle

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/internal/condatest"
)

// cases are single packages of odd content, by name. Each comes with a stand-in
// for python unless it is called "no-python…". Those whose name ends in "-long"
// get the longest prefix.
var cases = map[string]condatest.Package{
	"empty-package": {},
	// Interpreter lines.
	"perl-long":        script("#!"+placeholder+"/bin/perl5.36.0 -w\nprint 1;\n", true),
	"perl":             script("#!"+placeholder+"/bin/perl -w\nprint 1;\n", true),
	"own-line-long":    script("#!/usr/bin/interpreter "+strings.Repeat("-option ", 20)+"\n"+placeholder+"\n", true),
	"blank-in-line":    script("#!"+placeholder+"/bin/my\\ python -u\n"+placeholder+"\n", true),
	"one-line":         script("#!"+placeholder+"/bin/python", true),
	"one-line-long":    script("#!"+placeholder+"/bin/python", true),
	"carriage-return":  script("#!"+placeholder+"/bin/python\r\nprint()\r\n", true),
	"return-long":      script("#!"+placeholder+"/bin/python\r\nprint()\r\n", true),
	"not-in-the-file":  script("nothing to replace\n", false),
	"links-script":     {Files: []condatest.File{{Path: "bin/.links-script-post-link.sh", Content: "touch $PREFIX/ran\n", Exec: true}}},
	"placeholder-link": {Files: []condatest.File{{Path: "bin/x", Link: placeholder + "/y"}}},
	"escaping-links":   {Files: []condatest.File{{Path: "bin/up", Link: "../../../../etc/passwd"}, {Path: "abs", Link: "/etc/passwd"}, {Path: "self", Link: "self"}}},
	// Binaries.
	"binary-too-short": {Files: []condatest.File{{Path: "lib/a", Content: "\x00/short\x00", Placeholder: "/short", Binary: true}}},
	"binary-absent":    {Files: []condatest.File{{Path: "lib/a", Content: "\x00nothing\x00", Placeholder: "/short", Binary: true}}},
	// Metadata that disagrees with the archive.
	"directory":     {Files: []condatest.File{{Path: "var/empty", Dir: true}}},
	"unlisted":      listed(`{"_path":"bin/a","path_type":"hardlink"}`),
	"listed-twice":  listed(`{"_path":"bin/a","path_type":"hardlink"},{"_path":"bin/a","path_type":"hardlink"}`),
	"missing":       listed(`{"_path":"bin/gone","path_type":"hardlink"}`),
	"other-digest":  listed(`{"_path":"bin/a","path_type":"hardlink","sha256":"` + strings.Repeat("0", 64) + `","size_in_bytes":99}`),
	"other-type":    listed(`{"_path":"bin/a","path_type":"softlink"}`),
	"link-as-file":  listed(`{"_path":"bin/l","path_type":"hardlink"}`),
	"info-listed":   listed(`{"_path":"info/index.json","path_type":"hardlink"}`),
	"escaping-path": listed(`{"_path":"../bin/a","path_type":"hardlink"}`),
	"absolute-path": listed(`{"_path":"/bin/a","path_type":"hardlink"}`),
	"dotted-path":   listed(`{"_path":"./bin/a","path_type":"hardlink"}`),
	"newer-paths":   {Info: map[string][]byte{"paths.json": []byte(`{"paths_version":2,"paths":[]}`)}},
	"no-index":      {Info: map[string][]byte{"index.json": nil}},
	// noarch python.
	"no-python-but-needed": {Noarch: "python", Files: []condatest.File{{Path: "site-packages/a.py"}}},
	"entry-point-extras":   {Noarch: "python", EntryPoints: []string{"a = b:c [x]"}},
	"entry-point-slash":    {Noarch: "python", EntryPoints: []string{"../a = b:c"}},
	"entry-point-code":     {Noarch: "python", EntryPoints: []string{"a = b:c;import os"}},
	"noarch-no-link-json":  {Noarch: "python", Files: []condatest.File{{Path: "site-packages/a.py"}}, Info: map[string][]byte{"link.json": nil}},
	"generic-in-site":      {Noarch: "generic", Files: []condatest.File{{Path: "site-packages/a.py"}, {Path: "python-scripts/b"}}},
	// Files that hpcenv writes itself.
	"managed": {Files: []condatest.File{{Path: "lib/python3.11/EXTERNALLY-MANAGED", Content: "[externally-managed]\n"}}},
}

func script(content string, exec bool) condatest.Package {
	return condatest.Package{Files: []condatest.File{{Path: "bin/script", Content: content, Exec: exec, Placeholder: placeholder}}}
}

// listed is a package with bin/a and a link bin/l to it, whose paths.json says
// something else.
func listed(paths string) condatest.Package {
	return condatest.Package{
		Files: []condatest.File{{Path: "bin/a", Content: "a\n", Exec: true}, {Path: "bin/l", Link: "a"}},
		Info:  map[string][]byte{"paths.json": []byte(`{"paths_version":1,"paths":[` + paths + `]}`)},
	}
}

func testCases(t *testing.T, s *session) {
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		p := cases[name]
		t.Run(name, func(t *testing.T) {
			p.Name, p.Version, p.Build = name, "1.0", "0"
			set := Set{Name: name, PrefixLen: shortPrefix, Packages: []condatest.Package{p}}
			if !strings.HasPrefix(name, "no-python") {
				set.Packages = append(set.Packages, standIn("3.11.4"))
			}
			if strings.HasSuffix(name, "-long") {
				set.PrefixLen = longPrefix
			}
			s.checkSet(t, set)
		})
	}
	t.Run("wide", func(t *testing.T) {
		s.checkSet(t, Set{PrefixLen: shortPrefix, Packages: []condatest.Package{wideFiles()}})
	})
	t.Run("python-alone", func(t *testing.T) {
		// A python without a standard library.
		p := condatest.Package{Name: "python", Version: "3.12.0", Build: "0", Files: []condatest.File{{Path: "bin/python", Exec: true}}}
		s.checkSet(t, Set{PrefixLen: shortPrefix, Packages: []condatest.Package{p}})
	})
}

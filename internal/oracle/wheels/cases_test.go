//go:build oracle

package wheels

import (
	"archive/zip"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hpcenv/hpcenv/internal/wheeltest"
)

// scripts are files of scripts/ whose first lines differ in every way that was
// found to matter.
var scripts = map[string]string{
	"plain": "#!python\nx\n", "gui": "#!pythonw\nx\n", "options": "#!python -E\nx\n", "versioned": "#!python3.11 -u\nx\n",
	"no-end": "#!python", "crlf": "#!python\r\nx\r\n", "cr": "#!python\rx\n", "blank-before": "#! python\nx\n",
	"absolute": "#!/usr/bin/python\nx\n", "shell": "#!/bin/sh\necho\n", "binary": "\x7fELF\x00\x01", "empty": "", "short": "#!py",
	"coding": "#!python\n# -*- coding: utf8 -*-\nx\n", "fileencoding": "#!python\n# vim: set fileencoding=latin-1 :\n\xfc\n",
	"coding-crlf": "#!python\r\n# coding: latin-1\r\nx", "coding-third": "#!python\n\n# coding: latin-1\n", "coding-first": "#!python # coding: latin-1\nx\n",
	"coding-no-comment": "#!python\nx # coding: latin-1\n", "coding-indented": "#!python\n \t\f# coding: utf-8\n", "coding-tabs": "#!python\n# coding:\t  x\n",
	"coding-case": "#!python\n# Coding: x\n", "coding-blank": "#!python\n# coding : x\n", "coding-bytes": "#!python\n#\xff coding: latin-1\n",
	"mark": "\ufeff#!python\nx",
}

func scriptsWheel() wheeltest.Wheel {
	w := wheeltest.Wheel{Name: "scripts", Version: "1.0"}
	for _, name := range slices.Sorted(maps.Keys(scripts)) {
		w.Files = append(w.Files, wheeltest.File{Path: "scripts-1.0.data/scripts/" + name, Content: scripts[name]})
	}
	return w
}

// module is a wheel with one module and something odd about it.
func module(name string, files ...wheeltest.File) wheeltest.Wheel {
	return wheeltest.Wheel{Name: name, Version: "1.0", Files: append([]wheeltest.File{{Path: name + "/__init__.py", Content: "x = 1\n"}}, files...)}
}

func points(name, text string) wheeltest.Wheel {
	w := module(name)
	w.Info = map[string][]byte{"entry_points.txt": []byte(text)}
	return w
}

func recorded(name string, change func([]string) []string) wheeltest.Wheel {
	w := module(name)
	w.Record = change
	return w
}

// cases are wheels of odd content, by name.
var cases = map[string]wheeltest.Wheel{
	"scripts": scriptsWheel(),
	"skipped": {Name: "skipped", Version: "1.0", Info: map[string][]byte{"entry_points.txt": []byte("[console_scripts]\na = m:f\n[gui_scripts]\nb = m:g\n")}, Files: []wheeltest.File{
		{Path: "skipped-1.0.data/scripts/a", Content: "#!/bin/sh\n"}, {Path: "skipped-1.0.data/scripts/a.exe", Content: "MZ"},
		{Path: "skipped-1.0.data/scripts/a-script.py", Content: "#!python\n"}, {Path: "skipped-1.0.data/scripts/b.pya", Content: "#!python\n"},
		{Path: "skipped-1.0.data/scripts/a.py", Content: "#!python\n"}, {Path: "skipped-1.0.data/scripts/a-script.pyw", Content: "#!pythonw\n"},
	}},
	"data": {Name: "Da.Ta", Version: "1.0", DistInfo: "Da.Ta-1.0.dist-info", Files: []wheeltest.File{
		{Path: "Da.Ta-1.0.data/data/share/x/y", Content: "y"}, {Path: "Da.Ta-1.0.data/data/bin/tool", Content: "#!/bin/sh\n", Mode: 0o100755},
		{Path: "Da.Ta-1.0.data/headers/sub/h.h", Content: "h"}, {Path: "Da.Ta-1.0.data/platlib/plat.py", Content: "p"},
		{Path: "Da.Ta-1.0.data/purelib/pure/__init__.py", Content: "p"}, {Path: "Da.Ta-1.0.data/scripts/s", Content: "#!python\n"},
	}},
	"data-dirs": module("ddirs", wheeltest.File{Path: "ddirs-1.0.data/"}, wheeltest.File{Path: "ddirs-1.0.data/data/"}, wheeltest.File{Path: "ddirs-1.0.data/data/var/empty/"},
		wheeltest.File{Path: "ddirs-1.0.data/headers/"}, wheeltest.File{Path: "ddirs-1.0.data/scripts/"}, wheeltest.File{Path: "ddirs/deep/empty/"}),
	"overlap": module("overlap", wheeltest.File{Path: "overlap-1.0.data/purelib/overlap/__init__.py", Content: "x = 2\n"}),
	"modes": module("modes", wheeltest.File{Path: "modes/run", Content: "r", Mode: 0o100755}, wheeltest.File{Path: "modes/user", Content: "u", Mode: 0o100744},
		wheeltest.File{Path: "modes/other", Content: "o", Mode: 0o100645}, wheeltest.File{Path: "modes/no-kind", Content: "n", Mode: 0o755},
		wheeltest.File{Path: "modes/dos", Content: "d", Mode: 0o100755, Change: func(h *zip.FileHeader) { h.CreatorVersion = 0 }},
		wheeltest.File{Path: "modes-1.0.data/scripts/s", Content: "#!/bin/sh\n", Mode: 0o100600}),
	"names": module("names", wheeltest.File{Path: "names/ünï.txt", Content: "u"}, wheeltest.File{Path: "names/a b,c\"d.txt", Content: "q"},
		wheeltest.File{Path: "names/#h;x", Content: "q"}, wheeltest.File{Path: "names/-x", Content: "q"}),
	"deflated": module("deflated", wheeltest.File{Path: "deflated/big", Content: strings.Repeat("line\n", 500000), Deflate: true}),
	"own-installer": func() wheeltest.Wheel {
		w := module("owni")
		w.Info = map[string][]byte{"INSTALLER": []byte("me"), "REQUESTED": []byte("x"), "direct_url.json": []byte("{}")}
		return w
	}(),
	// RECORD.
	"record-lacks":    recorded("rlacks", func(r []string) []string { return r[1:] }),
	"record-extra":    recorded("rextra", func(r []string) []string { return append(r, "gone.py,sha256=AA,1", "rextra/,,") }),
	"record-twice":    recorded("rtwice", func(r []string) []string { return append(r, r[0]) }),
	"record-dotted":   recorded("rdotted", func(r []string) []string { r[0] = "./" + r[0]; return r }),
	"record-slash":    recorded("rslash", func(r []string) []string { r[0] = "/" + r[0]; return r }),
	"record-no-own":   recorded("rnoown", func(r []string) []string { return r[:len(r)-1] }),
	"record-own-full": recorded("rownfull", func(r []string) []string { r[len(r)-1] = "rownfull-1.0.dist-info/RECORD,sha256=AAAA,5"; return r }),
	"record-no-hash":  recorded("rnohash", func(r []string) []string { r[0] = "rnohash/__init__.py,,"; return r }),
	"record-md5":      recorded("rmd", func(r []string) []string { r[0] = "rmd/__init__.py,md5=AAAA,6"; return r }),
	"record-sha512": recorded("rsha", func(r []string) []string {
		r[0] = "rsha/__init__.py,sha512=e73veyKgykOKZRFOeqVV-RiHar0CPb8GFYkM-jCLUlHBkx-rU_sUNgozT0yN7lCJ48E3W_3uNVShst_MuAk21g,6"
		return r
	}),
	"record-size":   recorded("rsize", func(r []string) []string { r[0] = strings.TrimSuffix(r[0], "6") + "007"; return r }),
	"record-padded": recorded("rpad", func(r []string) []string { r[0] = strings.Replace(r[0], ",6", "=,6", 1); return r }),
	"record-crlf":   recorded("rcrlf", func(r []string) []string { return []string{strings.Join(r, "\r\n") + "\r"} }),
	"record-signed": module("rsigned", wheeltest.File{Path: "rsigned-1.0.dist-info/RECORD.jws", Content: "{}"}),
	"record-unsigned": func() wheeltest.Wheel {
		w := module("runs", wheeltest.File{Path: "runs-1.0.dist-info/RECORD.jws", Content: "{}"})
		w.Record = func(r []string) []string {
			return slices.DeleteFunc(r, func(s string) bool { return strings.Contains(s, "jws") })
		}
		return w
	}(),
	"record-wrong": recorded("rwrong", func(r []string) []string {
		r[0] = "rwrong/__init__.py,sha256=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA,6"
		return r
	}),
	"record-up":   recorded("rup", func(r []string) []string { return append(r, "../../../bin/x,sha256=AA,1") }),
	"record-four": recorded("rfour", func(r []string) []string { r[0] += ",x"; return r }),
	// Commands.
	"points":          points("points", "[console_scripts]\n# comment\na = m.n:f\nb=m:f.g [x,y]\nc d = m : f \n; comment\n\nf.g-h = m:f\nü = m:f\n.dot = m:f\nq\"' = m:f\n\n[gui_scripts]\n  w = m:g\n  v = m:g\n[other]\nx = y\n"),
	"points-default":  points("pdefault", "[DEFAULT]\na = m:f\nb = m:f\n[console_scripts]\nb = m:g\n"),
	"points-inline":   points("pinline", "[console_scripts]\na = m:f # x\n"),
	"points-more":     points("pmore", "[console_scripts]\na = m:\n  f\n"),
	"points-key":      points("pkey", "[console_scripts]\na = m:f\na = m:f\n"),
	"points-blanks":   points("pblanks", "[ console_scripts ]\na = m:f\n"),
	"points-other":    points("pother", "[other]\nanything\n"),
	"points-crlf":     points("pcrlf", "[console_scripts]\r\na = m:f\r\n"),
	"points-pip":      points("ppip", "[console_scripts]\npip = m:f\npip3 = m:f\npip3.8 = m:f\npip3.x = m:f\n"),
	"points-both":     points("pboth", "[console_scripts]\na = m:f\n[gui_scripts]\na = m:g\n"),
	"points-twice":    points("ptwice", "[console_scripts]\na = m:f\n[console_scripts]\nb = m:f\n"),
	"points-empty":    points("pempty", ""),
	"points-no-func":  points("pnofunc", "[console_scripts]\na = m\n"),
	"points-no-value": points("pnoval", "[console_scripts]\na\n"),
	"points-code":     points("pcode", "[console_scripts]\na = m:f;import os\n"),
	"points-open":     points("popen", "[console_scripts\na = m:f\n"),
	"points-slash":    points("pslash", "[console_scripts]\n../a = m:f\n"),
	"points-python":   points("ppython", "[console_scripts]\npython3 = m:f\n"),
	"scripts-python":  module("sp", wheeltest.File{Path: "sp-1.0.data/scripts/python3.11", Content: "x"}),
	"scripts-dir":     module("sd", wheeltest.File{Path: "sd-1.0.data/scripts/d/x", Content: "x"}),
	"data-unknown":    module("du", wheeltest.File{Path: "du-1.0.data/stuff/x", Content: "x"}),
	"data-other":      module("do", wheeltest.File{Path: "other-1.0.data/purelib/x.py", Content: "x"}),
	// Names and versions.
	"local":       {Name: "local", Version: "1.0+cu118", DistInfo: "local-1.0.dist-info", Info: map[string][]byte{"METADATA": []byte("Metadata-Version: 2.1\nName: local\nVersion: 1.0\n")}},
	"spelling":    {Name: "Spel_ling", Version: "1.0.0", DistInfo: "spel.ling-1.0.dist-info", Info: map[string][]byte{"METADATA": []byte("Metadata-Version: 2.1\nName: SPEL-LING\nVersion: 1\n")}},
	"other-name":  {Name: "onname", Version: "1.0", Info: map[string][]byte{"METADATA": []byte("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")}},
	"other-vers":  {Name: "onvers", Version: "1.0", Info: map[string][]byte{"METADATA": []byte("Metadata-Version: 2.1\nName: onvers\nVersion: 2.0\n")}},
	"other-dist":  {Name: "ondist", Version: "1.0", DistInfo: "other-1.0.dist-info"},
	"two-dists":   module("td", wheeltest.File{Path: "other-1.0.dist-info/METADATA", Content: "x"}),
	"no-record":   {Name: "norec", Version: "1.0", Info: map[string][]byte{"RECORD": nil}},
	"no-wheel":    {Name: "nowheel", Version: "1.0", Info: map[string][]byte{"WHEEL": nil}},
	"no-metadata": {Name: "nometa", Version: "1.0", Info: map[string][]byte{"METADATA": nil}},
	"wheel-1.9":   {Name: "wnine", Version: "1.0", Info: map[string][]byte{"WHEEL": []byte("Wheel-Version: 1.9\nRoot-Is-Purelib: false\nTag: py3-none-any\n")}},
	"wheel-2":     {Name: "wtwo", Version: "1.0", Info: map[string][]byte{"WHEEL": []byte("Wheel-Version: 2.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")}},
	"wheel-bare":  {Name: "wbare", Version: "1.0", Info: map[string][]byte{"WHEEL": []byte("Root-Is-Purelib: true\n")}},
	// Archives.
	"up":           module("up", wheeltest.File{Path: "../up.txt", Content: "x"}),
	"absolute":     module("absolute", wheeltest.File{Path: "/tmp/absolute.txt", Content: "x"}),
	"link":         module("link", wheeltest.File{Path: "link/l", Content: "/etc/passwd", Mode: 0o120777}),
	"before":       {Name: "before", Version: "1.0", Before: "#!/bin/sh\n"},
	"after":        {Name: "after", Version: "1.0", After: "more"},
	"zeros":        {Name: "zeros", Version: "1.0", After: "\x00\x00\x00"},
	"same-twice":   module("stwice", wheeltest.File{Path: "stwice/a", Content: "a"}, wheeltest.File{Path: "stwice/a", Content: "a"}),
	"two-contents": module("twoc", wheeltest.File{Path: "twoc/a", Content: "a"}, wheeltest.File{Path: "twoc/a", Content: "b"}),
	"backslash":    module("backslash", wheeltest.File{Path: `backslash\x.py`, Content: "x"}),
}

func testCases(t *testing.T, s *session) {
	dir := t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		t.Run(name, func(t *testing.T) {
			path, _ := cases[name].Write(t, dir)
			s.check(t, Wheel{Path: path, Arch: "x86_64", Case: name})
		})
	}
}

package oracle

import (
	"strings"

	"github.com/hpcenv/hpcenv/internal/condatest"
)

// text makes a text file with a placeholder, often a script.
func (g *generator) text(f *condatest.File) {
	ph := pick(g, placeholder, "/opt/p", "/home/builder/miniforge3")
	f.Placeholder = ph
	var b strings.Builder
	if g.chance(2) || g.theme == "long" {
		f.Exec = true
		b.WriteString(g.interpreter(ph) + "\n")
	}
	for range g.r.IntN(5) {
		b.WriteString(pick(g,
			"prefix = "+ph+"\n",
			ph+"/bin:"+ph+"/lib\n",
			"no placeholder here: /opt/\n",
			ph+ph+"\n",
			"-I"+ph+"/include\r\n",
			"ü "+ph[:len(ph)-1]+" cut short\n",
			strings.Repeat("long ", 20000)+ph+"/far\n",
			"#!"+ph+"/bin/python not the first line\n",
			wide(1+g.r.IntN(4), ph+"/wide\n")))
	}
	if g.chance(3) {
		b.WriteString("last " + ph) // no line end
	}
	f.Content = b.String()
}

// interpreter makes a first line. With a long prefix only python's may name it:
// there is no exact form for another, and hpcenv refuses it (see refusals).
func (g *generator) interpreter(ph string) string {
	python := ph + "/bin/" + pick(g, "python", "python3", "python3.11")
	lines := []string{
		"#!" + python,
		"#!" + python + " -u",
		"#! " + python,
		"#!  " + python + " -W ignore -c 'x'",
		"#!/bin/sh",
		"#!/usr/bin/env python",
		"#!/usr/bin/env -S " + python + " -I",
		"# no interpreter " + ph,
	}
	if g.theme != "long" {
		lines = append(lines, "#!"+ph+"/bin/perl -w", "#!"+ph+"/bin/bash", "#!/usr/bin/env "+ph+"/bin/Rscript")
	} else {
		lines = append(lines[:4], lines[4], lines[5], lines[7])
	}
	return pick(g, lines...)
}

// binary makes a file with strings that hold a placeholder.
func (g *generator) binary(f *condatest.File) {
	ph := placeholder
	if g.chance(3) {
		ph = ("/b" + strings.Repeat("x", g.prefixLen))[:g.prefixLen] // fits to the byte
	}
	f.Placeholder, f.Binary = ph, true
	var b strings.Builder
	b.WriteString("\x7fELF\x02\x00\x00")
	for range g.r.IntN(6) {
		b.WriteString(pick(g,
			ph+"\x00",
			ph+"/lib/x.so\x00",
			"x:"+ph+"/a:"+ph+"/b:"+ph+"\x00tail\x00",
			ph+ph+"\x00\x00\x00",
			"\xff\xfe"+ph+"/s\x00\x01\x02",
			ph[:len(ph)-1]+"\x00",
			strings.Repeat("\x01\x00pad", 15000),
			wide(1+g.r.IntN(4), ph+"/wide\x00"),
			wide(1+g.r.IntN(4), "x"+ph+":"+ph+"\x00")+"t",
			strings.Repeat("no end ", 10000)+ph+strings.Repeat("/deep", 2000)+"\x00"))
	}
	if g.chance(3) {
		b.WriteString("at the end " + ph + "/no-nul")
	}
	f.Content = b.String()
}

// legacy takes a package's paths.json away and writes what packages had before.
func legacy(p *condatest.Package) {
	var files, hasPrefix, noLink strings.Builder
	for _, f := range p.Files {
		files.WriteString(f.Path + "\n")
		if f.Placeholder != "" {
			mode := "text"
			if f.Binary {
				mode = "binary"
			}
			hasPrefix.WriteString(`"` + f.Placeholder + `" ` + mode + ` "` + f.Path + "\"\n")
		}
		if f.NoLink {
			noLink.WriteString(f.Path + "\n")
		}
	}
	p.Info = map[string][]byte{"paths.json": nil, "files": []byte(files.String()), "no_link": []byte(noLink.String())}
	if hasPrefix.Len() > 0 {
		p.Info["has_prefix"] = []byte(hasPrefix.String())
	}
}

// wide is a text in UTF-16 (coding 1, or 2 with the high byte first) or UTF-32 (3
// and 4). It has characters of the basic plane only.
func wide(coding int, s string) string {
	unit := []int{2, 2, 4, 4}[coding-1]
	var b strings.Builder
	for _, r := range s {
		u := make([]byte, unit)
		if coding%2 == 1 {
			u[0], u[1] = byte(r), byte(r>>8)
		} else {
			u[unit-1], u[unit-2] = byte(r), byte(r>>8)
		}
		b.Write(u)
	}
	return b.String()
}

package main

import (
	"bytes"
	"fmt"
	"regexp"
)

var (
	environment = regexp.MustCompile(`(?m)^  ([A-Za-z0-9][^ :\n]*):$`)
	archiveName = regexp.MustCompile(`(?m)^( *- conda: .*/)([^/\n]+)$`)
)

// grow makes a lock of at least size bytes: the environments and packages of a
// lock again and again, each time with other names.
func grow(lock []byte, size int) []byte {
	head, rest, _ := bytes.Cut(lock, []byte("\nenvironments:\n"))
	environments, packages, _ := bytes.Cut(rest, []byte("\npackages:\n"))
	var e, p bytes.Buffer
	for copy := 0; len(head)+e.Len()+p.Len() < size; copy++ {
		e.Write(renamed(environment.ReplaceAll(environments, fmt.Appendf(nil, "  ${1}-%d:", copy)), copy))
		e.WriteByte('\n')
		p.Write(renamed(packages, copy))
	}
	out := append(bytes.Clone(head), "\nenvironments:\n"...)
	out = append(out, e.Bytes()...)
	out = append(out, "packages:\n"...)
	return append(out, p.Bytes()...)
}

func renamed(text []byte, copy int) []byte {
	return archiveName.ReplaceAll(text, fmt.Appendf(nil, "${1}copy%d-$2", copy))
}

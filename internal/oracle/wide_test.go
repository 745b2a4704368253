//go:build oracle

package oracle

import (
	"fmt"
	"strings"

	"github.com/hpcenv/hpcenv/internal/condatest"
)

// wideFiles is a package of files that have the placeholder in wide characters,
// next to one another in ways that say which string wins.
func wideFiles() condatest.Package {
	const l16, b16, l32, b32 = 1, 2, 3, 4
	p := func(coding int, more string) string { return wide(coding, placeholder+more) }
	texts := []string{
		"\xff\xfe" + wide(l16, "a") + p(l16, "/x\n"), wide(b16, "a") + p(b16, "/x\n"), p(l32, "\n"), p(b32, "\n"),
		placeholder + p(l16, "") + p(b16, "") + p(l32, "") + p(b32, "") + placeholder,
		"\x00" + p(l16, "") + "\x00" + p(l16, ""),
	}
	binaries := []string{
		p(l16, "/x\x00tail"), p(b16, "/x\x00tail"), p(l32, "/x\x00tail"), p(b32, "/x\x00tail"),
		wide(l16, "a") + p(l16, "/x\x00tail"), wide(b16, "a") + p(b16, "/x\x00tail"),
		"z" + p(l16, "/x\x00tail"), "zzz" + p(b32, "\x00") + p(l32, "/x\x00tail"),
		p(l16, "/at the end"), p(b16, "/at the end"), p(b32, "/at the end"), p(l16, "/x") + "odd",
		p(l16, ":") + p(l16, "/x\x00tail"), p(l32, ":") + p(l32, "/x"),
		p(b16, "\u0100\u4100/x\x00tail"), p(l16, "\u0100\u4100/x\x00tail"), "\x00" + p(l16, "\u0101\x00"), "\x00\x00" + p(b16, "\u0101\x00\x00"),
		placeholder + "\x00" + p(l16, "\x00") + p(b16, "\x00") + placeholder,
		placeholder + p(l16, "") + "\x00\x00\x00" + placeholder + "\x00",
		p(l16, "") + placeholder + "/u\x00\x00\x00end", p(b16, "") + p(l16, "\x00\x00"), p(l32, "") + p(b16, "") + p(b32, "\x00\x00"),
		strings.Repeat("pad", 30000) + p(l16, strings.Repeat("/deep", 30000)+"\x00") + "end",
	}
	out := condatest.Package{Name: "wide", Version: "1.0", Build: "0"}
	for kind, list := range [][]string{texts, binaries} {
		for i, content := range list {
			out.Files = append(out.Files, condatest.File{
				Path: fmt.Sprintf("lib/%d-%02d", kind, i), Content: content, Placeholder: placeholder, Binary: kind == 1,
			})
		}
	}
	return out
}

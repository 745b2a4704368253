package preflight

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
)

// copies: two different libraries of one sort, of which a process must have one. Which
// of them a program loads depends on what it imports, so that this is a warning; where
// no file's search path has both, nothing is said.
func copies(_ context.Context, in *Input) ([]Finding, error) {
	if in.Needs == nil {
		return nil, nil
	}
	path, _ := in.lookup("LD_LIBRARY_PATH")
	var out []Finding
	for _, c := range in.Needs.Copies {
		f := Finding{ID: "copies", Level: Warn, Act: User, File: c.Files[0],
			Next: "have one of them only: take it from conda or from PyPI, not from both (pixi tree shows who wants it)"}
		files := strings.Join(c.Files, " and ")
		switch reached := in.onLibraryPath(path, c.Files); {
		case c.By != "":
			f.Evidence = fmt.Sprintf("the environment has %d different copies of %s (%s), and %s looks for it where more than one is", len(c.Files), c.Library, files, c.By)
			if c.Program != "" {
				f.Evidence += ", through the search path of " + c.Program
			}
		case reached > 1:
			f.Evidence = fmt.Sprintf("LD_LIBRARY_PATH=%s leads to %d different copies of %s (%s)", path, reached, c.Library, files)
			f.Next = "unset LD_LIBRARY_PATH, or the module that sets it, before the environment's programs start"
		default:
			f = Finding{ID: "copies", Level: Fits, File: c.Files[0],
				Evidence: fmt.Sprintf("the environment has %d different copies of %s (%s), apart from one another", len(c.Files), c.Library, files)}
		}
		out = append(out, f)
	}
	return out, nil
}

// onLibraryPath counts the files that lie in directories of a path of libraries.
func (in *Input) onLibraryPath(list string, files []string) int {
	n := 0
	for _, file := range files {
		dir := path.Join(in.Prefix, path.Dir(file))
		if slices.ContainsFunc(strings.FieldsFunc(list, func(r rune) bool { return r == ':' || r == ';' }), func(d string) bool { return path.Clean(d) == dir }) {
			n++
		}
	}
	return n
}

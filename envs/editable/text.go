package editable

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hpcenv/hpcenv/envs/tomltree"
)

// readmeTypes by a file's ending.
var readmeTypes = map[string]string{".md": "text/markdown", ".rst": "text/x-rst", ".txt": "text/plain"}

// readme reads [project].readme.
func (r *reader) readme() error {
	v := r.root.Get("project", "readme")
	if v == nil {
		return nil
	}
	file, kind := "", ""
	switch v.Kind {
	case tomltree.String:
		file = v.Text
	case tomltree.Table:
		file, kind = r.text("project", "readme", "file"), r.text("project", "readme", "content-type")
		if text := r.text("project", "readme", "text"); text != "" {
			r.add("Description-Content-Type", kind)
			r.out.metadata.description = text
			return nil
		}
	default:
		r.wrong(v, []string{"project", "readme"}, "a text or a table")
		return nil
	}
	if kind == "" {
		if kind = readmeTypes[strings.ToLower(filepath.Ext(file))]; kind == "" {
			return r.refuse(v.Line, "write it as a table with content-type", "the kind of the readme %s is not known by its name", file)
		}
	}
	data, err := r.named(file, "the readme", v.Line)
	if err != nil {
		return err
	}
	r.add("Description-Content-Type", kind)
	r.out.metadata.description = string(data)
	return nil
}

// named reads a file that pyproject.toml names; it must be UTF-8.
func (r *reader) named(file, what string, line int32) ([]byte, error) {
	data, err := r.file(file)
	if err != nil {
		return nil, r.refuse(line, "bring the file, or correct the path", "%s: %v", what, err)
	}
	if !utf8.Valid(data) {
		return nil, r.refuse(line, "write it in UTF-8", "%s %s is not UTF-8", what, file)
	}
	return data, nil
}

// licence reads the licence: an expression and files, or the older table.
func (r *reader) licence() error {
	v := r.root.Get("project", "license")
	switch {
	case v == nil:
	case v.Kind == tomltree.String:
		r.add("License-Expression", v.Text)
	case v.Kind == tomltree.Table && v.Get("text") != nil:
		r.add("License", strings.ReplaceAll(r.text("project", "license", "text"), "\n", " "))
	case v.Kind == tomltree.Table:
		file := r.text("project", "license", "file")
		if _, err := r.named(file, "the licence", v.Line); err != nil {
			return err
		}
		r.out.licences = append(r.out.licences, file)
	default:
		r.wrong(v, []string{"project", "license"}, "a text or a table")
	}
	globs := r.licenceGlobs
	if r.root.Get("project", "license-files") != nil {
		globs = r.texts("project", "license-files")
	}
	for _, g := range globs {
		_, err := filepath.Match(g, "")
		if err != nil || !filepath.IsLocal(g) {
			return r.refuse(r.line("project", "license-files"), "correct it", "%q is no pattern for licence files", g)
		}
		found, err := filepath.Glob(filepath.Join(globQuote(r.tree.Dir), g))
		if err != nil {
			return err
		}
		for _, f := range found {
			if rel, err := filepath.Rel(r.tree.Dir, f); err == nil && r.isFile(rel) {
				r.out.licences = append(r.out.licences, rel)
			}
		}
	}
	slices.Sort(r.out.licences)
	r.out.licences = slices.Compact(r.out.licences)
	r.add("License-File", r.out.licences...)
	return nil
}

// globQuote is a path as a pattern that means only itself.
func globQuote(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

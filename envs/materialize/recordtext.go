package materialize

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

// A record is two lists with an entry for every path, and a few fields beside
// them. The lists are most of its bytes: they are written here, in the very form
// that encoding/json gives them with an indent of two spaces and without escapes
// for HTML (a test compares), at a twentieth of its cost.

// encodeRecord appends a record to out: fields, which are JSON each, and the lists
// files and paths; keys sorted.
func encodeRecord(out []byte, fields map[string]json.RawMessage, files []string, paths []recordPath) ([]byte, error) {
	out = slices.Grow(out, 1<<12+len(paths)*400)
	keys := append(slices.Collect(maps.Keys(fields)), "files", "paths_data")
	slices.Sort(keys)
	out = append(out, '{')
	for i, key := range keys {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, "\n  "...)
		out = append(appendText(out, key), ": "...)
		switch key {
		case "files":
			out = appendFiles(out, files)
		case "paths_data":
			out = appendPaths(out, paths)
		default:
			var buf bytes.Buffer
			if err := json.Indent(&buf, fields[key], "  ", "  "); err != nil {
				return nil, fmt.Errorf("field %q: %w", key, err)
			}
			out = append(out, buf.Bytes()...)
		}
	}
	return append(out, "\n}\n"...), nil
}

func appendFiles(out []byte, files []string) []byte {
	if len(files) == 0 {
		return append(out, "[]"...)
	}
	out = append(out, '[')
	for i, f := range files {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendText(append(out, "\n    "...), f)
	}
	return append(out, "\n  ]"...)
}

// appendPaths writes a paths_data of version 1.
func appendPaths(out []byte, paths []recordPath) []byte {
	out = append(out, "{\n    \"paths_version\": 1,\n    \"paths\": ["...)
	for i := range paths {
		if i > 0 {
			out = append(out, ',')
		}
		out = paths[i].append(append(out, "\n      {"...))
		out = append(out, "\n      }"...)
	}
	if len(paths) > 0 {
		out = append(out, "\n    "...)
	}
	return append(out, "]\n  }"...)
}

// append writes the fields that a path has, each on a line.
func (p *recordPath) append(out []byte) []byte {
	field := func(key string) {
		out = append(out, "\n        \""...)
		out = append(append(out, key...), "\": "...)
	}
	text := func(key, value string) {
		if value != "" {
			out = append(out, ',')
			field(key)
			out = appendText(out, value)
		}
	}
	field("_path")
	out = append(appendText(out, p.Path), ',')
	field("path_type")
	out = appendText(out, p.Type)
	text("sha256", p.SHA256)
	text("sha256_in_prefix", p.SHA256InPrefix)
	if p.Size != nil {
		out = append(out, ',')
		field("size_in_bytes")
		out = strconv.AppendInt(out, *p.Size, 10)
	}
	text("prefix_placeholder", p.Placeholder)
	text("file_mode", p.Mode)
	if p.NoLink {
		out = append(out, ',')
		field("no_link")
		out = append(out, "true"...)
	}
	return out
}

// appendText writes s as a JSON text.
func appendText(out []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return append(out, quoted(s)...)
		}
	}
	out = append(append(out, '"'), s...)
	return append(out, '"')
}

// quoted is a text in which something may have to be escaped.
func quoted(s string) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic("materialize: a text without JSON form: " + err.Error()) // there is none
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte{'\n'})
}

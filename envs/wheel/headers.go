package wheel

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hpcenv/hpcenv/cache"
)

// headers are the fields of METADATA or WHEEL, which have the form of an e-mail's
// headers, in their order.
type headers []struct{ key, value string }

// parseHeaders reads fields up to the first empty line. A line that begins with a
// blank goes on with the field before. The file must be UTF-8.
func parseHeaders(file string, data []byte) (headers, error) {
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("%s is not UTF-8: %w", file, cache.ErrIntegrity)
	}
	var out headers
	text := strings.TrimPrefix(string(data), "\ufeff")
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if line == "" {
			break
		}
		if line[0] == ' ' || line[0] == '\t' {
			if len(out) == 0 {
				return nil, fmt.Errorf("%s, line %d goes on with a field, but there is none before: %w", file, n+1, cache.ErrIntegrity)
			}
			out[len(out)-1].value += "\n" + line
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("%s, line %d: %q is no field: %w", file, n+1, shorten(line), cache.ErrIntegrity)
		}
		out = append(out, struct{ key, value string }{strings.TrimSpace(key), strings.TrimSpace(value)})
	}
	return out, nil
}

// all are the values of a field, in order. Names of fields have no case.
func (h headers) all(key string) []string {
	var out []string
	for _, f := range h {
		if strings.EqualFold(f.key, key) {
			out = append(out, f.value)
		}
	}
	return out
}

// first is a field's first value; "" = there is none.
func (h headers) first(key string) string {
	for _, f := range h {
		if strings.EqualFold(f.key, key) {
			return f.value
		}
	}
	return ""
}

// parseWheel reads WHEEL into meta. A wheel of a greater major version is
// refused; what is new in a greater minor version may be left out (a note).
func parseWheel(file string, data []byte, meta *Meta) (notes []string, err error) {
	h, err := parseHeaders(file, data)
	if err != nil {
		return nil, err
	}
	v := h.first("Wheel-Version")
	major, minor, ok := strings.Cut(v, ".")
	if !ok || !digits(major) || !digits(minor) {
		return nil, fmt.Errorf("%s: Wheel-Version is %q, not a number like 1.0: %w", file, shorten(v), cache.ErrIntegrity)
	}
	if n, err := strconv.Atoi(major); err != nil || n > 1 || n == 0 && v != "0.1" {
		return nil, fmt.Errorf("%s: Wheel-Version is %s, this hpcenv installs 1.x only: %w", file, v, cache.ErrIntegrity)
	}
	if strings.Trim(minor, "0") != "" && v != "0.1" {
		notes = append(notes, fmt.Sprintf("%s: Wheel-Version is %s; it is installed as 1.0", file, v))
	}
	meta.WheelVersion, meta.Generator, meta.Tags = v, h.first("Generator"), h.all("Tag")
	meta.Pure = h.first("Root-Is-Purelib") == "true"
	return notes, nil
}

// parseMetadata reads METADATA into meta.
func parseMetadata(file string, data []byte, meta *Meta) error {
	h, err := parseHeaders(file, data)
	if err != nil {
		return err
	}
	meta.Name, meta.Version = h.first("Name"), h.first("Version")
	meta.RequiresPython, meta.RequiresDist = h.first("Requires-Python"), h.all("Requires-Dist")
	meta.ProvidesExtra = h.all("Provides-Extra")
	for _, f := range []struct{ what, value string }{{"Name", meta.Name}, {"Version", meta.Version}} {
		if f.value == "" {
			return fmt.Errorf("%s has no %s: %w", file, f.what, cache.ErrIntegrity)
		}
	}
	return nil
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// shorten cuts a text of a package for a message.
func shorten(s string) string {
	const most = 120
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

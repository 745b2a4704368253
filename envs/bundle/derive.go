package bundle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// derive writes the lock of a pack: a pixi.lock of version 6 with the environment
// default, whose locations are paths in the pack. Equal packs give equal bytes
// wherever they lie, so their environments have one id; it is not the id that the
// lock of the pack's maker gives, whose locations are URLs.
func derive(platform string, records []*record, wheels []wheel) []byte {
	y := &yaml{}
	y.line("version: 6")
	y.line("environments:")
	y.line("  %s:", DerivedEnvironment)
	y.line("    channels:")
	y.line("    - url: %s", quoted("./"+channelDir))
	y.line("    packages:")
	y.line("      %s:", platform)
	for _, r := range records {
		y.line("      - conda: %s", quoted("./"+r.path))
	}
	for _, w := range wheels {
		y.line("      - pypi: %s", quoted("./"+w.path))
	}
	y.line("packages:")
	for _, r := range records {
		r.write(y)
	}
	for _, w := range wheels {
		y.line("- pypi: %s", quoted("./"+w.path))
		y.text("name", w.name)
		y.text("version", w.version)
		y.text("sha256", w.sha256)
	}
	return y.Bytes()
}

func (r *record) write(y *yaml) {
	y.line("- conda: %s", quoted("./"+r.path))
	y.text("name", r.Name)
	y.text("version", r.Version)
	y.text("build", r.Build)
	y.line("  build_number: %d", r.BuildNumber)
	y.text("subdir", r.Subdir)
	switch kind := noarchKind(r.Noarch); {
	case kind != "":
		y.text("noarch", kind)
	case r.Subdir == noarch:
		y.line("  noarch: false") // else a reader guesses
	}
	y.text("sha256", r.SHA256)
	y.text("md5", r.MD5)
	y.text("legacy_bz2_md5", r.LegacyBz2MD5)
	y.number("legacy_bz2_size", r.LegacyBz2Size)
	y.list("depends", r.Depends)
	y.list("constrains", r.Constrains)
	if len(r.ExtraDepends) > 0 {
		y.line("  extra_depends:")
		for _, extra := range slices.Sorted(maps.Keys(r.ExtraDepends)) {
			y.line("    %s:", quoted(extra))
			for _, d := range r.ExtraDepends[extra] {
				y.line("    - %s", quoted(d))
			}
		}
	}
	y.text("features", r.Features)
	y.list("flags", r.Flags)
	y.list("track_features", features(r.TrackFeatures))
	y.text("license", r.License)
	y.text("license_family", r.LicenseFamily)
	y.list("purls", r.Purls)
	y.number("size", r.Size)
	y.number("timestamp", r.Timestamp)
	y.text("python_site_packages_path", r.PythonSitePath)
}

// noarchKind of a record; true is from the first noarch scheme, before there were
// kinds.
func noarchKind(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		if v {
			return "generic"
		}
	}
	return ""
}

// features are a list, or a text with blanks or commas.
func features(v any) (out []string) {
	switch v := v.(type) {
	case string:
		return strings.FieldsFunc(v, func(r rune) bool { return r == ' ' || r == ',' })
	case []any:
		for _, x := range v {
			if s, ok := x.(string); ok && s != "" {
				out = append(out, s)
			}
		}
	}
	return out
}

// yaml is a lock that is written. What is empty is left out.
type yaml struct{ bytes.Buffer }

func (y *yaml) line(format string, args ...any) { fmt.Fprintf(y, format+"\n", args...) }

func (y *yaml) text(key, value string) {
	if value != "" {
		y.line("  %s: %s", key, quoted(value))
	}
}

func (y *yaml) number(key string, n int64) {
	if n != 0 {
		y.line("  %s: %d", key, n)
	}
}

func (y *yaml) list(key string, values []string) {
	if len(values) == 0 {
		return
	}
	y.line("  %s:", key)
	for _, v := range values {
		y.line("  - %s", quoted(v))
	}
}

// quoted is a text in double quotes, with the escapes that JSON and YAML share.
func quoted(s string) string {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a text always has a JSON form
	}
	return strings.TrimSuffix(out.String(), "\n")
}

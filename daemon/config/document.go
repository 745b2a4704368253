package config

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// head of the documented file.
const head = `# /etc/hpcenv/hpcenvd.yaml: all keys, with their defaults where they have one
# (hpcenvd config example prints this file). A key that is not known is an error.
# HPCENVD_FETCH_PARALLEL=4 and the like, and flags (hpcenvd --help), win over this file.
# What says "(reload)" is taken by systemctl reload hpcenvd, all else by a restart.
# hpcenv admin config check looks the file through.
`

// Document is the documented file: every key, its default, and what it does. It is a
// configuration that can be loaded, and whose values are the defaults.
func Document() string {
	var b strings.Builder
	b.WriteString(head)
	group := ""
	for i := range table {
		k := &table[i]
		above, name, grouped := strings.Cut(k.Name, ".")
		indent := ""
		switch {
		case !grouped:
			name, above = k.Name, ""
			b.WriteByte('\n')
		case above != group:
			fmt.Fprintf(&b, "\n%s:\n", above)
		}
		if group = above; grouped {
			indent = "  "
		}
		doc := k.Doc
		if k.Live {
			doc += " (reload)"
		}
		for line := range strings.SplitSeq(doc, "\n") {
			b.WriteString(strings.TrimRight(indent+"# "+line, " ") + "\n")
		}
		fmt.Fprintf(&b, "%s%s: %s\n", indent, name, k.shown())
	}
	return b.String()
}

// shown is the value that the documented file has.
func (k *Key) shown() string {
	if k.Example != "" {
		return k.Example
	}
	return Text(k.Default)
}

// Text of a value, as the file has it.
func Text(value any) string {
	switch v := value.(type) {
	case time.Duration:
		s := v.String()
		for _, zero := range []string{"m0s", "h0m"} {
			if strings.HasSuffix(s, zero) {
				s = s[:len(s)-2]
			}
		}
		return s
	case string:
		return scalar(v)
	case []string:
		words := make([]string, len(v))
		for i := range v {
			words[i] = scalar(v[i])
		}
		return "[" + strings.Join(words, ", ") + "]"
	}
	if r := reflect.ValueOf(value); r.Kind() == reflect.Slice {
		if r.Len() == 0 {
			return "[]"
		}
		return fmt.Sprintf("(%d entries)", r.Len())
	}
	return fmt.Sprint(value)
}

// scalar is a string in YAML, quoted where it would be read as something else.
func scalar(s string) string {
	var back any
	if err := yaml.Unmarshal([]byte(s), &back); err == nil {
		if again, ok := back.(string); ok && again == s && !strings.ContainsAny(s, ",[]{}#") {
			return s
		}
	}
	return fmt.Sprintf("%q", s)
}

package editable

import (
	"regexp"
	"strings"
	"sync"
)

// assignment is a statement at the top level of a Python source that gives one or
// more names a constant: a text, or a tuple or list of texts and numbers.
var assignment = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^((?:\w+\s*(?::[^=\n]*)?=\s*)+)(?:"([^"\\\n]*)"|'([^'\\\n]*)'|[(\[]([^()\[\]\n]*)[)\]])[ \t]*(?:;?[ \t]*#[^\n]*)?\r?$`)
})

// assigned is any statement at the top level that gives a name a value.
func assigned(source, name string) bool {
	return regexp.MustCompile(`(?m)^(?:\w+\s*=\s*)*` + regexp.QuoteMeta(name) + `\s*(?::[^=\n]*)?=[^=]`).MatchString(source)
}

// constant is the value of a name in a Python source, read as text: nothing is
// run. ok is false if the name is not given exactly one constant value.
func constant(source, name string) (value string, ok bool) {
	found := map[string]bool{}
	for _, m := range assignment().FindAllStringSubmatch(source, -1) {
		for _, target := range strings.Split(m[1], "=") {
			target, _, _ = strings.Cut(target, ":")
			if strings.TrimSpace(target) != name {
				continue
			}
			value = m[2] + m[3]
			if m[4] != "" {
				value = joined(m[4])
			}
			if value == "" {
				return "", false
			}
			found[value] = true
		}
	}
	return value, len(found) == 1
}

// joined is a list of constants with dots between them; "" if one is not plain.
func joined(list string) string {
	var out []string
	for _, item := range strings.Split(strings.TrimSuffix(strings.TrimSpace(list), ","), ",") {
		item = strings.Trim(strings.TrimSpace(item), `"'`)
		if item == "" || strings.ContainsAny(item, `"'\ `) {
			return ""
		}
		out = append(out, item)
	}
	return strings.Join(out, ".")
}

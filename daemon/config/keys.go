package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/hpcenv/hpcenv/envs/sitebuild"
	"github.com/hpcenv/hpcenv/internal/nearest"
)

// checkKeys looks at every key of the file by itself, since viper neither
// knows lines nor tells of keys that nobody asks for.
func checkKeys(path string, data []byte, at places) error {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrConfig, path, err)
	}
	if len(doc.Content) == 0 {
		return nil // an empty file
	}
	return walk(path, "", doc.Content[0], at)
}

func walk(path, above string, n *yaml.Node, at places) error {
	if n.Kind != yaml.MappingNode {
		what := "the file"
		if above != "" {
			what = strings.TrimSuffix(above, ".")
		}
		return fmt.Errorf("%w: %s:%d: %s must be a mapping of keys", ErrConfig, path, n.Line, what)
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, value := n.Content[i], n.Content[i+1]
		key := above + k.Value
		if line, twice := seen[key]; twice {
			return fmt.Errorf("%w: %s:%d: %s was set in line %d already", ErrConfig, path, k.Line, key, line)
		}
		seen[key] = k.Line
		at[key] = Place{From: FromFile, Where: fmt.Sprintf("%s:%d", path, k.Line)}
		if _, known := defaults[key]; known {
			if value.Kind == yaml.SequenceNode {
				for i, entry := range value.Content {
					at[fmt.Sprintf("%s entry %d", key, i+1)] = Place{From: FromFile, Where: fmt.Sprintf("%s:%d", path, entry.Line)}
				}
			}
			if fields := listKeys[key]; fields != nil {
				if err := checkRules(path, key, fields, value); err != nil {
					return err
				}
				continue
			}
			if _, list := defaults[key].([]string); !list && value.Kind != yaml.ScalarNode {
				return fmt.Errorf("%w: %s:%d: %s must be one value", ErrConfig, path, value.Line, key)
			}
			continue
		}
		if !isGroup(key) {
			return fmt.Errorf("%w: %s:%d: unknown key %s; the nearest is %s", ErrConfig, path, k.Line, key, near(key, defaults))
		}
		if err := walk(path, key+".", value, at); err != nil {
			return err
		}
	}
	return nil
}

// listKeys are the keys that hold lists of mappings, and what each entry may have.
var listKeys = map[string][]string{
	"interpreters":    {"version", "platform", "kind", "free_threaded", "url", "sha256", "with"},
	"scripts.allow":   {"channel", "package"},
	"budgets":         budgetKeys,
	"watch.locks":     watchKeys,
	"fetch.mirrors":   {"prefix", "urls"},
	"selection.rules": {"key", "gpu", "network", "partition", "architecture", "mixed", "prefer", "set"},
	"site_builds":     sitebuild.Keys(),
	"fetch.buckets":   {"name", "endpoint", "region", "path_style"},
}

// checkRules looks at the keys of a list of mappings.
func checkRules(path, key string, fields []string, n *yaml.Node) error {
	form := "{" + strings.Join(fields, ":, ") + ":}"
	if n.Kind != yaml.SequenceNode {
		return fmt.Errorf("%w: %s:%d: %s must be a list of %s", ErrConfig, path, n.Line, key, form)
	}
	known := map[string]bool{}
	for _, f := range fields {
		known[f] = true
	}
	for _, item := range n.Content {
		if item.Kind != yaml.MappingNode {
			return fmt.Errorf("%w: %s:%d: an entry of %s must be %s", ErrConfig, path, item.Line, key, form)
		}
		for i := 0; i+1 < len(item.Content); i += 2 {
			if k := item.Content[i]; !known[k.Value] {
				return fmt.Errorf("%w: %s:%d: unknown key %s in %s; the nearest is %s", ErrConfig, path, k.Line, k.Value, key, near(k.Value, known))
			}
		}
	}
	return nil
}

// isGroup: there are keys below this one.
func isGroup(key string) bool {
	for known := range defaults {
		if strings.HasPrefix(known, key+".") {
			return true
		}
	}
	return false
}

// near returns the key of known that is most like a name.
func near[V any](name string, known map[string]V) string {
	return nearest.Of(name, slices.Collect(maps.Keys(known)))
}

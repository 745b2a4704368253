package channel

import (
	"fmt"
	"sort"
	"strings"
)

// Select is the closure of roots over depends for one platform, sorted by name.
// Virtual packages (__glibc) are the node's.
func (c *Channel) Select(platform string, roots []string) ([]*Entry, error) {
	byName := map[string]*Entry{}
	for i := range c.Packages {
		e := &c.Packages[i]
		if e.Subdir != platform && e.Subdir != "noarch" {
			continue
		}
		if other := byName[e.Name]; other != nil {
			return nil, fmt.Errorf("the channel has two packages %s for %s: %s and %s", e.Name, platform, other.File, e.File)
		}
		byName[e.Name] = e
	}
	chosen := map[string]*Entry{}
	var visit func(name, by string) error
	visit = func(name, by string) error {
		if strings.HasPrefix(name, "__") || chosen[name] != nil {
			return nil
		}
		e := byName[name]
		if e == nil {
			return fmt.Errorf("the channel has no package %s for %s (needed by %s)", name, platform, by)
		}
		chosen[name] = e
		for _, d := range e.Depends {
			n, _, _ := strings.Cut(d, " ")
			if err := visit(n, e.Name); err != nil {
				return err
			}
		}
		return nil
	}
	for _, r := range roots {
		if err := visit(r, "the environment"); err != nil {
			return nil, err
		}
	}
	out := make([]*Entry, 0, len(chosen))
	for _, e := range chosen {
		out = append(out, e)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out, nil
}

// Names of all packages, sorted, each once.
func (c *Channel) Names() []string {
	seen := map[string]bool{}
	var out []string
	for _, e := range c.Packages {
		if !seen[e.Name] {
			seen[e.Name] = true
			out = append(out, e.Name)
		}
	}
	sort.Strings(out)
	return out
}

// onAll tells whether a package is there for each of the platforms.
func (c *Channel) onAll(name string, platforms []string) bool {
	have := map[string]bool{}
	for i := range c.Packages {
		if c.Packages[i].Name == name {
			have[c.Packages[i].Subdir] = true
		}
	}
	for _, p := range platforms {
		if !have[p] && !have["noarch"] {
			return false
		}
	}
	return true
}

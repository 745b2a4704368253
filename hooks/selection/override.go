package selection

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/conda/version"
	"github.com/hpcenv/hpcenv/hooks/facts"
)

// maxOverride bounds the value of an override in bytes: it travels with the job.
const maxOverride = 64

// Overrides are the CONDA_OVERRIDE_ variables that lookup (os.LookupEnv) has, as they
// travel in a Wish; nil = there are none. One that is no version is an error of class
// ErrWish.
func Overrides(lookup func(string) (string, bool)) (map[string]string, error) {
	var out map[string]string
	for _, name := range facts.OverrideVariables() {
		value, ok := lookup(name)
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		if err := checkOverride(name, value); err != nil {
			return nil, fmt.Errorf("%w: %s=%.80s in the environment: %w; next: unset %s", ErrWish, name, value, err, name)
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = value
	}
	return out, nil
}

// checkOverride refuses what no node could have; "" takes a virtual package away.
func checkOverride(name, value string) error {
	switch {
	case value == "":
		return nil
	case len(value) > maxOverride:
		return fmt.Errorf("it has more than %d bytes", maxOverride)
	case name == archspecOverride:
		if strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return errors.New("it is no name of a microarchitecture")
		}
		return nil
	}
	_, err := version.Parse(value)
	return err
}

const archspecOverride = "CONDA_OVERRIDE_ARCHSPEC"

// Override looks an override up, as facts.Override asks for it.
func (w *Wish) Override(name string) (string, bool) {
	value, ok := w.Overrides[name]
	return value, ok
}

// OverrideNote says what overrides do, for people; "" where there are none.
func OverrideNote(overrides map[string]string) string {
	if len(overrides) == 0 {
		return ""
	}
	var set, names []string
	for _, name := range facts.OverrideVariables() {
		if value, ok := overrides[name]; ok {
			set, names = append(set, name+"="+value), append(names, name)
		}
	}
	return fmt.Sprintf("%s in the environment stands for what the nodes have; next: unset %s to choose by the nodes themselves", strings.Join(set, " "), strings.Join(names, " "))
}

// Overridden is the kind that a node of this kind counts as where overrides are set.
func (k Kind) Overridden(lookup func(string) (string, bool)) Kind {
	virtuals := facts.Override(k.Virtuals, lookup)
	ancestors := facts.OverrideAncestors(k.Ancestors, lookup)
	if slices.Equal(virtuals, k.Virtuals) && slices.Equal(ancestors, k.Ancestors) {
		return k
	}
	k.Virtuals, k.Ancestors = virtuals, ancestors
	return k.Sealed()
}

// pinOverrides and unpinOverrides are their form in a pin: NAME=VALUE, sorted.
func pinOverrides(overrides map[string]string) (out []string) {
	for _, name := range facts.OverrideVariables() {
		if value, ok := overrides[name]; ok {
			out = append(out, name+"="+value)
		}
	}
	return out
}

func unpinOverrides(texts []string) (map[string]string, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	out := map[string]string{}
	for _, text := range texts {
		name, value, found := strings.Cut(text, "=")
		_, twice := out[name]
		if !found || twice || !slices.Contains(facts.OverrideVariables(), name) || checkOverride(name, value) != nil {
			return nil, broken("an override")
		}
		out[name] = value
	}
	return out, nil
}

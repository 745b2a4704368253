package selection

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// UnmarshalJSON reads the compact form. It comes from a job's environment, so
// every number in it is checked; the error is of class ErrPinned.
func (p *PinnedPlan) UnmarshalJSON(data []byte) error {
	var j pinnedJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return fmt.Errorf("%w: %w", ErrPinned, err)
	}
	if j.Version != wireVersion {
		return fmt.Errorf("%w: it has version %d, this hpcenv reads %d; the submit host has another hpcenv than this node", ErrPinned, j.Version, wireVersion)
	}
	check, err := ParseCheck(string(j.Check))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPinned, err)
	}
	if !slices.Contains([]string{"", "a", "d"}, j.Mode) {
		return broken("whether it is decided")
	}
	out := PinnedPlan{
		Decided: j.Mode == "d", AloneEach: j.Mode == "a", Rules: j.Rules, kind: map[string]int{},
		Wish: Wish{Environment: j.Named, GPU: j.GPU, MultiNode: j.MultiNode, Partitions: j.Partitions, Check: check},
	}
	wires := make([]Wire, len(j.Wires))
	for i, text := range j.Wires {
		wires[i] = textWire(text)
	}
	if out.Decided {
		if !within(j.Wire, wires) {
			return broken("its wire")
		}
		out.Wire = wires[j.Wire]
	}
	for _, n := range j.Choices {
		c, err := readChoice(&j, wires, n)
		if err != nil {
			return err
		}
		out.choices = append(out.choices, c)
	}
	for _, row := range j.Site {
		var settings []RuleSetting
		for _, text := range row {
			name, value, found := strings.Cut(text, "=")
			if !found || !isVariable(name) || strings.ContainsAny(value, "\x00\n") {
				return broken("a variable of the site")
			}
			settings = append(settings, RuleSetting{name, value})
		}
		out.site = append(out.site, settings)
	}
	for _, numbers := range j.Sets {
		set, err := readSet(&out, wires, numbers)
		if err != nil {
			return err
		}
		out.sets = append(out.sets, set)
	}
	raw, err := b64.DecodeString(j.Kinds)
	if err != nil || len(raw)%(kindBytes+2) != 0 {
		return broken("its kinds")
	}
	for ; len(raw) > 0; raw = raw[kindBytes+2:] {
		i := int(raw[kindBytes])<<8 | int(raw[kindBytes+1])
		if !within(i, out.sets) {
			return broken("its kinds")
		}
		out.kind[hex.EncodeToString(raw[:kindBytes])] = i
	}
	*p = out
	return nil
}

func broken(what string) error { return fmt.Errorf("%w: %s cannot be read", ErrPinned, what) }

func within[T any](i int, list []T) bool { return i >= 0 && i < len(list) }

func readChoice(j *pinnedJSON, wires []Wire, n [5]int) (c Choice, err error) {
	network := n[3] >> networkShift
	if !within(n[0], j.Environments) || !within(n[1], j.Platforms) || !within(n[2], wires) || n[3] < 0 || !within(network, networkCodes) {
		return c, broken("a choice")
	}
	c.Environment = j.Environments[n[0]]
	name, subdir, two := strings.Cut(j.Platforms[n[1]], "=")
	if !two {
		subdir = name
	}
	if bad(c.Environment) || bad(name) || bad(subdir) {
		return c, broken("a choice")
	}
	c.Platform, c.Subdir = name, subdir
	c.Family, c.MPI = wires[n[2]].Family, wires[n[2]].MPI
	c.Network = networkCodes[network]
	c.Native, c.Forced = n[3]&flagNative != 0, n[3]&flagForced != 0
	if n[4] != -1 {
		if !within(n[4], j.IDs) {
			return c, broken("an id")
		}
		if c.ID, err = unpackID(j.IDs[n[4]]); err != nil || bad(c.ID) {
			return c, broken("an id")
		}
	}
	return c, nil
}

// bad: no name of an environment, a platform or an id.
func bad(s string) bool { return s == "" || s == "." || s == ".." || strings.ContainsAny(s, "/\x00\n") }

func readSet(p *PinnedPlan, wires []Wire, numbers []int) (set pinnedSet, err error) {
	if len(numbers)%3 != 1 || numbers[0] < 0 || numbers[0] > len(p.site) {
		return set, broken("what a kind gets")
	}
	set.site = numbers[0]
	for n := numbers[1:]; len(n) > 0; n = n[3:] {
		o := option{choice: n[0] - 1, preferred: n[2]&flagPreferred != 0, isDefault: n[2]&flagDefault != 0, mixed: n[2] >> flagShift}
		if n[0] != 0 && !within(o.choice, p.choices) || !within(n[1], wires) || o.mixed < 0 || o.mixed > maxMixed {
			return set, broken("what a kind gets")
		}
		o.wire = wires[n[1]]
		set.options = append(set.options, o)
	}
	if (p.Decided || p.AloneEach) && (len(set.options) > 1 || len(set.options) == 1 && set.options[0].choice < 0) {
		return set, broken("what a kind gets")
	}
	return set, nil
}

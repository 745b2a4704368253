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
	overrides, err := unpinOverrides(j.Overrides)
	if err != nil {
		return err
	}
	if !slices.Contains([]string{"", "a", "d"}, j.Mode) {
		return broken("whether it is decided")
	}
	out := PinnedPlan{
		Decided: j.Mode == "d", AloneEach: j.Mode == "a", Rules: j.Rules, kind: map[string]int{},
		Wish: Wish{Environment: j.Named, GPU: j.GPU, MultiNode: j.MultiNode, Partitions: j.Partitions, Check: check, Overrides: overrides},
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
	if len(j.Choices)%5 != 0 {
		return broken("its choices")
	}
	for n := range slices.Chunk(j.Choices, 5) {
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
	for rest := j.Sets; len(rest) > 0; {
		var set pinnedSet
		var err error
		if set, rest, err = readSet(&out, wires, rest); err != nil {
			return err
		}
		out.sets = append(out.sets, set)
	}
	raw := j.Kinds
	if len(raw)%(kindBytes+2) != 0 {
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

func readChoice(j *pinnedJSON, wires []Wire, n []byte) (c Choice, err error) {
	environment, platform, wire, network, id := int(n[0]), int(n[1]), int(n[2]), int(n[3]>>networkShift), int(n[4])-1
	if !within(environment, j.Environments) || !within(platform, j.Platforms) || !within(wire, wires) || !within(network, networkCodes) {
		return c, broken("a choice")
	}
	c.Environment = j.Environments[environment]
	name, subdir, two := strings.Cut(j.Platforms[platform], "=")
	if !two {
		subdir = name
	}
	if bad(c.Environment) || bad(name) || bad(subdir) {
		return c, broken("a choice")
	}
	c.Platform, c.Subdir = name, subdir
	c.Family, c.MPI = wires[wire].Family, wires[wire].MPI
	c.Network = networkCodes[network]
	c.Native, c.Forced = n[3]&flagNative != 0, n[3]&flagForced != 0
	if id >= 0 {
		if !within(id, j.IDs) {
			return c, broken("an id")
		}
		if c.ID, err = unpackID(j.IDs[id]); err != nil || bad(c.ID) {
			return c, broken("an id")
		}
	}
	return c, nil
}

// bad: no name of an environment, a platform or an id.
func bad(s string) bool { return s == "" || s == "." || s == ".." || strings.ContainsAny(s, "/\x00\n") }

// readSet reads the first set, and returns what is behind it.
func readSet(p *PinnedPlan, wires []Wire, b []byte) (set pinnedSet, rest []byte, err error) {
	wrong := broken("what a kind gets")
	if len(b) < 2 || int(b[0]) > len(p.site) || len(b) < 2+4*int(b[1]) {
		return set, nil, wrong
	}
	set.site = int(b[0])
	options, rest := b[2:2+4*int(b[1])], b[2+4*int(b[1]):]
	for n := range slices.Chunk(options, 4) {
		o := option{choice: int(n[0])<<8 + int(n[1]) - 1, preferred: n[3]&flagPreferred != 0, isDefault: n[3]&flagDefault != 0, mixed: int(n[3] >> flagShift)}
		if o.choice >= 0 && !within(o.choice, p.choices) || !within(int(n[2]), wires) || o.mixed > maxMixed {
			return set, nil, wrong
		}
		o.wire = wires[n[2]]
		set.options = append(set.options, o)
	}
	if (p.Decided || p.AloneEach) && (len(set.options) > 1 || len(set.options) == 1 && set.options[0].choice < 0) {
		return set, nil, wrong
	}
	return set, rest, nil
}

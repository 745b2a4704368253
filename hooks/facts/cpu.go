package facts

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// maxStanza bounds what is read of /proc/cpuinfo: the first processor's. The kernel
// asks every processor for its part, which takes long where there are hundreds.
const maxStanza = 16 << 10

// readCPU names the processor as archspec does.
func readCPU(_ context.Context, h host) part {
	const name = "/proc/cpuinfo"
	text, err := h.head(name, maxStanza)
	if err != nil {
		return part{problems: []string{err.Error()}, set: func(f *Facts) { f.CPU = unknownCPU(h.machine) }}
	}
	first := stanza(text)
	info := cpuInfo{family: h.machine}
	switch h.machine {
	case "x86_64":
		info.vendor = first["vendor_id"]
		info.features = first["flags"]
	case "aarch64":
		info.vendor = archspec().vendor(first["CPU implementer"])
		info.features = first["Features"]
		info.part = first["CPU part"]
	default: // not served: archspec's name for it is the family's
		return part{set: func(f *Facts) { f.CPU = unknownCPU(h.machine) }}
	}
	if info.features == "" {
		return part{
			problems: []string{name + " lists no features of the processor (truncated?)"},
			set:      func(f *Facts) { f.CPU = unknownCPU(h.machine) },
		}
	}
	cpu := identify(info)
	return part{set: func(f *Facts) { f.CPU = cpu }}
}

// unknownCPU: any processor of the machine's family can do what the family asks.
func unknownCPU(machine string) CPU {
	if machine == "" {
		return CPU{}
	}
	return CPU{Ancestors: []string{machine}}
}

// stanza is the first processor's keys and values. Where a key comes twice the
// last one counts.
func stanza(cpuinfo string) map[string]string {
	m := make(map[string]string)
	for line := range strings.Lines(cpuinfo) {
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			if len(m) > 0 && strings.TrimSpace(line) == "" {
				break
			}
			continue
		}
		m[strings.TrimSpace(key)] = strings.TrimSpace(value)
	}
	return m
}

// cpuInfo is what cpuinfo says of a processor.
type cpuInfo struct {
	// family is the root of the microarchitectures that can be meant: the machine.
	family, vendor, part string
	// features separated by blanks.
	features string
}

// identify names the microarchitecture by archspec's rules: of those whose
// features the processor all has, of its maker or generic, the one with the most
// ancestors. Where the maker's part number is known only those with it count;
// those that do not descend from the best generic one do not, for a rare feature
// that firmware switched off must not cost more than itself.
func identify(info cpuInfo) CPU {
	has := make(map[string]bool)
	for f := range strings.FieldsSeq(info.features) {
		has[f] = true
	}
	if has["ssse3"] {
		has["sse3"] = true // Linux calls it pni
	}
	fits := func(t *target) bool {
		if t.family() != info.family || t.vendor != info.vendor && t.vendor != generic {
			return false
		}
		// Versions of the Arm architecture cannot be told by features.
		if info.family == "aarch64" && t.vendor == generic && t.name != "aarch64" {
			return false
		}
		return !slices.ContainsFunc(t.features, func(f string) bool { return !has[f] })
	}
	var best, base *target
	better := func(t, than *target) bool {
		if than == nil {
			return true
		}
		if a, b := len(t.ancestors), len(than.ancestors); a != b {
			return a > b
		}
		return len(t.features) > len(than.features)
	}
	var candidates []*target
	level := 0
	for _, t := range archspec().targets {
		if !fits(t) {
			continue
		}
		candidates = append(candidates, t)
		if t.vendor == generic && better(t, base) {
			base = t
		}
		level = max(level, t.level())
	}
	if base == nil { // it lacks even what the family asks
		cpu := unknownCPU(info.family)
		cpu.Vendor = info.vendor
		return cpu
	}
	if info.part != "" && slices.ContainsFunc(candidates, func(t *target) bool { return t.part == info.part }) {
		candidates = slices.DeleteFunc(candidates, func(t *target) bool { return t.part != info.part })
	}
	best = base
	for _, t := range candidates {
		if t != base && t.descends(base.name) && (best == base || better(t, best)) {
			best = t
		}
	}
	return CPU{
		Name: best.name, Vendor: info.vendor, Ancestors: best.lineage(), Level: level,
		Because: nextStep(best, info, has),
	}
}

// nextStep says what the processor lacks of the nearest descendant of its maker.
func nextStep(best *target, info cpuInfo, has map[string]bool) string {
	var nearest *target
	var lacks []string
	for _, t := range archspec().targets {
		if t.vendor != info.vendor && t.vendor != generic || !slices.Contains(t.parents, best.name) {
			continue
		}
		var missing []string
		for _, f := range t.features {
			if !has[f] {
				missing = append(missing, f)
			}
		}
		if len(missing) > 0 && (nearest == nil || len(missing) < len(lacks)) {
			nearest, lacks = t, missing
		}
	}
	if nearest == nil {
		return ""
	}
	const show = 4
	more := ""
	if len(lacks) > show {
		more = fmt.Sprintf(" and %d more", len(lacks)-show)
		lacks = lacks[:show]
	}
	return fmt.Sprintf("no %s: it lacks %s%s", nearest.name, strings.Join(lacks, ", "), more)
}

package editable

import (
	"cmp"
	"strings"
)

// metadataVersion is the version of core metadata that METADATA follows (PEP 639).
const metadataVersion = "2.4"

// metadataText is METADATA.
func (p *Project) metadataText() string {
	var b strings.Builder
	write := func(key, value string) { b.WriteString(key + ": " + value + "\n") }
	write("Metadata-Version", metadataVersion)
	write("Name", p.Name)
	write("Version", cmp.Or(p.written, p.Version))
	for _, f := range p.metadata.headers {
		write(f.key, f.value)
	}
	if p.metadata.description != "" {
		b.WriteString("\n" + p.metadata.description)
		if !strings.HasSuffix(p.metadata.description, "\n") {
			b.WriteString("\n")
		}
	}
	return b.String()
}

// entryPointsText is entry_points.txt; "" if there are none.
func (p *Project) entryPointsText() string {
	var groups []string
	for _, g := range p.entries {
		text := "[" + g.name + "]\n"
		for _, item := range g.items {
			text += item.key + " = " + item.value + "\n"
		}
		groups = append(groups, text)
	}
	return strings.Join(groups, "\n")
}

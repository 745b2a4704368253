package channel

import (
	"bytes"
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// Lock writes a project's pixi.lock in file version 6 or 7. channel is the
// channel's URL, base how its packages are named.
func (p *Project) Lock(c *Channel, version int, channel string, base Base) ([]byte, error) {
	if version != 6 && version != 7 {
		return nil, fmt.Errorf("lock version %d: only 6 and 7 are written", version)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "version: %d\n", version)
	if version == 7 {
		b.WriteString("platforms:\n")
		for _, s := range p.Platforms {
			fmt.Fprintf(&b, "- name: %s\n  virtual-packages:\n  - __unix=0=0\n  - __linux=4.18\n  - __glibc=2.28\n  - __archspec=0=%s\n", s, machineOf(s))
		}
	}
	b.WriteString("environments:\n")
	used := map[*Entry]bool{}
	for _, env := range p.Environments {
		fmt.Fprintf(&b, "  %s:\n    channels:\n    - url: %s\n    packages:\n", env.Name, scalar(strings.TrimSuffix(channel, "/")+"/"))
		for _, platform := range p.Platforms {
			entries, err := c.Select(platform, env.Roots)
			if err != nil {
				return nil, fmt.Errorf("environment %s: %w", env.Name, err)
			}
			fmt.Fprintf(&b, "      %s:\n", platform)
			for _, e := range entries {
				used[e] = true
				fmt.Fprintf(&b, "      - conda: %s\n", scalar(base.location(e)))
			}
		}
	}
	b.WriteString("packages:\n")
	entries := make([]*Entry, 0, len(used))
	for e := range used {
		entries = append(entries, e)
	}
	sort.Slice(entries, func(i, j int) bool {
		if entries[i].Name != entries[j].Name {
			return entries[i].Name < entries[j].Name
		}
		return entries[i].Subdir < entries[j].Subdir
	})
	for _, e := range entries {
		writeEntry(&b, e, version, base)
	}
	return b.Bytes(), nil
}

// writeEntry leaves out what a reader derives from the location, as pixi does.
// Of a path nothing but name, version and build is derived, and pixi's library
// takes a file URL for a path: there the whole identity is written.
func writeEntry(b *bytes.Buffer, e *Entry, version int, base Base) {
	fmt.Fprintf(b, "- conda: %s\n", scalar(base.location(e)))
	if !base.remote() {
		fmt.Fprintf(b, "  name: %s\n  version: %s\n  build: %s\n  subdir: %s\n", scalar(e.Name), scalar(e.Version), scalar(e.Build), e.Subdir)
	}
	if trailingNumber(e.Build) != e.BuildNumber {
		fmt.Fprintf(b, "  build_number: %d\n", e.BuildNumber)
	}
	derived := ""
	if e.Subdir == "noarch" && base.remote() {
		derived = "generic"
		if strings.Contains(e.Build, "py") {
			derived = "python"
		}
	}
	if e.Noarch != derived {
		fmt.Fprintf(b, "  noarch: %s\n", e.Noarch)
	}
	fmt.Fprintf(b, "  sha256: %s\n  md5: %s\n", scalar(e.SHA256), scalar(e.MD5))
	writeList(b, "depends", e.Depends)
	writeList(b, "constrains", e.Constrains)
	if e.License != "" {
		fmt.Fprintf(b, "  license: %s\n", scalar(e.License))
	}
	if version == 7 {
		b.WriteString("  run_exports: {}\n")
	}
	fmt.Fprintf(b, "  size: %d\n", e.Size)
	if e.Timestamp != 0 {
		fmt.Fprintf(b, "  timestamp: %d\n", e.Timestamp)
	}
	if e.SitePackages != "" {
		fmt.Fprintf(b, "  python_site_packages_path: %s\n", scalar(e.SitePackages))
	}
}

func writeList(b *bytes.Buffer, key string, list []string) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "  %s:\n", key)
	for _, s := range list {
		fmt.Fprintf(b, "  - %s\n", scalar(s))
	}
}

var trailingRE = regexp.MustCompile(`[0-9]+$`)

// trailingNumber is the build number that a reader derives from a build string.
func trailingNumber(build string) int {
	n, err := strconv.Atoi(trailingRE.FindString(build))
	if err != nil {
		return 0
	}
	return n
}

func machineOf(subdir string) string {
	if subdir == "linux-aarch64" {
		return "aarch64"
	}
	return "x86_64"
}

var (
	// plainRE: strings that mean themselves as a plain YAML scalar …
	plainRE = regexp.MustCompile(`^[A-Za-z0-9_./][A-Za-z0-9_./:+<>=,@%~ -]*$`)
	// … unless a reader takes them for a number.
	numberRE = regexp.MustCompile(`^[0-9._]+([eE][-+]?[0-9]+)?$|^0[xob]`)
)

// scalar quotes s where YAML needs it, as pixi does.
func scalar(s string) string {
	plain := plainRE.MatchString(s) && !numberRE.MatchString(s) &&
		!strings.Contains(s, ": ") && !strings.HasSuffix(s, ":") && !strings.HasSuffix(s, " ")
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "null", "y", "n":
		plain = false
	}
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

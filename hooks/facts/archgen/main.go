// Command archgen makes what package facts knows of microarchitectures from
// archspec's data (the repository archspec-json, Apache-2.0 or MIT):
//
//	go run ./hooks/facts/archgen -stamp 'COMMIT DATE' cpu/microarchitectures.json > hooks/facts/archspec.txt
//	go run ./hooks/facts/archgen -stamp 'COMMIT DATE' -cpuinfo tests/targets > hooks/facts/testdata/cpuinfo.txt
//
// The first keeps names, makers, part numbers, ancestry and features of the
// families that hpcenv serves; the second, of each recorded Linux processor of
// those families, the name it must get and what the name is found by.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// families that are kept.
var families = []string{"x86_64", "aarch64"}

func main() {
	stamp := flag.String("stamp", "", "version of the data: commit and date")
	cpuinfo := flag.Bool("cpuinfo", false, "the argument is the directory of recorded cpuinfo files")
	flag.Parse()
	if flag.NArg() != 1 || *stamp == "" {
		flag.Usage()
		os.Exit(2)
	}
	out := bufio.NewWriter(os.Stdout)
	fmt.Fprintf(out, "# From archspec-json %s (Apache-2.0 OR MIT, Copyright Lawrence Livermore\n", *stamp)
	fmt.Fprintf(out, "# National Security, LLC and other Archspec Project Developers), by hooks/facts/archgen.\n")
	var err error
	if *cpuinfo {
		err = recorded(out, flag.Arg(0))
	} else {
		err = data(out, flag.Arg(0))
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "archgen: %v\n", err)
		os.Exit(1)
	}
}

type source struct {
	Microarchitectures ordered `json:"microarchitectures"`
	Conversions        struct {
		ArmVendors map[string]string `json:"arm_vendors"`
	} `json:"conversions"`
}

// ordered keeps the order of the data: of two that are equally good, archspec
// takes the first.
type ordered struct {
	names  []string
	byName map[string]microarchitecture
}

func (o *ordered) UnmarshalJSON(b []byte) error {
	if err := json.Unmarshal(b, &o.byName); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		var skip json.RawMessage
		if err := dec.Decode(&skip); err != nil {
			return err
		}
		o.names = append(o.names, name.(string)) // a key is one
	}
	return nil
}

type microarchitecture struct {
	From     []string `json:"from"`
	Vendor   string   `json:"vendor"`
	Features []string `json:"features"`
	Part     string   `json:"cpupart"`
}

func data(out io.Writer, file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var src source
	if err := json.Unmarshal(b, &src); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	codes := make([]string, 0, len(src.Conversions.ArmVendors))
	for c := range src.Conversions.ArmVendors {
		codes = append(codes, c)
	}
	slices.Sort(codes)
	for _, c := range codes {
		fmt.Fprintf(out, "vendor %s %s\n", c, src.Conversions.ArmVendors[c])
	}
	written := map[string]bool{}
	var write func(name string) error
	write = func(name string) error { // parents first
		m, ok := src.Microarchitectures.byName[name]
		if !ok {
			return fmt.Errorf("%s: %s is an ancestor, but not described", file, name)
		}
		if written[name] {
			return nil
		}
		written[name] = true
		for _, p := range m.From {
			if err := write(p); err != nil {
				return err
			}
		}
		if slices.Contains(m.Features, "ssse3") && !slices.Contains(m.Features, "sse3") {
			m.Features = append(m.Features, "sse3") // as archspec reads it
		}
		slices.Sort(m.Features)
		m.Features = slices.Compact(m.Features)
		_, err := fmt.Fprintf(out, "target %s %s %s %s %s\n", name, m.Vendor, dash(m.Part), dash(strings.Join(m.From, ",")), dash(strings.Join(m.Features, ",")))
		return err
	}
	for _, n := range src.Microarchitectures.names {
		if slices.Contains(families, family(src, n)) {
			if err := write(n); err != nil {
				return err
			}
		}
	}
	return nil
}

func family(src source, name string) string {
	for range src.Microarchitectures.names {
		from := src.Microarchitectures.byName[name].From
		if len(from) == 0 {
			return name
		}
		name = from[0]
	}
	return ""
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// recorded writes one line per recording: the file's name, which ends in the
// expected name, and the fields that identify.
func recorded(out io.Writer, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		parts := strings.SplitN(e.Name(), "-", 3)
		if len(parts) != 3 || parts[0] != "linux" {
			continue // macOS and Windows are no nodes
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		cpu := map[string]string{}
		for line := range strings.Lines(string(b)) {
			key, value, ok := strings.Cut(line, ":")
			if !ok && len(cpu) > 0 {
				break
			}
			cpu[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
		switch {
		case cpu["flags"] != "":
			fmt.Fprintf(out, "%s %s - %s\n", e.Name(), cpu["vendor_id"], list(cpu["flags"]))
		case cpu["Features"] != "":
			fmt.Fprintf(out, "%s %s %s %s\n", e.Name(), cpu["CPU implementer"], dash(cpu["CPU part"]), list(cpu["Features"]))
		}
	}
	return nil
}

func list(words string) string { return strings.Join(strings.Fields(words), ",") }

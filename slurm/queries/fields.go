package queries

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// form says where the fields of one of scontrol's lines are, so that text which
// users and administrators write freely is never taken for a field.
type form struct {
	// wanted fields, in the order of the line. A field out of this order is text.
	wanted []string
	// freeFrom[i] begins text that ends where the field freeTo[i] begins.
	freeFrom, freeTo []string
	// ends: fields of free text, behind which nothing is looked for.
	ends []string
}

// eachLine calls f with the name and the rest of each line that scontrol printed
// about the things of a kind (node, partition), and checks that each comes once.
func eachLine(out []byte, kind string, f func(name, rest string)) error {
	key := map[string]string{"node": "NodeName=", "partition": "PartitionName="}[kind]
	none := map[string]string{"node": "No nodes in the system", "partition": "No partitions in the system"}[kind]
	seen := map[string]bool{}
	sc := bufio.NewScanner(bytes.NewReader(out))
	sc.Buffer(make([]byte, 0, 64<<10), 4<<20)
	for line := 1; sc.Scan(); line++ {
		text := strings.TrimSpace(sc.Text())
		if text == "" || text == none {
			continue
		}
		first, rest, _ := strings.Cut(text, " ")
		name, ok := strings.CutPrefix(first, key)
		if !ok || name == "" {
			return fmt.Errorf("%w: scontrol show %s: line %d starts with %.80q, not %s", ErrSlurm, kind, line, first, key)
		}
		if seen[name] {
			return fmt.Errorf("%w: scontrol show %s: line %d: %s %s a second time", ErrSlurm, kind, line, kind, name)
		}
		seen[name] = true
		f(name, rest)
	}
	if err := sc.Err(); err != nil {
		return fmt.Errorf("%w: scontrol show %s: %w", ErrSlurm, kind, err)
	}
	return nil
}

// ordered finds the wanted fields of a line. What Slurm prints for "there is none"
// is "".
func ordered(line string, f form) map[string]string {
	values := map[string]string{}
	next, until := 0, ""
	for i, word := range strings.Fields(line) {
		key, value, ok := strings.Cut(word, "=")
		if !ok || until != "" && key != until {
			continue
		}
		until = ""
		if slices.Contains(f.ends, key) {
			break
		}
		if k := slices.Index(f.freeFrom, key); k >= 0 {
			until = f.freeTo[k]
			continue
		}
		at := slices.Index(f.wanted[next:], key)
		if at < 0 || key == "Arch" && i > 0 {
			continue
		}
		next += at + 1
		if value != "(null)" && value != "N/A" {
			values[key] = value
		}
	}
	return values
}

// set splits a list at commas, sorted, each once.
func set(list string) []string {
	var out []string
	for _, s := range strings.Split(list, ",") {
		if s != "" {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

package scope

import (
	"errors"
	"strconv"
	"strings"
)

// demand is what a node must have of a generic resource.
type demand struct {
	name, kind string
	count      int64
}

var errGres = errors.New("it is not understood")

// isGPU tells which resources are GPUs or parts of them.
func isGPU(name string) bool { return name == "gpu" || name == "mps" || name == "shard" }

// parseGres reads --gres: name[:type][:count] joined by commas, each perhaps with
// gres/ or gres: before it. With a name given it reads --gpus and its like:
// [type:]count.
func parseGres(text, name string) ([]demand, error) {
	if strings.EqualFold(text, "none") && name == "" {
		return nil, nil
	}
	var out []demand
	for _, item := range strings.Split(text, ",") {
		if name == "" {
			item = strings.TrimPrefix(strings.TrimPrefix(item, "gres/"), "gres:")
		}
		fields := strings.FieldsFunc(item, func(r rune) bool { return r == ':' || r == '=' })
		d := demand{name: name, count: 1}
		if d.name == "" && len(fields) > 0 {
			d.name, fields = fields[0], fields[1:]
		}
		if n := len(fields); n > 0 {
			if c, err := amount(fields[n-1]); err == nil {
				d.count, fields = c, fields[:n-1]
			}
		}
		if len(fields) == 1 {
			d.kind, fields = fields[0], nil
		}
		if d.name == "" || len(fields) > 0 || strings.ContainsAny(item, "() \t") {
			return nil, errGres
		}
		if d.count > 0 {
			out = append(out, d)
		}
	}
	return out, nil
}

// amount reads a count with Slurm's suffixes.
func amount(s string) (int64, error) {
	digits := strings.TrimRight(s, "kKmMgGtTpP")
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || n < 0 || len(s)-len(digits) > 1 {
		return 0, errGres
	}
	if len(s) > len(digits) {
		for range strings.IndexByte("kmgtp", s[len(s)-1]|0x20) + 1 {
			if n *= 1024; n > 1<<50 {
				return 0, errGres
			}
		}
	}
	return n, nil
}

// has tells whether a node whose Gres is such has what is demanded. What is not
// understood counts as enough.
func (d demand) has(gres string) bool {
	var sum int64
	for _, item := range splitGres(gres) {
		if at := strings.IndexByte(item, '('); at >= 0 {
			item = item[:at]
		}
		fields := strings.Split(item, ":")
		if fields[0] != d.name {
			continue
		}
		count, err := amount(fields[len(fields)-1])
		kinds := fields[1 : len(fields)-1]
		if len(fields) == 1 {
			count, err, kinds = 1, nil, nil
		}
		if err != nil {
			return true
		}
		matches := d.kind == ""
		for _, k := range kinds {
			matches = matches || strings.EqualFold(k, d.kind)
		}
		if matches {
			sum += count
		}
	}
	return sum >= d.count
}

// splitGres splits at commas outside of parentheses: gpu:4(S:0,2),fpga:1.
func splitGres(gres string) []string {
	var out []string
	depth, begin := 0, 0
	for i := 0; i <= len(gres); i++ {
		switch {
		case i == len(gres) || gres[i] == ',' && depth == 0:
			if i > begin {
				out = append(out, gres[begin:i])
			}
			begin = i + 1
		case gres[i] == '(':
			depth++
		case gres[i] == ')':
			depth--
		}
	}
	return out
}

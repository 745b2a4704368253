package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"

	"github.com/hpcenv/hpcenv/hooks/gpu"
)

// fields are what nvidia-smi is asked, and what the report has for it.
var fields = []struct {
	name string
	of   func(*gpu.Report, gpu.GPU) string
}{
	{"index", func(_ *gpu.Report, g gpu.GPU) string { return strconv.Itoa(g.Index) }},
	{"name", func(_ *gpu.Report, g gpu.GPU) string { return g.Name }},
	{"uuid", func(_ *gpu.Report, g gpu.GPU) string { return g.UUID }},
	{"pci.bus_id", func(_ *gpu.Report, g gpu.GPU) string { return g.BusID }},
	{"compute_cap", func(_ *gpu.Report, g gpu.GPU) string { return g.Compute }},
	{"memory.total", func(_ *gpu.Report, g gpu.GPU) string {
		if g.Memory == 0 {
			return ""
		}
		return strconv.FormatUint(g.Memory>>20, 10)
	}},
	{"driver_version", func(r *gpu.Report, _ gpu.GPU) string { return r.Driver }},
	{"mig.mode.current", func(_ *gpu.Report, g gpu.GPU) string {
		if g.MIG == nil {
			return ""
		}
		return enabled(g.MIG.Enabled)
	}},
	{"persistence_mode", func(_ *gpu.Report, g gpu.GPU) string {
		if g.Persistence == nil {
			return ""
		}
		return enabled(*g.Persistence)
	}},
	{"compute_mode", func(_ *gpu.Report, g gpu.GPU) string {
		return strings.ReplaceAll(g.ComputeMode, "-", "_")
	}},
}

func enabled(on bool) string {
	if on {
		return "enabled"
	}
	return "disabled"
}

// compare asks nvidia-smi the same and prints each difference.
func (c check) compare(ctx context.Context, out io.Writer, r *gpu.Report) error {
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	cmd := exec.CommandContext(ctx, c.smi, "--query-gpu="+strings.Join(names, ","), "--format=csv,noheader,nounits")
	text, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		fmt.Fprintln(out, "\nnvidia-smi is not installed: there is nothing to compare with.")
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", c.smi, err, text)
	}
	rows := csv.NewReader(strings.NewReader(string(text)))
	rows.TrimLeadingSpace = true
	rows.FieldsPerRecord = len(fields)
	all, err := rows.ReadAll()
	if err != nil {
		return fmt.Errorf("%s: %w", c.smi, err)
	}
	if len(all) != len(r.GPUs) {
		return fmt.Errorf("nvidia-smi lists %d GPUs, the report %d", len(all), len(r.GPUs))
	}
	var differ []error
	same := 0
	for i, row := range all {
		for j, f := range fields {
			theirs, ours := normal(f.name, row[j]), normal(f.name, f.of(r, r.GPUs[i]))
			if theirs != ours {
				differ = append(differ, fmt.Errorf("GPU %d: %s is %q for nvidia-smi, %q in the report", i, f.name, row[j], f.of(r, r.GPUs[i])))
				continue
			}
			same++
		}
	}
	fmt.Fprintf(out, "\nnvidia-smi says the same of %d values, another thing of %d.\n", same, len(differ))
	return errors.Join(differ...)
}

// normal is a value in one spelling: no value has many.
func normal(field, v string) string {
	v = strings.ToLower(strings.TrimSpace(v))
	if strings.HasPrefix(v, "[") { // [N/A], [Not Supported], [Unknown Error]
		return ""
	}
	if field == "pci.bus_id" {
		// nvidia-smi writes eight digits of the domain, the kernel four or more.
		if domain, rest, ok := strings.Cut(v, ":"); ok {
			v = strings.TrimLeft(domain, "0") + ":" + rest
		}
	}
	return v
}

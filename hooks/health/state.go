package health

import (
	"fmt"
	"strings"

	"github.com/hpcenv/hpcenv/hooks/gpu"
	"github.com/hpcenv/hpcenv/hooks/preflight"
)

// State of a node, for the site's health check.
type State struct {
	Level gpu.Level
	// Reason in one line, without the node's name: "GPU 3 (GPU-5f1c9a) is lost (NVML
	// 15)"; what there is, of a node that is well.
	Reason string
}

// words that health checks of sites use for the levels.
var words = map[gpu.Level]string{gpu.OK: "OK", gpu.Warn: "WARN", gpu.Unknown: "UNKNOWN", gpu.Unhealthy: "ERROR"}

// String is the line that a health check prints.
func (s State) String() string { return words[s.Level] + ": hpcenv: " + s.Reason }

// StateOf what is kept of a node's GPUs; nil = nothing is, since there are none.
func StateOf(r *gpu.Record) State {
	if r == nil || r.Report == nil && r.Failure == "" {
		return State{gpu.OK, "no GPUs"}
	}
	s := State{Level: r.Verdict.Level}
	if s.Level == gpu.OK || s.Level == "" {
		s.Level = gpu.OK
		s.Reason = fmt.Sprintf("%d GPUs, driver %s", len(r.Report.GPUs), r.Report.Driver)
		return s
	}
	want := map[gpu.Level]preflight.Level{gpu.Warn: preflight.Warn, gpu.Unknown: preflight.Unknown, gpu.Unhealthy: preflight.Unhealthy}[s.Level]
	var parts []string
	for _, f := range preflight.OfRecord(r) {
		if f.Level == want {
			text, _, _ := strings.Cut(f.Evidence, "; next: ")
			parts = append(parts, text)
		}
	}
	s.Reason = oneLine(strings.Join(parts, "; "))
	return s
}

// State of the node. Networks that programs cannot use are a warning: that is what the
// node's jobs see of it, and not all of them need it.
func (r *Result) State() State {
	s := StateOf(r.GPU)
	// Ports of one kind with one fault are one part: four of them would not leave room
	// for anything else.
	type fault struct{ kind, barred string }
	var faults []fault
	devices := map[fault][]string{}
	for _, n := range r.Facts.Networks {
		if n.Barred == "" {
			continue
		}
		f := fault{fmt.Sprint(n.Kind), fmt.Sprint(n.Barred)}
		if devices[f] == nil {
			faults = append(faults, f)
		}
		devices[f] = append(devices[f], n.Device)
	}
	var parts []string
	for _, f := range faults {
		verb := "is"
		if len(devices[f]) > 1 {
			verb = "are"
		}
		parts = append(parts, fmt.Sprintf("%s (%s) %s up and cannot be used: %s", strings.Join(devices[f], ", "), f.kind, verb, f.barred))
	}
	switch {
	case len(parts) == 0:
	case s.Level == gpu.OK:
		s = State{gpu.Warn, oneLine(strings.Join(parts, "; "))}
	case s.Level == gpu.Warn:
		s.Reason = oneLine(s.Reason + "; " + strings.Join(parts, "; "))
	}
	return s
}

// maxReason is how long a reason may be: Slurm shows it in tables.
const maxReason = 240

// oneLine makes a text that Slurm takes and shows as it is.
func oneLine(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
	text = strings.Map(func(r rune) rune {
		if r == '"' || r == '\'' || r == '\\' || r == '`' {
			return -1
		}
		return r
	}, text)
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "") + " ..."
	}
	return text
}

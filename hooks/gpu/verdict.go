package gpu

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Level of a verdict, from good to bad.
type Level string

// Levels: Unknown is worse than Warn, since anything may be behind it.
const (
	OK        Level = "ok"
	Warn      Level = "warn"
	Unknown   Level = "unknown"
	Unhealthy Level = "unhealthy"
)

var levels = []Level{OK, Warn, Unknown, Unhealthy}

func worse(a, b Level) Level {
	if slices.Index(levels, b) > slices.Index(levels, a) {
		return b
	}
	return a
}

// States of a GPU in a verdict.
const (
	Healthy       = "healthy"
	Lost          = "lost"
	ResetRequired = "reset-required"
	RemapFailed   = "remap-failed"
	// Unusable: it answers, and programs cannot use it.
	Unusable = "unusable"
	// NotKnown: it does not tell.
	NotKnown = "not-known"
)

// Who must act on a finding.
const (
	Administrator = "administrator"
	User          = "user"
)

// Evidence is what Judge looks at.
type Evidence struct {
	// Report of the driver; nil with Failure: it gave none; nil without: the node
	// has no GPUs.
	Report  *Report
	Failure string
	// Served are the bus ids of the GPUs that the kernel's driver serves; nil = not
	// known.
	Served []string
}

// Verdict on a node's GPUs.
type Verdict struct {
	// Level is the worst of the findings'.
	Level    Level        `json:"level"`
	GPUs     []GPUVerdict `json:"gpus,omitempty"`
	Findings []Finding    `json:"findings,omitempty"`
}

// GPUVerdict is what became of one GPU.
type GPUVerdict struct {
	Index int    `json:"index"`
	BusID string `json:"bus_id,omitempty"`
	UUID  string `json:"uuid,omitempty"`
	// Minor is the number of the device node.
	Minor *int `json:"minor,omitempty"`
	// State is one of the constants above, Level the worst finding's about it.
	State string `json:"state"`
	Level Level  `json:"level"`
	// MIG: how it is divided, if it can be.
	MIG *MIG `json:"mig,omitempty"`
}

// Finding is one thing that is not as it should be.
type Finding struct {
	// ID is a fixed word for it, e.g. gpu-lost.
	ID    string `json:"id"`
	Level Level  `json:"level"`
	// GPU is its index; nil = the node's driver.
	GPU *int `json:"gpu,omitempty"`
	// Evidence is what was found, in words; Next what to do; Act who must do it.
	Evidence string `json:"evidence"`
	Next     string `json:"next"`
	Act      string `json:"act"`
}

// String is the finding in one line.
func (f Finding) String() string { return fmt.Sprintf("%s: %s; next: %s", f.ID, f.Evidence, f.Next) }

// Judge is a pure function. A node without GPUs is OK.
func Judge(e Evidence) Verdict {
	v := Verdict{Level: OK}
	switch {
	case e.Report != nil:
		v.node(e.Report)
		for _, g := range e.Report.GPUs {
			v.gpu(g)
		}
		v.missing(e)
	case e.Failure != "":
		v.add(Finding{ID: "gpu-unknown", Level: Unknown, Evidence: e.Failure,
			Next: "as the message says; until then the driver's files alone tell what the GPUs are", Act: Administrator})
	}
	slices.SortStableFunc(v.Findings, func(a, b Finding) int {
		return cmp.Compare(slices.Index(levels, b.Level), slices.Index(levels, a.Level))
	})
	return v
}

// Worst level of findings; OK of none.
func Worst(list []Finding) Level {
	level := OK
	for _, f := range list {
		level = worse(level, f.Level)
	}
	return level
}

func (v *Verdict) add(f Finding) {
	v.Level = worse(v.Level, f.Level)
	v.Findings = append(v.Findings, f)
}

// missing: GPUs that the kernel's driver serves and the library does not list.
func (v *Verdict) missing(e Evidence) {
	if e.Report.State != StateOK || failed(e.Report.Failures, CodeLost) != nil || len(e.Report.GPUs)+len(e.Report.Withheld) >= len(e.Served) {
		return
	}
	var gone []string
	for _, id := range e.Served {
		if !slices.ContainsFunc(e.Report.GPUs, func(g GPU) bool { return strings.EqualFold(g.BusID, id) }) {
			gone = append(gone, id)
		}
	}
	v.add(Finding{ID: "gpu-missing", Level: Unhealthy, Act: Administrator,
		Evidence: fmt.Sprintf("the kernel's driver serves %d GPUs, its library lists %d; among those not listed: %s", len(e.Served), len(e.Report.GPUs), strings.Join(gone, ", ")),
		Next:     "look at dmesg for Xid 79 (fallen off the bus); drain the node and reboot it"})
}

package doctor

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Level says how much a finding matters.
type Level string

const (
	// OK: as it should be.
	OK Level = "ok"
	// Note: worth knowing; nothing is to be done.
	Note Level = "note"
	// Warning: hpcenv works, but less well, or not for everybody.
	Warning Level = "warning"
	// Problem: something that this host is meant to do does not work.
	Problem Level = "problem"
	// Unknown: it could not be looked at.
	Unknown Level = "unknown"
)

// Finding is what was found of one thing.
type Finding struct {
	// Check names the thing in a word or two.
	Check string `json:"check"`
	Level Level  `json:"level"`
	// Found is what was found, Next what to do about it; "" = nothing.
	Found string `json:"found"`
	Next  string `json:"next,omitempty"`
}

// What a host is for, as far as its files tell; one host may be several.
const (
	RoleDaemon  = "daemon host"
	RoleLogin   = "login host"
	RoleCompute = "compute node"
)

// Report is what was found of a host.
type Report struct {
	// Host by name, and the release of hpcenv that looked.
	Host    string `json:"host"`
	Version string `json:"version"`
	// At, RFC 3339, by this host's clock.
	At string `json:"at"`
	// Roles of the host; empty = it has none that files tell of.
	Roles []string `json:"roles"`
	// Root: looked as root.
	Root     bool      `json:"root"`
	Findings []Finding `json:"findings"`
}

// Count is the number of findings of a level.
func (r *Report) Count(level Level) int {
	n := 0
	for _, f := range r.Findings {
		if f.Level == level {
			n++
		}
	}
	return n
}

// is tells whether the host has a role.
func (r *Report) is(role string) bool { return slices.Contains(r.Roles, role) }

// findings are gathered by one check.
type findings []Finding

func (f *findings) add(level Level, check, next, format string, args ...any) {
	*f = append(*f, Finding{Check: check, Level: level, Found: fmt.Sprintf(format, args...), Next: next})
}

// patience bounds one check.
const patience = 20 * time.Second

// bounded runs one check, which is given up where it takes too long: a call into storage
// that hangs cannot be taken back. What it found by then is lost with it.
func bounded(ctx context.Context, limit time.Duration, check string, look func(context.Context) findings) findings {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	found := make(chan findings, 1)
	go func() { found <- look(ctx) }()
	select {
	case f := <-found:
		return f
	case <-time.After(limit + time.Second):
		return findings{{Check: check, Level: Problem, Found: fmt.Sprintf("did not answer within %s", limit),
			Next: "see whether the storage or the service behind it hangs (dmesg, the storage's own tools)"}}
	}
}

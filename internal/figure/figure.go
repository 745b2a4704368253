// Package figure prints the figures of benchmark targets: a table for people,
// and for each figure one line that a program can read (design 9).
package figure

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// Median of the values; it is the middle one, or the mean of the two in the
// middle. It panics on an empty slice.
func Median(values []time.Duration) time.Duration {
	v := slices.Clone(values)
	slices.Sort(v)
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}

// Report collects figures and remembers whether one fell short.
type Report struct {
	w     io.Writer
	short int
}

// NewReport writes figure lines to w.
func NewReport(w io.Writer) *Report { return &Report{w: w} }

// AtMost prints one figure with an upper target.
func (r *Report) AtMost(name string, value float64, unit string, target float64) {
	r.against(name, value, unit, "<=", target, value <= target)
}

// AtLeast prints one figure with a lower target.
func (r *Report) AtLeast(name string, value float64, unit string, target float64) {
	r.against(name, value, unit, ">=", target, value >= target)
}

func (r *Report) against(name string, value float64, unit, op string, target float64, ok bool) {
	verdict := "ok"
	if !ok { // what is no number is short too
		verdict = "short"
		r.short++
	}
	fmt.Fprintf(r.w, "figure %s %.2f %s target %s %g %s\n", name, value, unit, op, target, verdict)
}

// Note prints a figure without a target.
func (r *Report) Note(name string, value float64, unit string) {
	fmt.Fprintf(r.w, "figure %s %.2f %s\n", name, value, unit)
}

// ExitCode is 1 if a figure fell short of its target.
func (r *Report) ExitCode() int {
	if r.short > 0 {
		return 1
	}
	return 0
}

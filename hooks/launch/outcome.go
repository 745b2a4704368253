package launch

import (
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/hooks/preflight"
	"github.com/hpcenv/hpcenv/hooks/selection"
)

// Outcome is what becomes of a launch.
type Outcome struct {
	// Refused are the findings that it is refused for, the worst first; none = it goes
	// on.
	Refused []preflight.Finding
	// Warned are findings that the user should know of, once on the node; Noted what
	// could not be checked.
	Warned, Noted []preflight.Finding
	// Unhealthy: the node itself is at fault, and root should look at it.
	Unhealthy bool
}

// Judge applies a policy to what was found.
func (p Policy) Judge(r *preflight.Report) Outcome {
	var out Outcome
	for _, f := range r.At(preflight.Unknown) {
		switch f.Level {
		case preflight.Unhealthy, preflight.Unfit:
			out.Unhealthy = out.Unhealthy || f.Level == preflight.Unhealthy
			if p.Check == selection.Strict || p.Check == "" {
				out.Refused = append(out.Refused, f)
			} else {
				out.Warned = append(out.Warned, f)
			}
		case preflight.Warn:
			// Of how the administrator keeps the GPUs users can change nothing, and it
			// changes nothing for them: `hpcenv check` shows it.
			if f.Act != preflight.Administrator || !strings.HasPrefix(f.ID, "gpu-") {
				out.Warned = append(out.Warned, f)
			}
		default:
			switch p.Unknown {
			case Refuse:
				if p.Check == selection.Strict || p.Check == "" {
					out.Refused = append(out.Refused, f)
					break
				}
				fallthrough
			case Note, "":
				out.Noted = append(out.Noted, f)
			}
		}
	}
	return out
}

// selected are findings that are made from the same things as the selection of an
// environment for a kind of node.
var selected = []string{"requirements", "glibc", "microarchitecture", "kernel", "page-size", "cuda-driver", "cuda-compute"}

// Chosen leaves out of the warnings what was told already when the environment was
// selected for the node in spite of it.
func (o *Outcome) Chosen() {
	o.Warned = slices.DeleteFunc(o.Warned, func(f preflight.Finding) bool { return slices.Contains(selected, f.ID) })
}

// Told leaves out of the warnings what the submission said already of the kinds of nodes
// that it chose for.
func (o *Outcome) Told() {
	o.Warned = slices.DeleteFunc(o.Warned, func(f preflight.Finding) bool { return f.ID == "fabric" })
}

// Worst is the level that a refusal has.
func (o *Outcome) Worst() preflight.Level {
	r := preflight.Report{Findings: o.Refused}
	return r.Level()
}

// Evidence of findings, in one sentence.
func Evidence(list []preflight.Finding) string {
	var parts []string
	for _, f := range list {
		parts = append(parts, f.Evidence)
	}
	return strings.Join(parts, "; ")
}

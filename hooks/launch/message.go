package launch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/hooks/preflight"
)

// Place says where a launch is, for messages.
type Place struct {
	// What is launched: "default of pixi.lock (a41c9e02)".
	What string
	// Node by the name that Slurm has for it; "" = this is no node of a job.
	Node string
	// Fitting are environments of the lock that would fit here, each with what is to be
	// said of it: "cpu (without GPU)".
	Fitting []string
	// Names of them, in the same order.
	Names []string
	// Reported: the site's health check was told.
	Reported bool
	// Briefly: another node of the kind says what to do.
	Briefly bool
}

// OfKind: what it is refused for follows from the environment and the kind of node alone.
func (o *Outcome) OfKind() bool {
	return !slices.ContainsFunc(o.Refused, func(f preflight.Finding) bool { return !slices.Contains(byKind, f.ID) })
}

// Refusal is why the launch does not go on and what to do, to be read behind the node's
// name; "; next: " separates the two.
func (o *Outcome) Refusal(at Place) string {
	worst := o.Worst()
	about := slices.DeleteFunc(slices.Clone(o.Refused), func(f preflight.Finding) bool { return f.Level != worst })
	switch worst {
	case preflight.Unhealthy:
		told := "it was not reported to the site's health check: tell the administrator"
		if at.Reported {
			told = "reported to the site's health check"
		}
		next := "run it on another host"
		if at.Node != "" {
			next = fmt.Sprintf("sbatch --exclude=%s …", at.Node)
		}
		return fmt.Sprintf("%s; %s; next: %s", Evidence(about), told, next)
	case preflight.Unknown:
		return fmt.Sprintf("%s; the site runs nothing that could not be checked; next: %s", Evidence(about), at.elsewhere("--env-check=warn runs it all the same"))
	}
	text := fmt.Sprintf("%s does not fit: %s", at.What, Evidence(about))
	if at.Briefly {
		return text
	}
	own := ""
	for _, f := range about {
		if slices.Contains(remedied, f.ID) && f.Next != "" {
			own += f.Next + "; or "
		}
	}
	if len(at.Fitting) > 0 {
		return fmt.Sprintf("%s\n  of this lock %s here; next: %s%s", text, verb(at.Fitting), own, at.elsewhere(at.option()+" takes it"))
	}
	return fmt.Sprintf("%s; next: %s%s", text, own, at.elsewhere("--env-check=warn runs it all the same"))
}

// remedied are findings that have a remedy of their own, before any other node or
// environment.
var remedied = []string{"program", "gasnet", "mpi-wrapper", "bootstrap", "host-id"}

func verb(list []string) string {
	if len(list) == 1 {
		return list[0] + " fits"
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1] + " fit"
}

// option that names the first of the environments that fit.
func (at *Place) option() string {
	if at.Node == "" {
		return "-e " + at.Names[0]
	}
	return "--env-name=" + at.Names[0]
}

// elsewhere is a way here, or another host.
func (at *Place) elsewhere(here string) string {
	if at.Node == "" {
		return here + "; or run it on another host"
	}
	return fmt.Sprintf("%s; or keep off such nodes (--exclude=%s, --constraint)", here, at.Node)
}

// Line is something that the user is told of a launch that goes on, to be read behind
// the node's name.
type Line struct {
	Text string
	// ByKind: it follows from the environment and the kind of node alone.
	ByKind bool
	// OfStep: it is about how the step was started, of which the job's script knows
	// nothing.
	OfStep bool
}

// byKind are findings that all nodes of a kind have in common. Others depend on what is
// installed on the node, or on its own devices.
var byKind = []string{
	"glibc", "microarchitecture", "kernel", "requirements", "page-size", "cuda-driver", "cuda-compute", "cuda-code",
	"copies", "fabric", "wheel-ucx", "ucx-settings", "gasnet", "pmi",
}

// said tells whether a line has what a finding says. Of a driver and GPUs that do not
// suffice the plan names the same packages, and the manifest with them, so that what the
// node has is enough to know it by.
func said(line string, f preflight.Finding) bool {
	if strings.Contains(line, f.Evidence) {
		return true
	}
	if f.ID == "fabric" && strings.Contains(line, "over TCP") {
		return true // a selection says so of the kind of node
	}
	has, _, lacks := strings.Cut(f.Evidence, ", needs ")
	return lacks && (f.ID == "cuda-driver" || f.ID == "cuda-compute") && strings.Contains(line, has+", needs ")
}

// Lines are what the user is told. known are lines that were made before: what they say
// is not repeated.
func (o *Outcome) Lines(known []Line) []Line {
	var out []Line
	for _, f := range o.Warned {
		if slices.ContainsFunc(known, func(k Line) bool { return said(k.Text, f) }) {
			continue
		}
		text := "warning: " + f.Evidence
		switch {
		case f.Next != "" && f.Act == preflight.Administrator:
			text += "; next: tell the administrator, whose remedy is: " + f.Next
		case f.Next != "":
			text += "; next: " + f.Next
		}
		out = append(out, Line{Text: text, ByKind: slices.Contains(byKind, f.ID), OfStep: f.ID == "pmi"})
	}
	for _, f := range o.Noted {
		out = append(out, Line{Text: "note: " + f.Evidence})
	}
	return out
}

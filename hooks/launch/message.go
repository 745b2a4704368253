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
	if len(at.Fitting) > 0 {
		return fmt.Sprintf("%s\n  of this lock %s here; next: %s", text, verb(at.Fitting), at.elsewhere(at.option()+" takes it"))
	}
	return fmt.Sprintf("%s; next: %s", text, at.elsewhere("--env-check=warn runs it all the same"))
}

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

// Lines are what the user is told of a launch that goes on, each to be read behind the
// node's name. known are warnings that were given already: what they say is not repeated.
func (o *Outcome) Lines(known []string) []string {
	var out []string
	for _, f := range o.Warned {
		if slices.ContainsFunc(known, func(k string) bool { return strings.Contains(k, f.Evidence) }) {
			continue
		}
		line := "warning: " + f.Evidence
		if f.Next != "" {
			line += "; next: " + f.Next
		}
		out = append(out, line)
	}
	for _, f := range o.Noted {
		out = append(out, "note: "+f.Evidence)
	}
	return out
}

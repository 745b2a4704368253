package preflight

import "context"

// check is one thing that is looked at.
type check struct {
	// id is what its findings are called, or most of them.
	id string
	// run returns findings; none = it does not concern this environment or node. An
	// error is that of a node that cannot be read, and becomes a finding of level
	// Unknown.
	run func(ctx context.Context, in *Input) ([]Finding, error)
}

// checks in the order in which they are reported.
var checks = []check{
	{"requirements", requirements},
	{"page-size", pageSize},
	{"gpu", gpus},
	{"cuda-driver", cudaRequirements},
	{"cuda-code", cudaCode},
	{"program", program},
	{"libraries", libraries},
	{"runtime", cxxRuntime},
	{"shadowed", shadowed},
	{"modules", modules},
	{"transports", transports},
	{"ucx-settings", ucxSettings},
	{"wheel-ucx", wheelUCX},
	{"copies", copies},
	{"gasnet", gasnet},
	{"mpi-wrapper", mpiWrapper},
	{"bootstrap", bootstrap},
	{"pmi", pmi},
	{"host-id", hostID},
}

// Run makes all checks. With brief, findings that fit are left out, and so is the work
// for them where it can be saved. It takes a few milliseconds; the context bounds it.
func Run(ctx context.Context, in *Input, brief bool) *Report {
	r := new(Report)
	for _, c := range checks {
		found, err := c.run(ctx, in)
		if err != nil {
			found = append(found, Finding{ID: c.id, Level: Unknown, Evidence: "could not be checked: " + err.Error(), Act: Administrator,
				Next: "look at the file or directory that the message names"})
		}
		for _, f := range found {
			if f.Level != Fits || !brief {
				r.Findings = append(r.Findings, f)
			}
		}
	}
	if p := in.process; p != nil && p.err == nil {
		for i := range p.modules {
			if m := &p.modules[i]; m.expected(in) {
				r.Elsewhere = append(r.Elsewhere, m.Path)
			}
		}
	}
	return r
}

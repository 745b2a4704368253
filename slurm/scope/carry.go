package scope

import (
	"net/url"
	"strings"
)

// Control is the name of the job_control variable that carries a Scope to slurmctld,
// where contrib/slurm/job_submit.lua reads it. (In the job's own environment it is
// SLURM_SPANK_HPCENV_SCOPE.)
const Control = "HPCENV_SCOPE"

// maxCarried bounds what a job carries; a longer answer carries nothing, and nothing is
// enforced.
const maxCarried = 2048

// nothing is the value that enforces nothing. It is set, too: components of a heterogeneous job otherwise inherit
// what an earlier one set.
const nothing = "1"

// Carry returns the value of Control, which is never empty: the partitions that the job
// may be moved to, and the feature expression that was taken into account. features, if
// not "", are what the plan asks for on top of it: job_submit.lua joins them to the job's
// own, and refuses the job where Slurm has no expression for both.
func (s *Scope) Carry(features string) string {
	if s.OtherCluster || s.Every && features == "" {
		return nothing
	}
	var out strings.Builder
	out.WriteString("1;constraint=" + url.PathEscape(s.Constraint))
	if !s.Every {
		out.WriteString(";asked=" + url.PathEscape(s.Partition) + ";partitions=" + url.PathEscape(strings.Join(s.Partitions, ",")))
	}
	if features != "" {
		out.WriteString(";features=" + url.PathEscape(features))
	}
	if out.Len() > maxCarried {
		return nothing
	}
	return out.String()
}

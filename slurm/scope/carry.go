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

// Carry returns the value of Control, "" if there is nothing to enforce: the partitions
// that the job may be moved to, and the feature expression that was taken into account.
// features, if not "", are what the plan asks for on top of it: a job without features
// of its own gets them, another is refused unless it has them.
func (s *Scope) Carry(features string) string {
	if s.OtherCluster || s.Every && features == "" {
		return ""
	}
	var out strings.Builder
	out.WriteString("1;constraint=" + url.PathEscape(s.Constraint))
	if !s.Every {
		out.WriteString(";partitions=" + url.PathEscape(strings.Join(s.Partitions, ",")))
	}
	if features != "" {
		out.WriteString(";features=" + url.PathEscape(features))
	}
	if out.Len() > maxCarried {
		return ""
	}
	return out.String()
}

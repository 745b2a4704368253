package helper

import (
	"fmt"
	"os"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/planning"
	"github.com/hpcenv/hpcenv/hooks/selection"
)

// overrides are the CONDA_OVERRIDE_ variables of this submission, and make the
// cluster's nodes what they stand for. That they are set is said: they may be a leftover
// of making the lock, and the job gets what fits them, not the nodes.
func (s *submission) overrides(c *planning.Cluster) (map[string]string, error) {
	set, err := selection.Overrides(os.LookupEnv)
	if err != nil {
		return nil, refuse(api.ExitUsage, "%w", err)
	}
	if note := selection.OverrideNote(set); note != "" {
		wish := selection.Wish{Overrides: set}
		c.Override(wish.Override)
		fmt.Fprintf(s.stderr, "%s: hpcenv: warning: %s\n", s.context, note)
	}
	return set, nil
}

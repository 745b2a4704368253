package launch

import (
	"errors"
	"io/fs"

	"github.com/hpcenv/hpcenv/hooks/pin"
	"github.com/hpcenv/hpcenv/hooks/selection"
	"github.com/hpcenv/hpcenv/internal/clientconf"
)

// Variable with which a step says --env-check itself, inside a job.
const Variable = "SLURM_HPCENV_CHECK"

// What becomes of a launch of which something could not be checked.
const (
	// Silent: it goes on. Note: it goes on, and the user is told.
	Silent = "silent"
	Note   = "note"
	// Refuse: it is refused.
	Refuse = "refuse"
)

// Policy is how strict the checks are.
type Policy struct {
	// Check is --env-check of the job or the step.
	Check selection.Check
	// Unknown is one of the constants above.
	Unknown string
}

// Site returns the policy of the file at path ("" = clientconf.Path) where the user says
// nothing. A file that is not there is a site that says nothing.
func Site(path string) (Policy, error) {
	if path == "" {
		path = clientconf.Path
	}
	p := Policy{Check: selection.Strict, Unknown: Note}
	c, err := clientconf.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	if c.EnvCheck != "" {
		p.Check = selection.Check(c.EnvCheck)
	}
	if c.EnvUnknown != "" {
		p.Unknown = c.EnvUnknown
	}
	return p, nil
}

// PolicyOf is what holds for a launch: what the step says itself (Variable, looked up
// with env), else what the job was submitted with (p), else the site's. With an error,
// which is about the file or the variable, the rest of the policy holds.
func PolicyOf(p *pin.Pin, env func(string) (string, bool)) (Policy, error) {
	policy, err := Site("")
	if p != nil { // the site was asked when the job was submitted
		policy.Check = selection.Strict
		if p.Plan != nil && p.Plan.Wish.Check != "" {
			policy.Check = p.Plan.Wish.Check
		}
	}
	if own, ok := env(Variable); ok {
		check, perr := selection.ParseCheck(own)
		if perr == nil {
			policy.Check = check
		}
		err = errors.Join(err, perr)
	}
	return policy, err
}

package selection

import "errors"

// Classes of errors.
var (
	// ErrInput: what was handed over cannot be selected from.
	ErrInput = errors.New("nothing can be selected")
	// ErrWish: what the user asked for does not exist.
	ErrWish = errors.New("what is asked for is not there")
	// ErrRules: the site's rules cannot be used.
	ErrRules = errors.New("selection rules cannot be used")
	// ErrNoFit: nodes that no environment fits.
	ErrNoFit = errors.New("no environment fits")
	// ErrAmbiguous: several environments are equally good.
	ErrAmbiguous = errors.New("several environments fit equally well")
	// ErrFamilies: the nodes of the job would have to mix communication stacks.
	ErrFamilies = errors.New("the nodes would not have one communication stack")
	// ErrUndecided: the pin does not say yet which family the job has.
	ErrUndecided = errors.New("the communication stack of the job is not decided yet")
	// ErrChanged: fresh facts give a node something else than it was planned for.
	ErrChanged = errors.New("the node has changed since the job was submitted")
	// ErrPinned: a pinned plan that cannot be read.
	ErrPinned = errors.New("pinned plan cannot be used")
)

package selection

import (
	"fmt"
	"strings"

	"github.com/hpcenv/hpcenv/envs/stack"
)

// phrase is one entry of a rule's preferences: what an environment must be, by its
// stack. The forms are
//
//	UCX | GASNet-EX | MPI | libfabric | none     of that family
//	with GPU                                     uses a GPU
//	without GPU                                  needs no GPU
//	FAMILY with GPU, FAMILY without GPU          both
//	environment NAME                             a site's own choice, by name
type phrase struct {
	environment string
	family      *stack.Family
	gpu         gpuUse
}

// gpuUse is what a phrase says about GPUs.
type gpuUse int

const (
	anyGPU gpuUse = iota
	withGPU
	withoutGPU
)

var families = []stack.Family{stack.UCX, stack.GASNet, stack.MPI, stack.Libfabric, stack.None}

// familyName for people and for phrases.
func familyName(f stack.Family) string {
	if f == stack.None {
		return "none"
	}
	return string(f)
}

// familyOf reads a family's name as people write it.
func familyOf(name string) (stack.Family, bool) {
	for _, f := range families {
		if strings.EqualFold(name, familyName(f)) {
			return f, true
		}
	}
	return "", false
}

// parsePhrase reads one entry.
func parsePhrase(text string) (phrase, error) {
	words := strings.Fields(text)
	var p phrase
	if len(words) == 2 && strings.EqualFold(words[0], "environment") {
		return phrase{environment: words[1]}, nil
	}
	rest := words
	if len(rest) == 1 || len(rest) == 3 {
		f, known := familyOf(rest[0])
		if !known {
			return p, phraseError(text)
		}
		p.family, rest = &f, rest[1:]
	}
	switch {
	case len(rest) == 0 && p.family != nil:
	case len(rest) == 2 && strings.EqualFold(rest[1], "GPU") && strings.EqualFold(rest[0], "with"):
		p.gpu = withGPU
	case len(rest) == 2 && strings.EqualFold(rest[1], "GPU") && strings.EqualFold(rest[0], "without"):
		p.gpu = withoutGPU
	default:
		return p, phraseError(text)
	}
	return p, nil
}

func phraseError(text string) error {
	return fmt.Errorf("%q is no preference; write a family (UCX, GASNet-EX, MPI, libfabric, none), \"with GPU\", \"without GPU\", both (\"UCX with GPU\"), or \"environment NAME\"", text)
}

// String is the canonical form.
func (p phrase) String() string {
	if p.environment != "" {
		return "environment " + p.environment
	}
	var words []string
	if p.family != nil {
		words = append(words, familyName(*p.family))
	}
	switch p.gpu {
	case withGPU:
		words = append(words, "with GPU")
	case withoutGPU:
		words = append(words, "without GPU")
	}
	return strings.Join(words, " ")
}

// takes tells whether an environment with this name and stack is what p says.
func (p phrase) takes(name string, s *stack.Stack) bool {
	if p.environment != "" {
		return p.environment == name
	}
	if p.family != nil && *p.family != s.Family {
		return false
	}
	switch p.gpu {
	case withGPU:
		return usesGPU(s)
	case withoutGPU:
		return !s.GPU
	}
	return true
}

// usesGPU: what needs a GPU uses it too.
func usesGPU(s *stack.Stack) bool { return s.UsesGPU || s.GPU }

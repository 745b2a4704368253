package selection

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/envs/stack"
)

// Error says why there is no plan: the table of all kinds, and what would work.
type Error struct {
	// Class is ErrNoFit, ErrAmbiguous or ErrFamilies.
	Class error
	// Plan has a row for each kind: what it would get by itself, and what it does not
	// get and why.
	Plan *Plan
	// Tied are the environments between which nothing decides (ErrAmbiguous).
	Tied []string
	// Common are environments that the whole job could run if they were named.
	Common []Common
}

// Common is an environment that runs on all nodes of a job.
type Common struct {
	Environment string `json:"environment"`
	Wire        Wire   `json:"wire"`
	// TCP: the nodes on which it leaves the fabric unused.
	TCP []string `json:"tcp,omitempty"`
	// GPU: it uses GPUs.
	GPU bool `json:"gpu,omitempty"`
}

// Unwrap makes the class known to errors.Is.
func (e *Error) Unwrap() error { return e.Class }

// Error is the sentence, the table and the next step.
func (e *Error) Error() string {
	text := e.Sentence()
	for _, line := range e.Table() {
		text += "\n  " + line
	}
	if options := e.Options(); len(options) > 0 {
		text += "\nnext: " + strings.Join(options, "; ")
	}
	return text
}

// Sentence says in one line what is wrong.
func (e *Error) Sentence() string {
	switch e.Class {
	case ErrAmbiguous:
		return fmt.Sprintf("%s: %s", e.Class, strings.Join(e.Tied, ", "))
	case ErrNoFit:
		var names []string
		for i := range e.Plan.Rows {
			if r := &e.Plan.Rows[i]; r.Problem != "" {
				names = append(names, r.name())
			}
		}
		slices.Sort(names)
		return fmt.Sprintf("%s %s", e.Class, some(names))
	}
	return fmt.Sprintf("%s (%s)", e.Class, e.Stacks())
}

// Stacks are the communication stacks that the nodes would have: "GASNet-EX / UCX".
func (e *Error) Stacks() string {
	_, names := briefly(e.Plan)
	return strings.Join(names, " / ")
}

// briefly are the wires of a plan's rows, sorted, each once, and what they are called
// side by side: with their MPI only where it tells them apart.
func briefly(p *Plan) (wires []Wire, names []string) {
	for i := range p.Rows {
		if c := p.Rows[i].Choice; c != nil {
			wires = append(wires, Wire{c.Family, c.MPI})
		}
	}
	slices.SortFunc(wires, Wire.compare)
	wires = slices.Compact(wires)
	for _, w := range wires {
		alone := !slices.ContainsFunc(wires, func(o Wire) bool { return o != w && o.Family == w.Family })
		if alone && w.Family != stack.MPI {
			w.MPI = ""
		}
		names = append(names, w.String())
	}
	return wires, names
}

// Table lists nodes × environment × what there is to say, as aligned lines; kinds
// of which the same is to be said share them. Of ErrNoFit it has the nodes that
// nothing fits, of ErrAmbiguous those for which nothing decides (all, if that is the
// job as a whole), of ErrFamilies all.
func (e *Error) Table() []string {
	type said struct{ environment, text string }
	torn := e.Class == ErrAmbiguous && slices.ContainsFunc(e.Plan.Rows, func(r Row) bool { return r.Choice == nil && r.Problem == "" })
	rows := make([]*Row, 0, len(e.Plan.Rows))
	for i := range e.Plan.Rows {
		rows = append(rows, &e.Plan.Rows[i])
	}
	slices.SortStableFunc(rows, func(a, b *Row) int { return strings.Compare(a.name(), b.name()) })
	var sets [][]said
	var names [][]string
	for _, r := range rows {
		var set []said
		switch {
		case e.Class == ErrNoFit && r.Problem == "", torn && (r.Choice != nil || r.Problem != ""):
			continue
		case r.Choice != nil:
			set = append(set, said{r.Choice.Environment, r.Because})
		default:
			for _, x := range r.Rejected {
				named := e.Plan.Wish.Environment
				if torn && !slices.Contains(e.Tied, x.Environment) || named != "" && x.Environment != named {
					continue
				}
				// What is to be said of several environments is said once.
				if at := slices.IndexFunc(set, func(s said) bool { return s.text == x.Text() }); at >= 0 {
					set[at].environment += ", " + x.Environment
					continue
				}
				set = append(set, said{x.Environment, x.Text()})
			}
		}
		if i := slices.IndexFunc(sets, func(o []said) bool { return slices.Equal(o, set) }); i >= 0 {
			names[i] = append(names[i], r.name())
		} else {
			sets, names = append(sets, set), append(names, []string{r.name()})
		}
	}
	var cells [][3]string
	var width [2]int
	for i, set := range sets {
		nodes := some(names[i])
		for _, s := range set {
			cells = append(cells, [3]string{nodes, s.environment, s.text})
			width[0], width[1] = max(width[0], len(nodes)), max(width[1], len(s.environment))
		}
	}
	out := make([]string, len(cells))
	for i, c := range cells {
		out[i] = strings.TrimRight(fmt.Sprintf("%-*s  %-*s  %s", width[0], c[0], width[1], c[1], c[2]), " ")
	}
	return out
}

// some names of a list for one line, and how many more there are.
func some(names []string) string {
	const shown = 4
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown-1], ", "), len(names)-shown+1)
}

// maxOptions is how many environments a text offers, the best first; Common has all.
const maxOptions = 1

// Options are what would work, each a phrase for a "next:" line.
func (e *Error) Options() []string {
	var out []string
	kinds := len(e.Plan.Rows)
	where := "all of them"
	switch kinds {
	case 1:
		where = "these nodes"
	case 2:
		where = "both"
	}
	for _, c := range e.Common[:min(len(e.Common), maxOptions)] {
		text := fmt.Sprintf("--env-name=%s runs on %s", c.Environment, where)
		if len(c.TCP) > 0 && kinds > 1 {
			text += ", TCP on " + some(c.TCP)
		} else if len(c.TCP) > 0 {
			text += ", over TCP"
		}
		if e.Plan.Wish.GPU && !c.GPU {
			text += ", without GPU"
		}
		out = append(out, text)
	}
	switch {
	case e.Class == ErrFamilies:
		text := "one job for each stack, or one component of a heterogeneous job"
		if len(out) > 0 {
			text = "or " + text
		}
		out = append(out, text)
	case e.Class == ErrNoFit && e.Plan.Wish.Environment != "" && e.Plan.Wish.Check == Strict && e.couldBeForced():
		out = append(out, "--env-check=warn runs "+e.Plan.Wish.Environment+" all the same")
	}
	return out
}

// couldBeForced: the named environment is there for every kind, and only does not
// fit.
func (e *Error) couldBeForced() bool {
	for i := range e.Plan.Rows {
		r := &e.Plan.Rows[i]
		if r.Problem != "" && !slices.ContainsFunc(r.Rejected, func(x Rejected) bool {
			return x.Environment == e.Plan.Wish.Environment && x.Platform != "" && !x.Fits && !x.broken
		}) {
			return false
		}
	}
	return true
}

// fail makes the error of a class. Each kind's row gets what it would have alone.
func (s *selector) fail(class error, plan *Plan) *Error {
	e := &Error{Class: class, Plan: plan}
	for i := range s.kinds {
		if len(s.options[i]) == 0 || plan.Rows[i].Choice != nil {
			continue
		}
		if w, mixed, out := resolve(s.options[i : i+1]); out == decided {
			s.give(plan, i, w[0], mixed)
		}
	}
	e.Common = s.common()
	return e
}

// tie makes the error of class ErrAmbiguous: options of the kinds, and the wires
// between which, or under which, nothing decides. An environment that is there
// under several wires, and alone, is listed with each.
func (s *selector) tie(plan *Plan, kinds [][]option, wires []Wire, mixed int) *Error {
	e := s.fail(ErrAmbiguous, plan)
	var labelled []string
	for _, o := range kinds {
		for _, w := range wires {
			x := find(o, w, mixed)
			names := x.tied
			if x.choice >= 0 {
				if len(wires) == 1 {
					continue // this kind is not the one that is torn
				}
				names = []string{s.choices[x.choice].env.Name}
			}
			for _, name := range names {
				e.Tied = append(e.Tied, name)
				labelled = append(labelled, fmt.Sprintf("%s (%s)", name, w))
			}
		}
	}
	slices.Sort(e.Tied)
	if e.Tied = slices.Compact(e.Tied); len(e.Tied) == 1 {
		slices.Sort(labelled)
		e.Tied = slices.Compact(labelled)
	}
	return e
}

// common lists environments that fit all kinds under one wire, if they are named:
// those that use GPUs, if there are any, and that leave the fewest fabrics unused
// first.
func (s *selector) common() []Common {
	var out []Common
	for _, env := range s.envs {
		if s.wish.Environment == env.Name {
			continue
		}
		var best *Common
		for _, w := range s.allWires(env) {
			c := Common{Environment: env.Name, Wire: w, GPU: true}
			for _, j := range s.kinds {
				i := slices.IndexFunc(j.cands, func(x *judged) bool {
					return x.env == env && x.fits && w.takes(&x.plat.Stack) && (s.wish.Wire == nil || s.wish.Wire.takes(&x.plat.Stack))
				})
				if i < 0 {
					c.Environment = ""
					break
				}
				x := j.cands[i]
				c.GPU = c.GPU && usesGPU(&x.plat.Stack)
				if x.place.slow > 0 && s.wish.MultiNode && x.plat.Stack.Family != stack.None {
					c.TCP = append(c.TCP, j.group.brief())
				}
			}
			if c.Environment != "" && (best == nil || len(c.TCP) < len(best.TCP)) {
				slices.Sort(c.TCP)
				c.TCP = slices.Compact(c.TCP)
				best = &c
			}
		}
		if best != nil {
			out = append(out, *best)
		}
	}
	gpu := slices.ContainsFunc(s.kinds, func(j *judgement) bool { return j.group.Kind.usableGPU() })
	rank := func(c Common) int {
		r := len(c.TCP) << 1
		if gpu && !c.GPU {
			r += len(s.kinds) << 2
		}
		if c.Environment != defaultName {
			r++
		}
		return r
	}
	slices.SortStableFunc(out, func(a, b Common) int { return rank(a) - rank(b) })
	return out
}

// allWires of an environment.
func (s *selector) allWires(env *Environment) []Wire {
	var out []Wire
	for i := range env.Platforms {
		st := &env.Platforms[i].Stack
		if w := (Wire{st.Family, st.MPI}); !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	slices.SortFunc(out, Wire.compare)
	return out
}

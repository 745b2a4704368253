package scope

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// request is what one component of a submission asks for, in one way to read it.
type request struct {
	program string
	// values by canonical option; an option that is not there was not given.
	values map[string]string
	// unread says what may set options that are not in values, at a lower precedence
	// than these; "" = nothing does.
	unread string
	// doubt says why nothing is known at all; "" = something is.
	doubt string
	// impossible: Slurm itself would refuse what is read in this way.
	impossible bool
	// elsewhere are settings of the carried options in all components of a heterogeneous
	// job: some releases let later ones take effect on earlier ones.
	elsewhere []setting
	// others: components of a heterogeneous job name nodes, which Slurm keeps from the
	// others.
	others bool
	// recorded: a cli_filter wrote the values down.
	recorded bool
}

// carried from one component to others: Slurm does not reset them. All of them can
// only widen; exclude, which is carried too, is left out.
var carried = []string{"clusters", "cluster-constraint", "reservation", "prefer"}

// naming are the options that name nodes.
var naming = []string{"nodelist", "nodefile", "exclude"}

// segment is one component on the command line.
type segment struct {
	settings []setting
	rest     []string
	doubt    string
}

// segments reads a command line, argv without its first word, in every possible way.
func segments(program string, words []string) [][]segment {
	var out [][]segment
	for _, r := range readings(program, words) {
		s := segment{r.settings, r.rest, r.doubt}
		colon := -1
		switch {
		case len(r.rest) > 0 && r.rest[0] == ":":
			colon = 0
		case program == "srun":
			colon = slices.Index(r.rest, ":")
		}
		if colon < 0 {
			out = append(out, []segment{s})
			continue
		}
		s.rest = r.rest[:colon]
		for _, tail := range segments(program, r.rest[colon+1:]) {
			out = append(out, append([]segment{s}, tail...))
		}
	}
	return out
}

// maxRequests bounds the ways in which all of a submission is read.
const maxRequests = 64

// requests of a component, in every way the submission can be read; at least one.
func requests(s Submission) []request {
	doubt := func(text string) []request { return []request{{program: s.Program, doubt: text}} }
	if programBit[s.Program] == 0 {
		return doubt(fmt.Sprintf("%q is none of sbatch, salloc and srun", s.Program))
	}
	if len(s.Args) == 0 {
		return doubt("the command line cannot be read")
	}
	var out []request
	for _, segs := range segments(s.Program, s.Args[1:]) {
		out = append(out, s.read(segs)...)
		if len(out) > maxRequests {
			return doubt("there are too many options that are not known")
		}
	}
	return out
}

// read understands one reading of the command line.
func (s Submission) read(segs []segment) []request {
	scripts := [][]reading{nil}
	start := request{program: s.Program, values: map[string]string{}}
	if s.Program == "sbatch" {
		scripts = s.script(segs, &start)
	}
	all := flat(segs)
	if len(segs) > 1 {
		for _, set := range all {
			start.others = start.others || slices.Contains(naming, set.option)
			if slices.Contains(carried, set.option) {
				start.elsewhere = append(start.elsewhere, set)
			}
		}
	}
	env := s.environment()
	out := []request{start}
	for j := 0; j <= s.Component; j++ {
		seg := segs[min(j, len(segs)-1)]
		var next []request
		for _, r := range out {
			for _, script := range scripts[min(j, len(scripts)-1)] {
				next = append(next, r.component(script.settings, env, seg))
				next[len(next)-1].blame(script.doubt, seg.doubt)
			}
			if len(scripts[min(j, len(scripts)-1)]) == 0 {
				next = append(next, r.component(nil, env, seg))
				next[len(next)-1].blame(seg.doubt)
			}
		}
		if out = next; len(out) > maxRequests {
			return out
		}
	}
	for i := range out {
		out[i].also(start.elsewhere)
	}
	if _, emptied := find(all, "export-file"); emptied && s.Component > 0 {
		for i := range out {
			out[i].blame("--export-file empties the environment that a later component is read from")
		}
	}
	return out
}

// component returns what the next component asks for, after r.
func (r request) component(script []setting, env []setting, seg segment) request {
	values := map[string]string{}
	for _, name := range carried {
		if v, ok := r.values[name]; ok {
			values[name] = v
		}
	}
	for _, from := range [][]setting{script, env, seg.settings} {
		for _, set := range from {
			values[set.option] = set.value
			// Of these the last one counts.
			switch set.option {
			case "nodelist":
				delete(values, "nodefile")
			case "nodefile":
				delete(values, "nodelist")
			}
		}
	}
	r.values = values
	return r
}

// also takes what other components set for what this one does not.
func (r *request) also(elsewhere []setting) {
	r.elsewhere = elsewhere
	for _, set := range elsewhere {
		if _, own := r.values[set.option]; !own && set.option != "prefer" { // narrow.go joins these
			r.values[set.option] = set.value
		}
	}
}

// blame notes the first doubt.
func (r *request) blame(doubts ...string) {
	for _, d := range doubts {
		if r.doubt == "" {
			r.doubt = d
		}
	}
}

// flat are the settings of all components.
func flat(segs []segment) []setting {
	var all []setting
	for _, seg := range segs {
		all = append(all, seg.settings...)
	}
	return all
}

// environment are the settings that variables make.
func (s Submission) environment() []setting {
	values := environ(s.Env)
	var out []setting
	for _, v := range variables[s.Program] {
		if value, ok := values[v.name]; ok {
			out = append(out, setting{v.option, value})
		}
	}
	return out
}

// environ: as getenv has it, the first of two variables with one name counts.
func environ(env []string) map[string]string {
	values := map[string]string{}
	for _, e := range slices.Backward(env) {
		if name, value, ok := strings.Cut(e, "="); ok {
			values[name] = value
		}
	}
	return values
}

// script reads the #SBATCH lines of each component up to the wanted one, and notes in
// r why they may say something else than what is returned.
func (s Submission) script(segs []segment, r *request) [][]reading {
	var components [][]reading
	none := [][]reading{nil}
	all := flat(segs)
	text, wrapped := find(all, "wrap")
	if !wrapped {
		rest := segs[len(segs)-1].rest
		if len(rest) == 0 {
			r.unread = "the script comes on standard input, where its #SBATCH lines cannot be read again"
			return none
		}
		var err error
		if text, err = readScript(rest[0], s.Dir, environ(s.Env)["PATH"]); err != nil {
			r.impossible = errors.Is(err, os.ErrNotExist)
			r.unread = fmt.Sprintf("the script %s cannot be read: %v", rest[0], err)
			return none
		}
	}
	_, ignoredByVariable := environ(s.Env)["SBATCH_IGNORE_PBS"]
	_, ignored := find(all, "ignore-pbs")
	named, more := false, true
	for j := 0; j <= s.Component || more; j++ {
		var words []string
		var foreign bool
		var err error
		words, foreign, more, err = directives(text, j)
		if foreign && !ignored && !ignoredByVariable {
			r.unread = "the script has lines of another batch system (#PBS, #BSUB), which sbatch translates"
			return none
		}
		// A word that is no option is refused by sbatch.
		rs := slices.DeleteFunc(readings("sbatch", words), func(r reading) bool { return len(r.rest) > 0 })
		if err != nil || len(rs) == 0 {
			r.unread = "the script's #SBATCH lines are not understood"
			return none
		}
		components = append(components, rs)
		for _, reading := range rs {
			for _, option := range reading.settings {
				named = named || slices.Contains(naming, option.option)
				if slices.Contains(carried, option.option) {
					r.elsewhere = append(r.elsewhere, option)
				}
			}
		}
	}
	if len(components) == 1 && len(segs) == 1 {
		r.elsewhere = nil
		return components
	}
	r.others = r.others || named
	return components
}

// find returns the last setting of an option.
func find(settings []setting, option string) (string, bool) {
	for _, s := range slices.Backward(settings) {
		if s.option == option {
			return s.value, true
		}
	}
	return "", false
}

// given returns the options of a request that say where it can land, for people.
func (r request) given() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(r.values)) {
		if slices.Contains(told, name) {
			out = append(out, "--"+name+"="+r.values[name])
		}
	}
	return strings.Join(out, " ")
}

// told are the options that given shows.
var told = []string{
	"clusters", "constraint", "exclude", "gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task", "gres", "nodefile", "nodelist", "nodes", "ntasks",
	"partition", "prefer", "reservation", "tres-per-task",
}

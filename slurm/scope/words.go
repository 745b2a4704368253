package scope

import (
	"slices"
	"strings"
)

// setting is an option with its value, in the order of the words.
type setting struct{ option, value string }

// reading is one way to understand a list of words.
type reading struct {
	settings []setting
	// rest begins with the first word that is no option.
	rest []string
	// doubt says what was not understood; "" = nothing. What an unknown option sets
	// is another plugin's business and no doubt.
	doubt string
}

// maxForks bounds the unknown options behind which both ways are tried.
const maxForks = 4

var programBit = map[string]byte{"sbatch": inSbatch, "salloc": inSalloc, "srun": inSrun}

// readings understands words as getopt_long does with Slurm's tables: options end at
// the first other word, long names may be abbreviated, short ones bundled. An option of
// a plugin that is not known here may or may not take the next word, so there may be
// several ways.
func readings(program string, words []string) []reading {
	return read(program, words, maxForks)
}

func read(program string, words []string, forks int) []reading {
	var r reading
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "--":
			r.rest = words[i+1:]
			return []reading{r}
		case strings.HasPrefix(w, "--"):
			name, value, has := strings.Cut(w[2:], "=")
			o, doubt := long(program, name)
			switch {
			case doubt != "":
				r.doubt = doubt
				return []reading{r}
			case o == nil && !has && i+1 < len(words):
				return r.fork(program, words[i+1:], forks)
			case o == nil:
			case o.argument == required && !has:
				if i++; i == len(words) {
					r.doubt = "--" + name + " without its argument"
					return []reading{r}
				}
				value = words[i]
			}
			if o != nil {
				r.settings = append(r.settings, setting{canonical(o.name), value})
			}
		case len(w) > 1 && w[0] == '-':
			if i += r.short(program, w, words[i+1:]); r.doubt != "" {
				return []reading{r}
			}
		default:
			r.rest = words[i:]
			return []reading{r}
		}
	}
	return []reading{r}
}

// fork goes on in both ways behind an unknown option: the next word is its argument,
// or it is not.
func (r reading) fork(program string, words []string, forks int) []reading {
	if forks == 0 {
		r.doubt = "there are too many options that are not known"
		return []reading{r}
	}
	var out []reading
	for skip := range 2 {
		for _, tail := range read(program, words[skip:], forks-1) {
			out = append(out, reading{slices.Concat(r.settings, tail.settings), tail.rest, tail.doubt})
		}
	}
	return out
}

// short reads bundled short options, and returns how many of the following words
// it took.
func (r *reading) short(program, word string, following []string) int {
	for i := 1; i < len(word); i++ {
		at := slices.IndexFunc(options, func(o option) bool { return o.short == word[i] && o.programs&programBit[program] != 0 })
		if at < 0 {
			r.doubt = "the option -" + word[i:i+1] + " is not known"
			return 0
		}
		o := options[at]
		switch {
		case o.argument == none:
			r.settings = append(r.settings, setting{o.name, ""})
			continue
		case o.argument == optional || i+1 < len(word):
			r.settings = append(r.settings, setting{o.name, word[i+1:]})
			return 0
		case len(following) == 0:
			r.doubt = "-" + word[i:] + " without its argument"
			return 0
		}
		r.settings = append(r.settings, setting{o.name, following[0]})
		return 1
	}
	return 0
}

// long finds an option by its name or a beginning of it that only one has. nil =
// there is none: a plugin's. Beginnings of several are a doubt: in the releases that
// lack some of them it may be one.
func long(program, name string) (*option, string) {
	var found *option
	for i := range options {
		o := &options[i]
		if o.programs&programBit[program] == 0 {
			continue
		}
		if o.name == name {
			return o, ""
		}
		if !strings.HasPrefix(o.name, name) {
			continue
		}
		if found != nil && !sameOption(found, o) {
			return nil, "--" + name + " may stand for --" + found.name + " or --" + o.name
		}
		found = o
	}
	return found, ""
}

// sameOption: two names of one option are not ambiguous.
func sameOption(a, b *option) bool {
	return canonical(a.name) == canonical(b.name)
}

// canonical is the name that request.go asks for.
func canonical(name string) string {
	switch name {
	case "cluster":
		return "clusters"
	case "tasks-per-node":
		return "ntasks-per-node"
	case "pack-group":
		return "het-group"
	}
	return name
}

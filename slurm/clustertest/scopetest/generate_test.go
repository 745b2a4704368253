//go:build cluster

package scopetest

import (
	"fmt"
	"math/rand"
	"strings"
)

// submission is one generated command.
type submission struct {
	// Kind names what it tries: heredoc, wrap, script, het, salloc, srun.
	Kind string
	Args []string
	Env  []string
	// Script is written to the file job.sh, Stdin is what comes in.
	Script, Stdin string
	// Needs are features that the plan of the job asks for.
	Needs string
}

func (s submission) String() string {
	text := strings.Join(append(append([]string{}, s.Env...), s.Args...), " ")
	if s.Script+s.Stdin != "" {
		text += fmt.Sprintf(" %q", s.Script+s.Stdin)
	}
	return text
}

// nodeFile is in every submission's directory.
const nodeFile = "# nodes\ng01,g02 # of gpu\n"

// choice is an option with its variable for sbatch (and its like for salloc and srun)
// and values.
type choice struct {
	name, short, variable string
	often                 int // of 100
	values                []string
}

var choices = []choice{
	{"partition", "p", "PARTITION", 80, []string{"gpu", "cpu", "arm", "mixed", "all", "gpu,arm", "cpu,mixed", "closed", "main", "cpu,gpu,arm"}},
	{"constraint", "C", "CONSTRAINT", 40, []string{
		"a100", "ib", "x86_64", "gh200", "a100|h100", "ib&x86_64", "ib,a100", "(a100|h100)&ib", "[a100|h100]", "x86_64&[ib|slow]", "gh200|ib&a100",
		"gh200|(ib&a100)", "a100*1", "a100*2", "[a100*1&h100*1]",
	}},
	{"gres", "", "GRES", 15, []string{"gpu", "gpu:1", "gpu:a100:2", "gpu:h100:2", "gpu:3", "none", "gpu:a100:1,gpu:1"}},
	{"gpus-per-node", "", "GPUS_PER_NODE", 8, []string{"1", "a100:1", "2"}},
	{"gpus", "G", "GPUS", 8, []string{"1", "2", "a100:2", "6"}},
	{"nodes", "N", "", 30, []string{"1", "2", "1-2", "2-3", "3"}},
	{"ntasks", "n", "", 25, []string{"1", "2", "3"}},
	{"nodelist", "w", "", 20, []string{"g01", "g[01-02]", "c01", "c[01,05]", "arm01", "g01,c01", "./nodes", "g05"}},
	{"exclude", "x", "", 20, []string{"g01", "g[02-04]", "c[01-02],arm02", "c01", "arm01", "./nodes"}},
	{"nodefile", "F", "", 4, []string{"nodes", "./nodes"}},
	{"prefer", "", "", 5, []string{"a100", "h100", "ib"}},
	{"reservation", "", "RESERVATION", 4, []string{"r1"}},
}

// generator makes submissions.
type generator struct{ r *rand.Rand }

func (g generator) pick(of ...string) string { return of[g.r.Intn(len(of))] }

// option writes an option in one of the ways that Slurm reads.
func (g generator) option(c choice, value string) []string {
	long := "--" + c.name
	if g.r.Intn(4) == 0 {
		// A beginning that nothing else has, also not a plugin of the tests.
		if short := map[string]string{"partition": "--part", "constraint": "--constr", "nodelist": "--nodel", "exclude": "--exclud", "ntasks": "--ntasks"}[c.name]; short != "" {
			long = short
		}
	}
	switch n := g.r.Intn(4); {
	case n == 0 && c.short != "":
		return []string{"-" + c.short + value}
	case n == 1 && c.short != "":
		return []string{"-" + g.pick("", "O") + c.short, value}
	case n == 2:
		return []string{long, value}
	}
	return []string{long + "=" + value}
}

// noise are options that say nothing of nodes.
func (g generator) noise() []string {
	switch g.r.Intn(12) {
	case 0:
		return []string{"-t", "10"}
	case 1:
		return []string{"--job-name=-p"}
	case 2:
		return []string{"-J", "x y"}
	case 3:
		return []string{"--exclusive"}
	case 4:
		return []string{"--comment", "-w g06"}
	case 5:
		return []string{"--probe-text=-pgpu"}
	case 6:
		return []string{"--probe-text", "hello"}
	case 7:
		return []string{"--nice"}
	}
	return nil
}

// settings chooses options of one component.
func (g generator) settings() []set {
	var chosen []set
	for _, i := range g.r.Perm(len(choices)) {
		if c := choices[i]; g.r.Intn(100) < c.often {
			chosen = append(chosen, set{c, c.values[g.r.Intn(len(c.values))]})
		}
	}
	return chosen
}

type set struct {
	choice
	value string
}

// line writes settings as arguments.
func (g generator) line() []string {
	var out []string
	for _, c := range g.settings() {
		out = append(out, g.option(c.choice, c.value)...)
		out = append(out, g.noise()...)
	}
	return out
}

// directives writes settings as #SBATCH lines.
func (g generator) directives(first string) string {
	var out strings.Builder
	for _, c := range g.settings() {
		words := g.option(c.choice, c.value)
		for k, w := range words {
			if strings.ContainsAny(w, "()|&[]* ") || g.r.Intn(5) == 0 {
				words[k] = g.pick("'"+w+"'", `"`+w+`"`)
			}
		}
		out.WriteString(g.pick("#SBATCH ", "#SBATCH\t") + first + strings.Join(words, " ") + g.pick("", " # why", "  ") + "\n" + g.pick("", "# text\n", "\n"))
		first = ""
	}
	return out.String()
}

func (g generator) script() string {
	return "#!/bin/sh\n" + g.directives("") + "hostname\n#SBATCH -p arm\n"
}

// environment sets variables, those of other programs too.
func (g generator) environment(prefix string) []string {
	var out []string
	for _, c := range g.settings() {
		if c.variable == "" || g.r.Intn(3) > 0 {
			continue
		}
		out = append(out, prefix+c.variable+"="+c.value)
		if g.r.Intn(4) == 0 {
			out = append(out, g.pick("SBATCH_", "SALLOC_", "SLURM_")+c.variable+"="+c.value)
		}
	}
	return out
}

// next makes a submission of a kind.
func (g generator) next(kind string) submission {
	s := submission{Kind: kind, Args: []string{"sbatch"}}
	if g.r.Intn(3) == 0 {
		s.Env = g.environment("SBATCH_")
	}
	few := func(words []string) []string {
		if g.r.Intn(3) == 0 {
			return nil
		}
		return words
	}
	switch kind {
	case "script":
		s.Script = g.script()
		s.Args = append(append(s.Args, few(g.line())...), g.pick("job.sh", "./job.sh"), "-p", "cpu")
	case "wrap":
		s.Args = append(append(s.Args, g.line()...), "--wrap", "hostname -p gpu")
	case "heredoc":
		s.Stdin = g.script()
		s.Args = append(s.Args, few(g.line())...)
	case "het":
		s.Script = "#!/bin/sh\nhostname\n"
		s.Args = append(append(append(append(s.Args, g.line()...), ":"), g.line()...), "job.sh")
	case "hetscript":
		s.Script = "#!/bin/sh\n" + g.directives("") + "#SBATCH hetjob\n" + g.directives("") + "hostname\n"
		s.Args = append(s.Args, "job.sh")
	case "salloc", "srun":
		s.Args, s.Env = append([]string{kind}, g.line()...), nil
		if g.r.Intn(3) == 0 {
			s.Env = g.environment(map[string]string{"salloc": "SALLOC_", "srun": "SLURM_"}[kind])
		}
		if g.r.Intn(4) == 0 {
			if kind == "srun" {
				s.Args = append(s.Args, "hostname", "-p", "arm")
			}
			s.Args = append(append(s.Args, ":"), g.line()...)
		}
		s.Args = append(s.Args, "hostname")
	}
	return s
}

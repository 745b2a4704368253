//go:build linux

package cli

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/hpcenv/hpcenv/hooks/smoke"
	"github.com/hpcenv/hpcenv/internal/plain"
)

// smokeText prints what came out: a line for each kind of node, a table of kinds and
// modules, and what is wrong.
func (a *app) smokeText(kinds []*smoked, f smokeFlags) error {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NODES\tTRIED ON\tENVIRONMENT\tIMPORTED\tOPENED\tFAILED\tSTATE")
	for _, k := range kinds {
		var works [2]int
		failed := 0
		for _, r := range k.Results {
			switch {
			case !r.OK:
				failed++
			case r.Elsewhere: // neither
			case r.How == smoke.Import:
				works[0]++
			default:
				works[1]++
			}
		}
		if k.Node == "" {
			fmt.Fprintf(w, "%s\t-\t%s\t-\t-\t-\t%s\n", orDash(k.name()), orDash(k.Environment), k.State)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%s\n", k.name(), k.Node, orDash(k.Environment), works[0], works[1], failed, k.State)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := smokeMatrix(&b, kinds, f.all); err != nil {
		return err
	}
	for _, k := range kinds {
		k.faults(&b)
	}
	fmt.Fprintln(&b)
	fmt.Fprintln(&b, smokeSentence(kinds))
	if next := smokeNext(kinds, f); next != "" {
		fmt.Fprintln(&b, "next:", next)
	}
	_, err := io.WriteString(plain.Writer{W: a.stdout}, b.String())
	return err
}

// smokeMatrix has a row for each module that fails somewhere, with all for each, and
// a column for each kind on which something was tried.
func smokeMatrix(out io.Writer, kinds []*smoked, all bool) error {
	type cell struct{ module, kind string }
	state, label := map[cell]string{}, map[string]string{}
	shown := map[string]bool{}
	var order []string
	var columns []*smoked
	for _, k := range kinds {
		if len(k.Results) == 0 {
			continue
		}
		columns = append(columns, k)
		for _, r := range k.Results {
			key := r.How + " " + r.Name
			if label[key] == "" {
				label[key] = key
				order = append(order, key)
			}
			word := "ok"
			if !r.OK {
				word, shown[key] = "FAILED", true
			} else if r.Elsewhere {
				word = "not here"
			}
			state[cell{key, k.name()}] = word
		}
	}
	if len(shown) == 0 && !all || len(columns) == 0 {
		return nil
	}
	slices.Sort(order)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\nMODULE")
	for _, k := range columns {
		fmt.Fprintf(w, "\t%s", k.name())
	}
	fmt.Fprintln(w)
	if hidden := len(order) - len(shown); hidden > 0 && !all {
		fmt.Fprintf(w, "(%s)", amount{hidden, "other", "others"})
		for range columns {
			fmt.Fprint(w, "\tok")
		}
		fmt.Fprintln(w)
	}
	for _, key := range order {
		if !all && !shown[key] {
			continue
		}
		fmt.Fprint(w, key)
		for _, k := range columns {
			fmt.Fprintf(w, "\t%s", orDash(state[cell{key, k.name()}]))
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// faults prints what is wrong on nodes of the kind, and what the checks say of it.
func (k *smoked) faults(out io.Writer) {
	where := k.Node
	if where == "" {
		where = k.name()
	}
	first := true
	head := func() {
		if first {
			first = false
			fmt.Fprintln(out)
		}
	}
	for _, r := range k.Results {
		if r.OK {
			continue
		}
		head()
		by := ""
		if r.Package != "" {
			by = " (" + r.Package + ")"
		} else if r.Of != "" {
			by = " (of " + r.Of + ")"
		}
		hanging(out, "  ", fmt.Sprintf("%s: %s %s%s: %s", where, r.How, r.Name, by, r.Error))
	}
	for _, f := range k.Findings {
		head()
		hanging(out, "  ", fmt.Sprintf("%s: check: %s, %s: %s", where, f.ID, f.Level, f.Evidence))
		if f.Next != "" {
			hanging(out, "    -> ", remedy(&f))
		}
	}
	if k.Problem != "" {
		head()
		hanging(out, "  ", where+": "+k.State+": "+k.Problem)
		if k.State == smokeBroken {
			for _, n := range k.Notes {
				hanging(out, "    ", n)
			}
		}
	}
}

// smokeSentence is the outcome in one line.
func smokeSentence(kinds []*smoked) string {
	counts := map[string]int{}
	for _, k := range kinds {
		counts[k.State]++
	}
	of := amount{len(kinds), "kind of node", "kinds of node"}.String()
	modules := 0
	for _, k := range kinds {
		modules += k.Modules
	}
	switch {
	case counts[smokeOK] < len(kinds):
	case modules == 0:
		return "nothing was tried on " + of + ": the environment has no Python modules, and none that programs open"
	default:
		return "every module works on " + of
	}
	var parts []string
	for _, s := range []struct{ state, text string }{
		{smokeOK, "all works on %d"}, {smokeFailed, "modules fail on %d"}, {smokeBroken, "it was broken off on %d"}, {smokeLate, "not tried on %d"}, {smokeNoFit, "nothing fits %d"},
	} {
		if n := counts[s.state]; n > 0 {
			parts = append(parts, fmt.Sprintf(s.text, n))
		}
	}
	return strings.Join(parts, ", ") + " of " + of
}

// smokeNext is what to go on with.
func smokeNext(kinds []*smoked, f smokeFlags) string {
	name := ""
	if f.environment != "" {
		name = " -e " + f.environment
	}
	for _, k := range kinds {
		switch {
		case k.State == smokeLate && strings.Contains(k.Problem, "not prepared"):
			return "hpcenv prepare" + name
		case k.State == smokeLate:
			return "hpcenv smoke" + name + " again when nodes are free, or with a longer --wait"
		case k.State == smokeFailed && k.Node != "" && !f.here:
			return fmt.Sprintf("srun -p %s -w %s hpcenv check%s shows what that node lacks", k.partition, k.Node, name)
		case k.State == smokeFailed:
			return "hpcenv check" + name + " shows what this host lacks"
		case k.State == smokeNoFit:
			return "hpcenv plan -v" + name + " shows why"
		}
	}
	return ""
}

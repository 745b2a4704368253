//go:build linux

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/hpcenv/hpcenv/hooks/checkup"
	"github.com/hpcenv/hpcenv/hooks/preflight"
	"github.com/hpcenv/hpcenv/internal/plain"
)

// checkWidth is what the lines of a table may be wide, in characters.
const checkWidth = 100

// checkJSON prints one object; where several nodes print at the same time it is one
// line, written at once.
func (a *app) checkJSON(r *checkResult) error {
	if !r.amongOthers() {
		return a.printJSON(r)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return err
	}
	_, err := a.stdout.Write(b.Bytes())
	return err
}

// amongOthers: other nodes of the step print the same.
func (r *checkResult) amongOthers() bool {
	return r.Job != nil && r.Job.Step != "" && r.Job.Step != "batch" && r.Job.Nodes > 1
}

// checkText prints what was found; where several nodes print at the same time each
// line begins with the node's name.
func (a *app) checkText(r *checkResult, all bool) error {
	var b bytes.Buffer
	if err := r.hostText(&b); err != nil {
		return err
	}
	if r.Problem != "" {
		fmt.Fprintf(&b, "\n%s gets no environment: %s\n", r.Node, r.Problem)
	}
	for _, c := range r.Checked {
		fmt.Fprintln(&b)
		if err := c.text(&b); err != nil {
			return err
		}
	}
	fmt.Fprintln(&b)
	if all || len(r.Checked) > 1 {
		if err := r.matrix(&b); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(&b, r.sentence(r.Checked[0]))
	}
	for _, n := range r.Next {
		fmt.Fprintln(&b, "next:", n)
	}
	out := b.String()
	if r.amongOthers() {
		var named strings.Builder
		for line := range strings.Lines(out) {
			named.WriteString(strings.TrimSuffix(r.Node+": "+strings.TrimSuffix(line, "\n"), " ") + "\n")
		}
		out = named.String()
	}
	_, err := io.WriteString(plain.Writer{W: a.stdout}, out) // at once
	return err
}

// hostText is what the node is, and how that is known.
func (r *checkResult) hostText(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(key, value string) {
		if value != "" {
			fmt.Fprintf(w, "%s\t%s\n", key, value)
		}
	}
	row("node", r.Node)
	if j := r.Job; j != nil {
		text := j.ID
		if j.Step != "" {
			text += ", step " + j.Step
		}
		if j.Nodes > 1 {
			text += fmt.Sprintf(", on %d nodes", j.Nodes)
		}
		if j.Tasks > 1 {
			text += fmt.Sprintf("; one of its %d tasks here answers for all", j.Tasks)
		}
		if len(j.Devices) > 0 {
			text += "; was given " + deviceText(j.Devices)
		} else if j.WantsGPU {
			text += "; was given GPUs"
		}
		row("job", text)
	}
	row("facts", sourceText(&r.FactsSource))
	factRows(row, r.Facts)
	switch {
	case r.GPU != nil && len(r.GPU.Verdict.GPUs)+len(r.GPU.Verdict.Findings) > 0:
		var states []string
		for _, g := range r.GPU.Verdict.GPUs {
			states = append(states, fmt.Sprintf("%d %s", g.Index, g.State))
		}
		text := strings.Join(states, ", ")
		if text == "" {
			text = string(r.GPU.Verdict.Level)
		}
		row("gpu health", text+" ("+sourceText(r.GPUSource)+")")
	case r.GPUProblem != "":
		row("gpu health", "not known: "+r.GPUProblem)
	}
	return w.Flush()
}

func deviceText(list []int) string {
	var out []string
	for _, n := range list {
		out = append(out, fmt.Sprint(n))
	}
	if len(out) == 1 {
		return "GPU " + out[0]
	}
	return "GPUs " + strings.Join(out, ", ")
}

func sourceText(s *checkup.Source) string {
	if s.Recorded {
		return "recorded " + ageText(time.Since(s.Read)) + " ago"
	}
	return "read now"
}

// ageText prints how long ago something was.
func ageText(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(max(d, 0).Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// text is one environment with its findings.
func (c *checked) text(out io.Writer) error {
	title := "environment " + c.Name
	if c.Platform != "" {
		title += " on " + c.Platform
	}
	if c.ID != "" {
		title += ", id " + short(c.ID)
	}
	if c.Because != "" {
		title += ": " + c.Because
	}
	for _, line := range wrapped(title, checkWidth-2) {
		fmt.Fprintln(out, line)
	}
	if c.Delivered != "" {
		fmt.Fprintln(out, "  delivered as", c.Delivered)
	}
	for _, n := range c.Notes {
		hanging(out, "  note: ", n)
	}
	wide := [2]int{len("VERDICT"), len("CHECK")}
	for _, f := range c.Findings {
		wide[0], wide[1] = max(wide[0], len(f.Level)), max(wide[1], len(f.ID))
	}
	if len(c.Findings) == 0 {
		fmt.Fprintln(out, "  no check applies")
		return nil
	}
	fmt.Fprintf(out, "  %-*s  %-*s  %s\n", wide[0], "VERDICT", wide[1], "CHECK", "FOUND")
	for _, f := range c.Findings {
		hanging(out, fmt.Sprintf("  %-*s  %-*s  ", wide[0], f.Level, wide[1], f.ID), f.Evidence)
		if f.Next != "" {
			hanging(out, strings.Repeat(" ", wide[0]+wide[1]+6)+"-> ", remedy(&f))
		}
	}
	return nil
}

// remedy is what to do about a finding, behind who must.
func remedy(f *preflight.Finding) string {
	if f.Act == "" || strings.HasPrefix(f.Next, "the "+f.Act+" ") {
		return f.Next
	}
	return f.Act + ": " + f.Next
}

// sentence is the verdict in one line.
func (r *checkResult) sentence(c *checked) string {
	counts := map[preflight.Level]int{}
	for _, f := range c.Findings {
		counts[f.Level]++
	}
	var also []string
	if !c.Prepared && c.can() {
		also = append(also, "as far as the lock tells")
	}
	if n := counts[preflight.Warn]; n > 0 {
		also = append(also, "with "+countedText(n, "warning"))
	}
	if n := counts[preflight.Unknown]; n > 0 {
		also = append(also, amount{n, "thing", "things"}.String()+" could not be looked at")
	}
	switch c.Verdict {
	case preflight.Unfit:
		return fmt.Sprintf("%s cannot run %s: %s", r.Node, c.Name, c.Findings[0].Evidence)
	case preflight.Unhealthy:
		return fmt.Sprintf("%s cannot run %s: the node is unhealthy: %s", r.Node, c.Name, c.Findings[0].Evidence)
	}
	return strings.Join(append([]string{fmt.Sprintf("%s can run %s", r.Node, c.Name)}, also...), ", ")
}

// matrix is a line for each environment.
func (r *checkResult) matrix(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ENVIRONMENT\tVERDICT HERE\tPREPARED")
	for _, c := range r.Checked {
		ready, mark := "no", ""
		if c.Prepared {
			ready = "yes"
		}
		if c.Chosen {
			mark = "\twhat " + r.Node + " gets"
		}
		fmt.Fprintf(w, "%s\t%s\t%s%s\n", c.Name, c.Verdict, ready, mark)
	}
	return w.Flush()
}

// hanging prints text behind a heading, folded, with the further lines below it.
func hanging(out io.Writer, heading, text string) {
	for i, line := range wrapped(text, checkWidth-len(heading)) {
		if i > 0 {
			heading = strings.Repeat(" ", len(heading))
		}
		fmt.Fprintln(out, heading+line)
	}
}

// wrapped folds text at blanks into lines of at most so many characters, but for
// words that are longer. There is at least one line.
func wrapped(text string, width int) (lines []string) {
	line, wide := "", 0
	for _, word := range strings.Fields(text) {
		n := len([]rune(word))
		if wide > 0 && wide+1+n > width {
			lines, line, wide = append(lines, line), "", 0
		}
		if wide > 0 {
			line, wide = line+" ", wide+1
		}
		line, wide = line+word, wide+n
	}
	return append(lines, line)
}

package helper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/envs/lockfile"
	"github.com/hpcenv/hpcenv/hooks/planning"
	"github.com/hpcenv/hpcenv/hooks/prepared"
	"github.com/hpcenv/hpcenv/hooks/selection"
	"github.com/hpcenv/hpcenv/hooks/snapshot"
	"github.com/hpcenv/hpcenv/internal/shellword"
	"github.com/hpcenv/hpcenv/slurm/hostlist"
	"github.com/hpcenv/hpcenv/slurm/scope"
)

// chosen is what a submission's job gets, by kind of node.
type chosen struct {
	wanted  *wanted
	cluster *planning.Cluster
	plan    *selection.Plan
	where   *scope.Scope
	// description of the lock, as bytes and digest; nil of a wish. input is what was
	// selected from, and lock what its environments are without what is published.
	description []byte
	digest      string
	lock        *planning.Description
	input       selection.Input
	// environments of the plan, in the order of their names.
	environments []*environment
}

// environment is one that nodes of the plan get, and what the store says of it.
type environment struct {
	*wanted
	// subdirs of the platforms that are needed.
	subdirs []string
	*readiness
}

// choose plans for the nodes that the job can land on. What cannot work is its error.
func (s *submission) choose(ctx context.Context, st *submitStore, w *wanted) (*chosen, error) {
	c := &chosen{wanted: w}
	var err error
	if c.cluster, err = s.readCluster(ctx, st); err != nil {
		return nil, err
	}
	overrides, err := s.overrides(c.cluster)
	if err != nil {
		return nil, err
	}
	c.where = scope.FromProcess(os.Getppid(), s.context, s.component, c.cluster.Scope())
	d, err := s.describe(st, w, c)
	if err != nil {
		return nil, err
	}
	if w.name != "" && d.Environment(w.name) == nil {
		return nil, refuse(api.ExitUsage, "%s (%s) has no environment %q; it has: %s; next: --env-name=NAME with one of these", w.shown, short(w.digest), w.name, strings.Join(d.Names(), ", "))
	}
	groups, _ := c.cluster.Groups(c.where.Nodes)
	if len(groups) == 0 { // nodes that are newer than what is known
		c.where.Nodes, c.where.Every, c.where.All = c.cluster.All(), true, false
		groups, _ = c.cluster.Groups(c.where.Nodes)
	}
	c.lock = d
	c.input = selection.Input{
		Groups: groups, Rules: c.cluster.Rules,
		Wish: selection.Wish{Environment: w.name, GPU: c.where.GPUs, MultiNode: c.where.MultiNode, Partitions: c.where.Partitions, Check: s.mode, Overrides: overrides},
	}
	return c, s.replan(st, c)
}

// replan selects from what the lock says and the published environments' files show.
func (s *submission) replan(st *submitStore, c *chosen) (err error) {
	c.input.Environments = c.lock.Sharpened(prepared.Store{Root: st.root}, c.wanted.digest).Environments
	if c.plan, err = s.selected(c.input, c); err != nil {
		return s.unplanned(c, err)
	}
	before := c.environments
	c.environments = nil
	if err := s.environments(c); err != nil {
		return err
	}
	if slices.EqualFunc(before, c.environments, func(a, b *environment) bool { return a.name == b.name && slices.Equal(a.subdirs, b.subdirs) }) {
		c.environments = before // with what is known of them
	}
	return nil
}

// selected plans for all nodes if the job gets them all, else for any of them.
func (s *submission) selected(in selection.Input, c *chosen) (*selection.Plan, error) {
	if c.where.All {
		return selection.Select(in)
	}
	return selection.SelectLater(in)
}

// readCluster reads what is known of the cluster's nodes. Where nothing is, the service
// asks Slurm.
func (s *submission) readCluster(ctx context.Context, st *submitStore) (*planning.Cluster, error) {
	c, err := planning.ReadCluster(st.root)
	if errors.Is(err, snapshot.ErrNone) {
		svc, serr := s.service(ctx, st)
		if serr != nil {
			return nil, serr
		}
		if _, serr = svc.Status(ctx); serr != nil {
			return nil, serr
		}
		c, err = planning.ReadCluster(st.root)
	}
	if err != nil {
		return nil, refuse(api.ExitUnreachable, "the cluster's nodes: %w; next: tell the administrator", err)
	}
	return c, nil
}

// describe says what the lock asks of nodes.
func (s *submission) describe(st *submitStore, w *wanted, c *chosen) (*planning.Description, error) {
	if w.python {
		return planning.OfWish(w.name, c.cluster.Subdirs(c.where.Nodes)), nil
	}
	d, err := s.described(st, w)
	if err != nil {
		return nil, err
	}
	c.description, c.digest, err = d.Encode()
	return d, err
}

func (s *submission) described(st *submitStore, w *wanted) (*planning.Description, error) {
	if p := w.inherited; p != nil && p.Description != "" {
		if b, err := st.files(w).Description(p.Lock, p.Description); err == nil {
			return planning.Decode(b)
		}
	}
	if w.data == nil {
		var err error
		if w.data, err = st.lockBytes(w); err != nil {
			return nil, err
		}
	}
	d, err := planning.Remembered(w.data, w.digest, w.project, planning.Memory())
	var foreign *lockfile.ForeignError
	switch {
	case err == nil:
		return d, nil
	case errors.As(err, &foreign), errors.Is(err, lockfile.ErrLock):
		return nil, &notSubmitted{fmt.Sprintf("%s (%s)", w.shown, short(w.digest)), refuse(api.ExitUsage, "%w", err)}
	}
	return nil, &notSubmitted{fmt.Sprintf("%s (%s)", w.shown, short(w.digest)), refuse(api.ExitUsage, "%w", err)}
}

// environments are those of the plan.
func (s *submission) environments(c *chosen) error {
	for _, choice := range c.plan.Environments() {
		i := slices.IndexFunc(c.environments, func(e *environment) bool { return e.name == choice.Environment })
		if i < 0 {
			w, err := c.wanted.of(choice.Environment)
			if err != nil {
				return err
			}
			i, c.environments = len(c.environments), append(c.environments, &environment{wanted: w})
		}
		if e := c.environments[i]; !slices.Contains(e.subdirs, choice.Subdir) {
			e.subdirs = append(e.subdirs, choice.Subdir)
		}
	}
	return nil
}

// unplanned is the error of a submission for which there is no plan.
func (s *submission) unplanned(c *chosen, err error) error {
	lock := fmt.Sprintf("%s (%s)", c.wanted.shown, short(c.wanted.digest))
	var refusal *selection.Error
	switch {
	case errors.Is(err, selection.ErrWish):
		return refuse(api.ExitUsage, "%s: %w", lock, err)
	case !errors.As(err, &refusal):
		return refuse(api.ExitNoFit, "%s: %w", lock, err)
	}
	if err := s.broken(c, refusal); err != nil {
		return err
	}
	sentence := lock + ": " + refusal.Sentence()
	if refusal.Class == selection.ErrNoFit && (!c.where.All || c.where.Partition != "" && !refusal.Plan.Fits()) {
		sentence = fmt.Sprintf("no node of %s fits %s", c.place(), lock)
	}
	text := sentence + "; nothing was submitted"
	for _, line := range refusal.Table() {
		text += "\n  " + line
	}
	var next []string
	if subdir := unlocked(refusal.Plan); subdir != "" {
		next = append(next, lockfile.FormatOf(filepath.Base(c.wanted.shown), c.wanted.data).AddPlatform(subdir))
	}
	next = append(append(next, refusal.Options()...), "details: hpcenv plan"+c.planArguments())
	return refuse(api.ExitNoFit, "%s\nnext: %s", text, strings.Join(next, "; "))
}

// broken is the error of a lock of which nothing that was asked for can be made: all
// that is wrong with it, which a plan's row only begins to tell.
func (s *submission) broken(c *chosen, refusal *selection.Error) error {
	if refusal.Class != selection.ErrNoFit || c.wanted.data == nil {
		return nil
	}
	name := cmp.Or(c.wanted.name, "default")
	for i := range refusal.Plan.Rows {
		for j := range refusal.Plan.Rows[i].Rejected {
			if x := &refusal.Plan.Rows[i].Rejected[j]; x.Environment == name && !x.Broken() {
				return nil
			}
		}
	}
	lock, err := lockfile.Parse(c.wanted.data)
	if err != nil {
		return nil
	}
	env, err := lock.Environment(name)
	if err != nil {
		return nil
	}
	for _, p := range env.Platforms {
		if err := p.Validate(); err != nil && slices.Contains(c.cluster.Subdirs(c.where.Nodes), p.Subdir) {
			return &notSubmitted{fmt.Sprintf("%s (%s)", c.wanted.shown, short(c.wanted.digest)), refuse(api.ExitUsage, "environment %s for %s: %w", name, p.Name, err)}
		}
	}
	return nil
}

// unlocked is a platform of nodes for which no environment is locked; "" = there is
// none.
func unlocked(p *selection.Plan) string {
	for i := range p.Rows {
		r := &p.Rows[i]
		locked := func(x selection.Rejected) bool { return x.Platform != "" }
		if r.Problem != "" && r.Kind.Subdir != "" && len(r.Rejected) > 0 && !slices.ContainsFunc(r.Rejected, locked) {
			return r.Kind.Subdir
		}
	}
	return ""
}

// place names, for people, where the job was to go.
func (c *chosen) place() string {
	switch {
	case c.where.Partition != "":
		return c.where.Partition
	case c.where.Every:
		return "the cluster"
	}
	return hostlist.Compress(c.where.Nodes)
}

// planArguments are those with which `hpcenv plan` shows the same.
func (c *chosen) planArguments() string {
	out := ""
	if c.where.Partition != "" {
		out += " -p " + shellword.Quote(c.where.Partition)
	} else if !c.where.Every {
		out += " -w " + shellword.Quote(hostlist.Compress(c.where.Nodes))
	}
	if c.where.Partition != "" && c.where.All && strings.Contains(c.where.Asked, "--nodelist=") {
		out += " -w " + shellword.Quote(hostlist.Compress(c.where.Nodes))
	}
	if c.where.GPUs {
		out += " --gpus"
	}
	return out
}

// tell says on stderr what the user should know of a submission that succeeded.
func (s *submission) tell(c *chosen) {
	if s.step {
		return
	}
	if c.where.None {
		return // Slurm has the word: it refuses the job, or knows nodes that are newer
	}
	say := func(format string, args ...any) {
		fmt.Fprintf(s.stderr, "%s: hpcenv: %s\n", s.context, fmt.Sprintf(format, args...))
	}
	for _, w := range c.plan.Warnings {
		say("warning: %s", w)
	}
	var warnings []string
	nodes := map[string][]string{} // by warning
	for i := range c.plan.Rows {
		r := &c.plan.Rows[i]
		if r.Unused != "" {
			say("warning: %s: %s", r.Nodes, r.Unused)
		}
		for _, w := range r.Warnings {
			if r.Kind.Assumed {
				continue
			}
			if nodes[w] == nil {
				warnings = append(warnings, w)
			}
			nodes[w] = append(nodes[w], r.Nodes)
		}
	}
	for _, w := range warnings {
		slices.Sort(nodes[w])
		say("warning: %s: %s", joined(nodes[w]), w)
	}
	if sentence, nodes := unfit(c.plan); sentence != "" {
		next := "--exclude=" + shellword.Quote(nodes)
		if f := c.feature(); f != "" {
			next = "--constraint=" + f
		}
		say("warning: %s; the job may get these nodes, and would be refused there; next: %s keeps it off them; details: hpcenv plan%s", sentence, next, c.planArguments())
	}
	if !s.tty {
		return
	}
	for _, e := range c.environments {
		n := 0
		for i := range c.plan.Rows {
			if choice := c.plan.Rows[i].Choice; choice != nil && choice.Environment == e.name {
				n += c.plan.Rows[i].Count
			}
		}
		nodes := fmt.Sprintf("%d nodes", n)
		if n == 1 {
			nodes = "1 node"
		}
		say("%s (%s) ready for %s of %s", e.name, short(e.digest), nodes, c.place())
	}
}

// feature is one that all nodes that fit have and none of the others; "" = there is
// none.
func (c *chosen) feature() string {
	fits := map[string]bool{}
	for i := range c.plan.Rows {
		fits[c.plan.Rows[i].Kind.Digest] = c.plan.Rows[i].Problem == ""
	}
	var common, barred []string
	first := true
	for _, g := range c.cluster.Snapshot.Groups {
		fit, there := fits[g.Kind]
		switch {
		case !there:
		case !fit:
			barred = append(barred, g.Features...)
		case first:
			common, first = slices.Clone(g.Features), false
		default:
			common = slices.DeleteFunc(common, func(f string) bool { return !slices.Contains(g.Features, f) })
		}
	}
	for _, f := range common {
		if !slices.Contains(barred, f) {
			return f
		}
	}
	return ""
}

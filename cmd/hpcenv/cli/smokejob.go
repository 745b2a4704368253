//go:build linux

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/planning"
	"github.com/hpcenv/hpcenv/hooks/prepared"
	"github.com/hpcenv/hpcenv/hooks/selection"
	"github.com/hpcenv/hpcenv/hooks/smoke"
	"github.com/hpcenv/hpcenv/internal/shellword"
	"github.com/hpcenv/hpcenv/slurm/hostlist"
	"github.com/hpcenv/hpcenv/slurm/queries"
	"github.com/hpcenv/hpcenv/slurm/shortjob"
)

// smokeJobOf is the job for a kind of node.
type smokeJobOf struct {
	kind *smoked
	// args are srun's.
	args []string
}

// smokeJobs are the jobs for the kinds of node that are meant.
func (a *app) smokeJobs(ctx context.Context, req *api.PrepareRequest, f smokeFlags) ([]*smokeJobOf, error) {
	c, err := a.cluster()
	if err != nil {
		return nil, err
	}
	if _, missing := exec.LookPath("srun"); missing != nil || c == nil {
		return nil, api.Errorf(api.ExitUnreachable, "nothing is known here of a cluster's nodes, or there is no srun\nnext: hpcenv smoke --here tries it on this host; hpcenv prepare asks Slurm for its nodes")
	}
	overrides, err := a.overrides(c)
	if err != nil {
		return nil, err
	}
	names, why, err := c.Names(f.where)
	if errors.Is(err, planning.ErrWhere) {
		return nil, api.Errorf(api.ExitUsage, "%v\nnext: hpcenv nodes lists them", err)
	}
	if err != nil {
		return nil, err
	}
	for _, w := range why {
		fmt.Fprintln(a.stderr, "note:", w)
	}
	d, err := a.described(req)
	if err != nil {
		return nil, err
	}
	if d == nil {
		d = planning.OfWish(f.environment, c.Subdirs(names))
	}
	if d, err = a.sharpened(d, req); err != nil {
		return nil, err
	}
	groups, _ := c.Groups(names)
	wish := selection.Wish{Environment: f.environment, Check: selection.Check(f.check), Partitions: partitionsOf(f.where), Overrides: overrides}
	o, err := planning.Plan(d, groups, c.Rules, wish)
	if err != nil {
		return nil, api.Errorf(api.ExitUsage, "%s: %v", req.LockPath, err)
	}
	if len(o.Plan.Environments()) == 0 {
		return nil, a.unplanned(req.LockPath, o.Why)
	}
	conf, err := a.conf()
	if err != nil {
		return nil, err
	}
	now, err := queries.Client{}.Nodes(ctx)
	if err != nil {
		return nil, api.Errorf(api.ExitUnreachable, "%v\nnext: try again when slurmctld answers (scontrol ping)", err)
	}
	labels := kindLines(o.Plan)
	var out []*smokeJobOf
	for _, row := range sortedRows(o.Plan) {
		j := &smokeJobOf{kind: &smoked{Nodes: row.Nodes, Kind: labels[row.Kind.Digest], Results: []smoke.Result{}}}
		out = append(out, j)
		if row.Choice == nil {
			j.kind.State, j.kind.Problem = smokeNoFit, row.Problem
			continue
		}
		j.kind.Environment, j.kind.Platform = row.Choice.Environment, row.Choice.Subdir
		ready, err := planning.Ready(prepared.Store{Root: conf.Store}, lockDigest(req.Lock), row.Choice)
		if err != nil {
			return nil, storeUnread(conf.Store, err)
		}
		if !ready {
			j.kind.State, j.kind.Problem = smokeLate, "it is not prepared (hpcenv prepare)"
			continue
		}
		j.place(c, d, row, now, f)
	}
	return out, nil
}

// place says where the job of a kind may run, if it can anywhere.
func (j *smokeJobOf) place(c *planning.Cluster, d *planning.Description, row *selection.Row, now []queries.Node, f smokeFlags) {
	names, err := hostlist.Expand(row.Nodes)
	if err != nil {
		j.kind.State, j.kind.Problem = smokeLate, err.Error()
		return
	}
	var up []queries.Node
	var others, states []string
	for _, n := range now {
		switch {
		case !slices.Contains(names, n.Name):
			others = append(others, n.Name)
		case serves(n.State):
			up = append(up, n)
		default:
			states = append(states, n.Name+" is "+strings.ToLower(n.State))
		}
	}
	if len(up) == 0 {
		j.kind.State, j.kind.Problem = smokeLate, "none of its nodes is up: "+strings.Join(states[:min(3, len(states))], ", ")
		return
	}
	partition := f.where.Partition
	if partition == "" {
		partition = partitionFor(c, up)
	}
	if partition == "" {
		j.kind.State, j.kind.Problem = smokeLate, "none of its nodes is in a partition that takes jobs"
		return
	}
	j.args, j.kind.partition = append(j.args, "--partition="+partition), partition
	if len(others) > 0 {
		j.args = append(j.args, "--exclude="+hostlist.Compress(others))
	}
	if f.where.Constraint != "" {
		j.args = append(j.args, "--constraint="+f.where.Constraint)
	}
	if usesGPU(d, row.Choice) && slices.ContainsFunc(up, func(n queries.Node) bool { return strings.HasPrefix(n.Gres, "gpu") || strings.Contains(n.Gres, ",gpu") }) {
		j.args = append(j.args, "--gpus=1")
	}
}

// usesGPU tells whether an environment is made for GPUs.
func usesGPU(d *planning.Description, choice *selection.Choice) bool {
	env := d.Environment(choice.Environment)
	return env != nil && slices.ContainsFunc(env.Platforms, func(c selection.Candidate) bool { return c.Platform == choice.Platform && c.Stack.GPU })
}

// out are what words of a node's state begin with if it gets no job.
var out = []string{"DOWN", "DRAIN", "FAIL", "MAINT", "NOT_RESPONDING", "UNKNOWN", "POWERING_DOWN", "REBOOT", "FUTURE", "RESERVED", "INVAL"}

// serves tells whether a node in a state gets jobs, now or later.
func serves(state string) bool {
	return !strings.HasSuffix(state, "*") && !slices.ContainsFunc(strings.Split(state, "+"), func(word string) bool {
		return slices.ContainsFunc(out, func(begin string) bool { return strings.HasPrefix(word, begin) })
	})
}

// partitionFor is a partition that has one of the nodes: the default one, else the
// first that everybody may use, else the first that is up; "" = none.
func partitionFor(c *planning.Cluster, nodes []queries.Node) string {
	best, rank := "", 0
	for i := range c.Snapshot.Partitions {
		p := &c.Snapshot.Partitions[i]
		if p.State != "" && p.State != "UP" || p.RootOnly || !slices.ContainsFunc(nodes, func(n queries.Node) bool { return slices.Contains(n.Partitions, p.Name) }) {
			continue
		}
		value := 1
		switch {
		case p.Default:
			value = 3
		case p.AllowGroups == nil && p.AllowAccounts == nil && p.AllowQOS == nil && p.DenyAccounts == nil && !p.Hidden:
			value = 2
		}
		if value > rank {
			best, rank = p.Name, value
		}
	}
	return best
}

// smokeJob runs the job of a kind.
func (a *app) smokeJob(ctx context.Context, j *smokeJobOf, req *api.PrepareRequest, f smokeFlags) error {
	self, err := ownProgram()
	if err != nil {
		return err
	}
	args := append(slices.Clone(j.args), "--env-lock="+req.LockPath, "--time="+strconv.Itoa(f.minutes), "--cpus-per-task="+strconv.Itoa(f.cpus))
	if f.environment != "" {
		args = append(args, "--env-name="+f.environment)
	}
	if f.check != "" {
		args = append(args, "--env-check="+f.check)
	}
	env := os.Environ()
	if a.takenAsIs() {
		env = append(env, "HPCENV_FROZEN=1")
	}
	if !a.json {
		fmt.Fprintf(a.stderr, "%s: trying %s on %s\n", j.kind.Nodes, j.kind.Environment, j.kind.Kind)
	}
	var report *smoke.Report
	var unread error
	err = shortjob.Run(ctx, shortjob.Job{
		Name: "hpcenv-smoke", Args: append(args, f.srun...), Command: smokeNodeCall(self, f.limit), Env: env, Wait: f.wait,
		Output: func(r io.Reader, started func()) error {
			report, unread = smoke.Read(r, func(smoke.Begin) { started() }, a.chatter(j.kind))
			if unread != nil {
				_, err := io.Copy(io.Discard, r)
				return err
			}
			return nil
		},
	})
	j.kind.take(report)
	var end *shortjob.EndError
	switch {
	case errors.Is(err, shortjob.ErrWaited):
		j.kind.State, j.kind.Problem = smokeLate, err.Error()
	case errors.As(err, &end) && end.Code == api.ExitNoFit && report.Begin == nil:
		j.kind.State, j.kind.Problem = smokeNoFit, brief(end.Said)
	case errors.As(err, &end) && report.Begin == nil && end.Said != "":
		j.kind.unfinished(report, brief(end.Said))
	case errors.As(err, &end):
		j.kind.unfinished(report, "the job ended ("+brief(end.Error())+")")
	case err != nil:
		return err
	case unread != nil:
		j.kind.unfinished(report, unread.Error())
	default:
		j.kind.unfinished(report, "the job ended")
	}
	return nil
}

// brief is what a launch said, in one line.
func brief(said string) string {
	return strings.ReplaceAll(strings.Join(strings.Split(strings.TrimSpace(said), "\n"), "; "), "srun: error: ", "")
}

// chatter notes what a node prints beside what it tells: nothing of it matters, but
// where nothing is told it may be the reason.
func (a *app) chatter(k *smoked) func(string) {
	return func(line string) {
		if len(k.Notes) < 5 {
			k.Notes = append(k.Notes, "it printed: "+line)
		}
	}
}

// smokeNodeCall is how a node is asked to try its environment.
func smokeNodeCall(self string, limit time.Duration) []string {
	return []string{self, smokeNodeWord, "--limit", limit.String()}
}

// smokeHere tries an environment on this host, as hpcenv run starts programs in it.
func (a *app) smokeHere(ctx context.Context, k *smoked, req *api.PrepareRequest, f smokeFlags) error {
	self, err := ownProgram()
	if err != nil {
		return err
	}
	args := []string{"run", "--lock", req.LockPath, "--executable"}
	if f.environment != "" {
		args = append(args, "-e", f.environment)
	}
	if a.takenAsIs() {
		args = append(args, "--frozen")
	}
	if f.check != "" {
		args = append(args, "--env-check", f.check)
	}
	for _, p := range []struct{ flag, value string }{{"--store", a.store}, {"--socket", a.socket}} {
		if p.value != "" {
			args = append([]string{p.flag, p.value}, args...)
		}
	}
	args = append(append(args, "--"), smokeNodeCall(self, f.limit)...)
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Stderr = io.MultiWriter(a.stderr, &said)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	report, unread := smoke.Read(stdout, func(smoke.Begin) {}, a.chatter(k))
	if unread != nil {
		if _, err := io.Copy(io.Discard, stdout); err != nil {
			unread = errors.Join(unread, err)
		}
	}
	end := cmd.Wait()
	k.take(report)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return api.Errorf(api.ExitFailed, "interrupted")
	case errors.As(end, &exit) && report.Begin == nil:
		return &api.Error{Code: exit.ExitCode()} // it has said why
	case unread != nil:
		k.unfinished(report, unread.Error())
	case end != nil:
		k.unfinished(report, fmt.Sprintf("%s ended (%v)", shellword.Quote(self), end))
	default:
		k.unfinished(report, "it ended")
	}
	return nil
}

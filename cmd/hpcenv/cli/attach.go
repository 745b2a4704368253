//go:build linux

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/hpcenv/hpcenv/daemon/api"
	"github.com/hpcenv/hpcenv/hooks/pin"
	"github.com/hpcenv/hpcenv/internal/shellword"
	"github.com/hpcenv/hpcenv/slurm/hostlist"
	"github.com/hpcenv/hpcenv/slurm/queries"
	"github.com/hpcenv/hpcenv/slurm/shortjob"
)

func (a *app) attachCmd() *cobra.Command {
	var node string
	cmd := &cobra.Command{
		Use:   "attach JOB [-w NODE] [-- COMMAND [ARGUMENT...]]",
		Short: "Open a shell in a running job, on its node and in its environment",
		Long: `Open a shell in a running job of yours: on one of its nodes, within what the job
was given of it, and in the job's environment. It is a step of the job that shares
what the job has (srun --overlap), and ends with it. With a command, that is run in
place of a shell, with a terminal or without.`,
		Args: usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.attach(cmd.Context(), args[0], node, args[1:])
		},
	}
	cmd.Flags().StringVarP(&node, "nodelist", "w", "", "the node (default: that of the job's batch script, else its first one)")
	cmd.Flags().SetInterspersed(true)
	return cmd
}

// attach becomes srun with a step of the job.
func (a *app) attach(ctx context.Context, id, node string, command []string) error {
	srun, err := exec.LookPath("srun")
	if err != nil {
		return api.Errorf(api.ExitUnreachable, "there is no srun on this host (%v)\nnext: use a host from which jobs are submitted", err)
	}
	terminal := term.IsTerminal(0) && term.IsTerminal(1)
	if !terminal && len(command) == 0 {
		return api.Errorf(api.ExitUsage, "there is no terminal for a shell\nnext: hpcenv attach %s -- COMMAND", id)
	}
	job, node, err := a.running(ctx, id, node)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("own program: %w", err)
	}
	env := slices.DeleteFunc(shortjob.OutsideOfJob(os.Environ()), func(kv string) bool { return strings.HasPrefix(kv, pin.Variable+"=") })
	step := func(node string) []string {
		return []string{srun, "--jobid=" + job.ID, "--overlap", "--nodes=1", "--ntasks=1", "--nodelist=" + node, "--mpi=none"}
	}
	found, err := a.pinOf(ctx, job, env, append(step(job.BatchHost), self, attachNodeWord, "--find", job.ID))
	if err != nil {
		return err
	}
	argv := step(node)
	if terminal {
		argv = append(argv, "--pty")
	}
	if found.Dir != "" {
		argv = append(argv, "--chdir="+found.Dir)
	}
	argv = append(append(argv, self, attachNodeWord, "--"), command...)
	err = unix.Exec(srun, argv, append(env, pin.Variable+"="+found.Pin))
	return fmt.Errorf("%s: %w", srun, err)
}

// running is a job of the caller's that runs, and the node that is meant.
func (a *app) running(ctx context.Context, id, node string) (*queries.Job, string, error) {
	job, err := queries.Client{}.Job(ctx, id)
	switch {
	case errors.Is(err, queries.ErrNoJob):
		return nil, "", api.Errorf(api.ExitUsage, "%v, or it is not shown to you\nnext: squeue --me lists your jobs", err)
	case err != nil:
		return nil, "", api.Errorf(api.ExitUnreachable, "%v\nnext: is this a host from which jobs are submitted?", err)
	case job.User != "" && job.User != strconv.Itoa(os.Getuid()):
		return nil, "", api.Errorf(api.ExitUsage, "job %s is another user's (uid %s)\nnext: squeue --me lists your jobs", id, job.User)
	case job.State != "RUNNING":
		return nil, "", api.Errorf(api.ExitUsage, "job %s does not run: Slurm calls it %s\nnext: squeue --me --states=RUNNING lists those that do (elements of an array as JOB_INDEX)", id, job.State)
	}
	names, err := hostlist.Expand(job.Nodes)
	if err != nil || len(names) == 0 {
		return nil, "", api.Errorf(api.ExitFailed, "the nodes of job %s: %q: %v", id, job.Nodes, err)
	}
	if !slices.Contains(names, job.BatchHost) {
		job.BatchHost = names[0]
	}
	if node == "" {
		return job, job.BatchHost, nil
	}
	if !slices.Contains(names, node) {
		return nil, "", api.Errorf(api.ExitUsage, "node %s is none of job %s, which has %s\nnext: name one of these, or leave -w out for %s", node, id, job.Nodes, job.BatchHost)
	}
	return job, node, nil
}

// findLimit bounds the step that looks for a job's pin.
const findLimit = 60 * time.Second

// pinOf finds what the job carries: in a process of the job on this host (the shell of
// salloc), else by a step on the node of its batch script.
func (a *app) pinOf(ctx context.Context, job *queries.Job, env, look []string) (*jobPin, error) {
	if found := findPin(job.ID); found.Pin != "" {
		return found, nil
	}
	ctx, cancel := context.WithTimeout(ctx, findLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, look[0], look[1:]...)
	var said, failure bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Env = &said, &failure, env
	cmd.WaitDelay = time.Second
	// Slurm ends the step in good order.
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGTERM) }
	found := new(jobPin)
	err := cmd.Run()
	if err == nil {
		err = json.Unmarshal(said.Bytes(), found)
	}
	if err != nil {
		return nil, api.Errorf(api.ExitUnreachable, "a step in job %s on %s, to see which environment it has, failed: %v: %s\nnext: does srun --jobid=%s --overlap --nodes=1 hostname work?", job.ID, job.BatchHost, err, strings.TrimSpace(failure.String()), job.ID)
	}
	if found.Pin != "" {
		return found, nil
	}
	why := "it was submitted without --env-lock"
	if !found.Looked {
		why = "none of its processes runs on " + job.BatchHost + ", and no prolog has noted its environment there"
	}
	return nil, api.Errorf(api.ExitUsage, "job %s has no environment that could be found: %s\nnext: a shell without one: srun --jobid=%s --overlap --nodes=1 --nodelist=%s --pty bash", job.ID, why, job.ID, shellword.Quote(job.BatchHost))
}

// Package buildjobs runs link scripts and site builds as Slurm jobs of a build account.
//
// Enters: the spool into which the daemon puts tasks (linkscript.Spool). Leaves:
// jobs, whose answers the daemon verifies. The agent is a service of the build
// account: the daemon needs no right to act as it, nor it as the daemon, and all that
// they share is the spool.
package buildjobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hpcenv/hpcenv/envs/linkscript"
)

// lookEvery is the time between two looks into the spool.
const lookEvery = time.Second

// Agent submits jobs.
type Agent struct {
	// Spool is the folder that the daemon writes tasks to.
	Spool string
	// Sbatch is the command; "" = sbatch from PATH.
	Sbatch string
	// Arguments of sbatch by conda subdir: what makes the job land on a node of that
	// architecture, e.g. --constraint=aarch64.
	Arguments map[string][]string
	// Program is hpcenv on the nodes.
	Program string
	// Store is the cluster's store on the nodes; "" = site builds find environments only
	// where they are attached.
	Store string
	Log   *slog.Logger
}

// Run serves until ctx ends, and then waits for its jobs.
func (a *Agent) Run(ctx context.Context) error {
	var jobs sync.WaitGroup
	defer jobs.Wait()
	for {
		dirs, err := filepath.Glob(filepath.Join(a.Spool, "script-*"))
		if err != nil {
			return err
		}
		for _, dir := range dirs {
			task, ok, err := linkscript.Claim(dir)
			if err != nil {
				a.Log.Warn("a task cannot be taken", "task", dir, "err", err)
			}
			if !ok {
				continue
			}
			jobs.Go(func() { a.serve(ctx, dir, task) })
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookEvery):
		}
	}
}

// serve runs one task and tells the daemon where it could not.
func (a *Agent) serve(ctx context.Context, dir string, task *linkscript.Task) {
	a.Log.Info("build job", "task", dir, "platform", task.Platform, "kind", task.Script.Kind)
	err := a.submit(ctx, dir, task)
	if err == nil {
		return
	}
	a.Log.Warn("build job did not run", "task", dir, "err", err)
	if err := linkscript.Refuse(dir, err); err != nil && !errors.Is(err, os.ErrNotExist) {
		a.Log.Warn("the daemon was not told", "task", dir, "err", err)
	}
}

// submit starts a job and waits for its end. The job is cancelled with ctx.
func (a *Agent) submit(ctx context.Context, dir string, task *linkscript.Task) error {
	args, ok := a.Arguments[task.Platform]
	if !ok {
		return fmt.Errorf("no arguments of sbatch are configured for %s", task.Platform)
	}
	name := "hpcenv-script"
	if task.Script.Site() {
		name = "hpcenv-" + task.Script.Kind
	}
	if task.Site != nil {
		if err := linkscript.CheckSbatch(task.Site.Sbatch); err != nil {
			return err
		}
		// Of an option that is there twice the last counts.
		args = append(slices.Clone(args), task.Site.Sbatch...)
	}
	sbatch := a.Sbatch
	if sbatch == "" {
		sbatch = "sbatch"
	}
	// The time that copies take comes on top of the script's own.
	minutes := int(math.Ceil(task.Limits.Time.Minutes())) + 10
	args = append([]string{"--wait", "--job-name=" + name, "--nodes=1", "--ntasks=1", "--export=ALL", "--no-requeue", "--chdir=/",
		"--output=" + filepath.Join(dir, "out", "log"), fmt.Sprintf("--time=%d", minutes)}, args...)
	cmd := exec.CommandContext(ctx, sbatch, args...)
	// The job gets nothing of this account's environment. Not by --export=NONE, for
	// which slurmd runs the account's login shell (and, from Slurm 24.11 on, ends itself
	// where it is emulated).
	cmd.Env = bareEnviron(os.Environ())
	// --wait cancels nothing: sbatch passes the signal on to the job.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	// The sandbox's tools are looked up in PATH.
	cmd.Stdin = strings.NewReader(fmt.Sprintf("#!/bin/sh\nexport PATH=\"${PATH:-/usr/local/bin:/usr/bin:/bin}\"\nexec '%s' build-script --store='%s' '%s'\n", a.Program, a.Store, dir))
	out, err := cmd.CombinedOutput()
	if err != nil {
		log, rerr := os.ReadFile(filepath.Join(dir, "out", "log"))
		if rerr != nil {
			log = nil // it was not made: the job did not start
		}
		said := string(bytes.TrimSpace(log[max(0, len(log)-2000):]))
		if job, submitted := strings.CutPrefix(string(bytes.TrimSpace(out)), "Submitted batch job "); submitted {
			return fmt.Errorf("job %s: %w: %s", job, err, said)
		}
		return fmt.Errorf("sbatch: %w: %s %s", err, bytes.TrimSpace(out), said)
	}
	return nil
}

// bareEnviron keeps of an environment what sbatch itself needs.
func bareEnviron(environ []string) []string {
	var out []string
	for _, e := range environ {
		switch name, _, _ := strings.Cut(e, "="); name {
		case "PATH", "SLURM_CONF", "LD_LIBRARY_PATH":
			out = append(out, e)
		}
	}
	return out
}

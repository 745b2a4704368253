package linkscript

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hpcenv/hpcenv/envs/sandbox"
)

const (
	// pollEvery is the time between two looks for an answer.
	pollEvery = 250 * time.Millisecond
	// maxError bounds what a build account says of a job that did not run.
	maxError = 8 << 10
)

// Spool hands scripts to another account, which runs them on a node of their
// architecture (package slurm/buildjobs). Dir is shared storage that belongs to this
// account and to the build account's group, with the set-group-id bit, 2750.
type Spool struct {
	Dir string
	// Platforms that are handed over.
	Platforms []string
	// Wait bounds how long an answer may take beyond the script's own time: a node of
	// the right kind must become free.
	Wait time.Duration
}

// CanRun implements Runner.
func (s *Spool) CanRun(platform string) error {
	if !slices.Contains(s.Platforms, platform) {
		return fmt.Errorf("%w: no build jobs for %s are configured", ErrCannotRun, platform)
	}
	if st, err := os.Stat(s.Dir); err != nil || !st.IsDir() {
		return fmt.Errorf("%w: the spool of build jobs %s: %w", ErrCannotRun, s.Dir, errors.Join(err, fs.ErrNotExist))
	}
	return nil
}

// Run implements Runner.
func (s *Spool) Run(ctx context.Context, t *Task) (_ *Outcome, err error) {
	if err := s.CanRun(t.Platform); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(s.Dir, "script-")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCannotRun, err)
	}
	defer func() { err = errors.Join(err, RemoveAll(dir)) }()
	// Others of the spool's group may look in and write to out/. What is made in a
	// folder gets its group; setting modes ends that, so it comes last.
	err = os.Mkdir(filepath.Join(dir, outDir), 0o770)
	if err == nil {
		err = os.Chmod(filepath.Join(dir, outDir), 0o770)
	}
	if err == nil {
		err = os.Chmod(dir, 0o750)
	}
	if err == nil {
		err = putTask(ctx, dir, t)
	}
	if err == nil {
		err = s.wait(ctx, dir, t)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCannotRun, err)
	}
	o, err := takeOutcome(dir, t)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCannotRun, err)
	}
	return o, nil
}

// wait returns when there is an answer.
func (s *Spool) wait(ctx context.Context, dir string, t *Task) error {
	ctx, cancel := context.WithTimeout(ctx, t.Limits.Time+s.Wait)
	defer cancel()
	for {
		if f, err := openAnswer(dir, errorFile, maxError); err == nil {
			text, err := io.ReadAll(io.LimitReader(f, maxError))
			return errors.Join(fmt.Errorf("the build job did not run: %s", printable(string(text))), err, f.Close())
		}
		_, err := os.Lstat(filepath.Join(dir, outDir, outcomeFile))
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no answer of the build job within %v; is the build account's service running?", t.Limits.Time+s.Wait)
		case <-time.After(pollEvery):
		}
	}
}

// Serve is the build account's side, on a node: it runs the task in the folder dir in
// the sandbox of this host, with a private copy below scratch, and leaves the answer.
// store is the cluster's store on this host, which only a site's tasks need.
func Serve(ctx context.Context, box *sandbox.Box, dir, scratch, store string) (err error) {
	data, err := os.ReadFile(filepath.Join(dir, taskFile))
	if err != nil {
		return err
	}
	var t Task
	if err := json.Unmarshal(data, &t); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	tmp, err := os.MkdirTemp(scratch, "hpcenv-script-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, RemoveAll(tmp)) }()
	t.Tree, t.Scratch = filepath.Join(tmp, "tree"), filepath.Join(tmp, "run")
	if err := unpackTree(filepath.Join(dir, treeFile), t.Tree); err != nil {
		return err
	}
	t.Store = store
	if t.Script.Kind == PreLink || t.Script.Site() {
		t.Source = filepath.Join(tmp, "source")
		if err := unpackTree(filepath.Join(dir, sourceFile), t.Source); err != nil {
			return err
		}
	}
	if err := os.Mkdir(t.Scratch, 0o700); err != nil {
		return err
	}
	o, err := NewLocal(box).Run(ctx, &t)
	if err != nil {
		return err
	}
	return putOutcome(dir, o)
}

// Refuse tells the daemon that a task could not be run.
func Refuse(dir string, why error) error {
	text := why.Error()
	return putFile(filepath.Join(dir, outDir, errorFile), []byte(text[:min(len(text), maxError)]))
}

// Claim takes a complete task for this process; false = it is not complete, or
// somebody has it. Of what it says Platform is where it must run, Limits.Time how long
// it may, and Site.Sbatch how a node of the right kind is found.
func Claim(dir string) (task *Task, ok bool, err error) {
	data, err := os.ReadFile(filepath.Join(dir, taskFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	var t Task
	if err := json.Unmarshal(data, &t); err != nil {
		return nil, false, fmt.Errorf("%s: %w", dir, err)
	}
	err = os.Mkdir(filepath.Join(dir, outDir, claimFile), 0o755)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	return &t, err == nil, err
}

// ByPlatform runs what Jobs is for as a job and all else on this host.
type ByPlatform struct {
	Here Runner
	Jobs *Spool
}

func (b ByPlatform) choose(platform string) Runner {
	if slices.Contains(b.Jobs.Platforms, platform) {
		return b.Jobs
	}
	return b.Here
}

// CanRun implements Runner.
func (b ByPlatform) CanRun(platform string) error { return b.choose(platform).CanRun(platform) }

// Run implements Runner.
func (b ByPlatform) Run(ctx context.Context, t *Task) (*Outcome, error) {
	return b.choose(t.Platform).Run(ctx, t)
}

package oracle

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

//go:embed driver.py
var driverSource string

// ErrRattler: rattler (or rattler-build) could not do what it was asked; the
// text is its own.
var ErrRattler = errors.New("rattler failed")

// jobTime bounds one job: the slowest, an environment of a few hundred packages,
// takes some seconds.
const jobTime = 2 * time.Minute

// Driver takes jobs for py-rattler and py-rattler-build, one at a time. It has a
// Python process that lives until a job fails or crashes it (a panic in one of
// rattler's threads ends the process); the next job gets a new one.
type Driver struct {
	python, home string
	p            *process
}

type process struct {
	cmd     *exec.Cmd
	jobs    io.WriteCloser
	answers *bufio.Scanner
}

// NewDriver makes a driver with the interpreter of the virtual environment. home
// is a directory that it takes for the user's, so that no configuration or cache
// of this machine matters.
func NewDriver(python, home string) *Driver { return &Driver{python: python, home: home} }

func (d *Driver) start() error {
	cmd := exec.Command(d.python, "-I", "-W", "ignore", "-c", driverSource)
	cmd.Env = []string{
		"HOME=" + d.home, "TMPDIR=" + d.home, "PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "RUST_LOG=error",
		// Packages are linked one after the other: where a file and a directory are
		// at odds, rattler's threads get into one another's way.
		"RAYON_NUM_THREADS=1",
	}
	cmd.Stderr = os.Stderr
	jobs, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("oracle driver: %w", err)
	}
	answers, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("oracle driver: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("oracle driver: %w", err)
	}
	d.p = &process{cmd: cmd, jobs: jobs, answers: bufio.NewScanner(answers)}
	return nil
}

// Close ends the driver; the error is how its process ended.
func (d *Driver) Close() error {
	p := d.p
	if d.p = nil; p == nil {
		return nil
	}
	return errors.Join(p.jobs.Close(), p.cmd.Wait())
}

// end kills a process of which nothing is expected any more.
func (p *process) end() error {
	err := p.cmd.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	var exit *exec.ExitError
	if werr := p.cmd.Wait(); !errors.As(werr, &exit) {
		err = errors.Join(err, werr)
	}
	return err
}

// Install installs an environment of the lock at path into prefix, which must
// not exist; packages are unpacked below cache.
func (d *Driver) Install(ctx context.Context, lock, environment, platform, prefix, cache string) error {
	return d.do(ctx, map[string]string{
		"op": "install", "lock": lock, "environment": environment, "platform": platform, "prefix": prefix, "cache": cache,
	})
}

// Build builds a recipe with rattler-build; packages appear below out/<subdir>.
func (d *Driver) Build(ctx context.Context, recipe, out string) error {
	return d.do(ctx, map[string]string{"op": "build", "recipe": recipe, "out": out, "platform": "linux-64"})
}

// ReadLock reads a lock; what is in it appears in out as JSON (LockDump), and as
// a lock of the newest version in rewritten.
func (d *Driver) ReadLock(ctx context.Context, lock, out, rewritten string) error {
	return d.do(ctx, map[string]string{"op": "lock", "lock": lock, "out": out, "rewritten": rewritten})
}

// do has one job done. A process that does not answer in time is killed.
func (d *Driver) do(ctx context.Context, job map[string]string) error {
	line, err := json.Marshal(job)
	if err != nil {
		return fmt.Errorf("oracle driver: %w", err)
	}
	if d.p == nil {
		if err := d.start(); err != nil {
			return err
		}
	}
	p := d.p
	ctx, cancel := context.WithTimeout(ctx, jobTime)
	defer cancel()
	// What Kill says matters less than the missing answer below.
	stop := context.AfterFunc(ctx, func() { _ = p.cmd.Process.Kill() })
	defer stop()
	if _, err := p.jobs.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("oracle driver: %w", err)
	}
	if !p.answers.Scan() {
		return fmt.Errorf("%w: it crashed: %w", ErrRattler, errors.Join(ctx.Err(), p.answers.Err(), d.Close()))
	}
	var answer struct {
		Error *string `json:"error"`
	}
	if err := json.Unmarshal(p.answers.Bytes(), &answer); err != nil {
		return fmt.Errorf("oracle driver: answer %q: %w", p.answers.Text(), err)
	}
	if answer.Error != nil {
		// Threads of a job that failed go on, and may crash the process yet.
		d.p = nil
		return fmt.Errorf("%w: %s", ErrRattler, errors.Join(errors.New(*answer.Error), p.end()))
	}
	return nil
}

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

// Driver is a Python process with py-rattler and py-rattler-build that takes
// jobs, one at a time.
type Driver struct {
	cmd     *exec.Cmd
	jobs    io.WriteCloser
	answers *bufio.Scanner
}

// Start starts the driver with the interpreter of the virtual environment. home
// is an empty directory that it takes for the user's, so that no configuration
// or cache of this machine matters.
func Start(python, home string) (*Driver, error) {
	cmd := exec.Command(python, "-I", "-W", "ignore", "-c", driverSource)
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + home, "LC_ALL=C.UTF-8", "RUST_LOG=error",
		// Packages are linked one after the other: where a file and a directory are at
		// odds, rattler's threads get into one another's way.
		"RAYON_NUM_THREADS=1"}
	cmd.Stderr = os.Stderr
	jobs, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("oracle driver: %w", err)
	}
	answers, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("oracle driver: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("oracle driver: %w", err)
	}
	return &Driver{cmd: cmd, jobs: jobs, answers: bufio.NewScanner(answers)}, nil
}

// Close ends the driver.
func (d *Driver) Close() error {
	return errors.Join(d.jobs.Close(), d.cmd.Wait())
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

// do has one job done. A driver that does not answer in time is killed.
func (d *Driver) do(ctx context.Context, job map[string]string) error {
	line, err := json.Marshal(job)
	if err != nil {
		return fmt.Errorf("oracle driver: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, jobTime)
	defer cancel()
	// What Kill says matters less than the missing answer below.
	stop := context.AfterFunc(ctx, func() { _ = d.cmd.Process.Kill() })
	defer stop()
	if _, err := d.jobs.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("oracle driver: %w", err)
	}
	if !d.answers.Scan() {
		return fmt.Errorf("oracle driver ended at job %s: %w", line, errors.Join(ctx.Err(), d.answers.Err(), io.ErrUnexpectedEOF))
	}
	var answer struct {
		Error *string `json:"error"`
	}
	if err := json.Unmarshal(d.answers.Bytes(), &answer); err != nil {
		return fmt.Errorf("oracle driver: answer %q: %w", d.answers.Text(), err)
	}
	if answer.Error != nil {
		return fmt.Errorf("%w: %s", ErrRattler, *answer.Error)
	}
	return nil
}

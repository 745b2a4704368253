package shortjob

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// slurm puts programs into PATH that stand for Slurm's: a job is the file "job", srun
// runs its command once the file "free" is there, scancel removes the job.
func slurm(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, script := range map[string]string{
		"srun": `echo "$@" >"$DIR/args"
env >"$DIR/env"
: >"$DIR/job"
trap 'exit 143' TERM
while [ ! -e "$DIR/free" ]; do [ -e "$DIR/job" ] || { echo "srun: error: cancelled" >&2; exit 1; }; sleep 0.05; done
while [ "$1" != -- ]; do shift; done
shift
"$@"
code=$?
rm -f "$DIR/job"
exit $code
`,
		"scancel": `rm -f "$DIR/job"` + "\n",
		"squeue": `[ -e "$DIR/job" ] || exit 0
case "$*" in *%r*) echo PENDING, Priority ;; *) echo 7 ;; esac
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("DIR", dir)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return dir
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

func gone(t *testing.T, dir string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, "job")); err == nil {
		t.Error("the job is still there")
	}
}

// lines keeps what is printed; the first line is the start.
func lines(out *[]string) func(io.Reader, func()) error {
	return func(r io.Reader, started func()) error {
		scan := bufio.NewScanner(r)
		for scan.Scan() {
			started()
			*out = append(*out, scan.Text())
		}
		return scan.Err()
	}
}

func TestRun(t *testing.T) {
	dir := slurm(t)
	touch(t, filepath.Join(dir, "free"))
	var out []string
	err := Run(t.Context(), Job{Name: "test", Args: []string{"--time=1"}, Command: []string{"printf", "a\nb\n"}, Env: os.Environ(), Wait: time.Minute, Output: lines(&out)})
	if err != nil || !slices.Equal(out, []string{"a", "b"}) {
		t.Fatalf("%q, %v", out, err)
	}
	args, err := os.ReadFile(filepath.Join(dir, "args"))
	if err != nil || !strings.Contains(string(args), "--time=1 -- printf") {
		t.Errorf("srun %s, %v", args, err)
	}
}

func TestExitCode(t *testing.T) {
	dir := slurm(t)
	touch(t, filepath.Join(dir, "free"))
	var out []string
	err := Run(t.Context(), Job{Name: "test", Command: []string{"sh", "-c", "echo 'srun: job 5 queued and waiting for resources' >&2; echo why >&2; exit 3"}, Env: os.Environ(), Output: lines(&out)})
	var end *EndError
	if !errors.As(err, &end) || end.Code != 3 || end.Said != "why" {
		t.Fatalf("%#v", err)
	}
}

// TestNotInTime: what does not start is cancelled, and Slurm's reason is told.
func TestNotInTime(t *testing.T) {
	dir := slurm(t)
	var out []string
	err := Run(t.Context(), Job{Name: "test", Command: []string{"true"}, Env: os.Environ(), Wait: 500 * time.Millisecond, Output: lines(&out)})
	if !errors.Is(err, ErrWaited) || !strings.Contains(err.Error(), "pending, priority") {
		t.Fatal(err)
	}
	gone(t, dir)
}

// TestCancelled: so is one that is waiting, or running, when the context is done.
func TestCancelled(t *testing.T) {
	for _, running := range []bool{false, true} {
		dir := slurm(t)
		ctx, cancel := context.WithCancel(t.Context())
		var out []string
		j := Job{Name: "test", Command: []string{"sh", "-c", "echo there; while [ -e $DIR/job ]; do sleep 0.05; done; exit 1"}, Env: os.Environ(), Output: lines(&out)}
		if running {
			touch(t, filepath.Join(dir, "free"))
			read := j.Output
			j.Output = func(r io.Reader, started func()) error {
				return read(r, func() { started(); cancel() })
			}
		} else {
			time.AfterFunc(300*time.Millisecond, cancel)
		}
		if err := Run(ctx, j); !errors.Is(err, context.Canceled) {
			t.Errorf("running %v: %v", running, err)
		}
		gone(t, dir)
		cancel()
	}
}

// TestOwnJob: within a job its variables would make srun start a step of it.
func TestOwnJob(t *testing.T) {
	outside := []string{"HOME=/h", "SLURM_PARTITION=p", "SLURM_CONF=/c"}
	if got := OutsideOfJob(outside); !slices.Equal(got, outside) {
		t.Errorf("outside of jobs: %q", got)
	}
	got := OutsideOfJob([]string{"HOME=/h", "SLURM_JOB_ID=7", "SLURM_NODELIST=n1", "SLURM_JOB_ACCOUNT=a", "SLURM_CONF=/c", "SLURMD_NODENAME=n1", "PMI_RANK=0", "SLURM_ENV_WAIT=5"})
	if want := []string{"HOME=/h", "SLURM_ACCOUNT=a", "SLURM_CONF=/c", "SLURM_ENV_WAIT=5"}; !slices.Equal(got, want) {
		t.Errorf("within a job: %q", got)
	}
}

func TestNoSlurm(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if err := Run(t.Context(), Job{Name: "test", Command: []string{"true"}, Output: lines(new([]string))}); !errors.Is(err, ErrNoSlurm) {
		t.Error(err)
	}
}

//go:build cluster

package clustertest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The programs below run as an account of the cluster (u1 PROGRAM …); each
// exits non-zero with a line that says why.

func program(f func(args []string) error) func() {
	return func() {
		if err := f(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// awaitJob waits until the job named in a file has ended.
func awaitJob(args []string) error {
	id, err := jobID(args)
	if err != nil {
		return err
	}
	hurried := false
	return poll(2*time.Minute, "job "+id+" to end", func() (bool, error) {
		state, restarts, err := jobState(id)
		switch state {
		case "PENDING":
			// Slurm holds a requeued job back for two minutes. A little of that is
			// needed: a node does not take back a job whose credential it revoked
			// in the same second.
			if hurried || restarts == "0" {
				return false, err
			}
			hurried = true
			time.Sleep(3 * time.Second)
			out, err := exec.Command("scontrol", "update", "JobId="+id, "StartTime=now").CombinedOutput()
			if err != nil && !strings.Contains(string(out), "already") {
				return false, fmt.Errorf("scontrol update: %s: %w", out, err)
			}
			return false, nil
		case "RUNNING", "CONFIGURING", "COMPLETING", "REQUEUED", "SUSPENDED", "REQUEUE_HOLD":
			return false, err
		case "COMPLETED":
			return true, nil
		}
		return false, errors.Join(fmt.Errorf("job %s ended as %q", id, state), err)
	})
}

// awaitRunning waits until the job named in a file runs a step.
func awaitRunning(args []string) error {
	id, err := jobID(args)
	if err != nil {
		return err
	}
	return poll(time.Minute, "job "+id+" to run", func() (bool, error) {
		out, err := exec.Command("squeue", "-h", "-s", "-j", id, "-o", "%i").Output()
		return bytes.Contains(out, []byte(id+".0")), err
	})
}

// releaseJob releases a held job and waits for its end.
func releaseJob(args []string) error {
	id, err := jobID(args)
	if err != nil {
		return err
	}
	if out, err := exec.Command("scontrol", "release", id).CombinedOutput(); err != nil {
		return fmt.Errorf("scontrol release: %s: %w", out, err)
	}
	return awaitJob(args)
}

func jobID(args []string) (string, error) {
	if len(args) != 1 {
		return "", errors.New("usage: PROGRAM FILE-WITH-JOB-ID")
	}
	b, err := os.ReadFile(args[0])
	return strings.TrimSpace(string(b)), err
}

var jobStateRE = regexp.MustCompile(`(?s)JobState=(\S+).*Restarts=(\d+)`)

func jobState(id string) (state, restarts string, err error) {
	out, err := exec.Command("scontrol", "show", "job", id).Output()
	if err != nil {
		return "", "", err
	}
	m := jobStateRE.FindSubmatch(out)
	if m == nil {
		return "", "", fmt.Errorf("scontrol shows no state of job %s", id)
	}
	return string(m[1]), string(m[2]), nil
}

func poll(limit time.Duration, what string, done func() (bool, error)) error {
	deadline := time.Now().Add(limit)
	for {
		ok, err := done()
		if ok || (err != nil && time.Now().After(deadline)) {
			return err
		}
		if err != nil && !errors.As(err, new(*exec.ExitError)) {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %s for %s", limit, what)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// timed runs a command that must fail before a number of seconds has passed
// and prints its exit code.
func timed(args []string) error {
	limit, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	start := time.Now()
	err = cmd.Run()
	took := time.Since(start)
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return fmt.Errorf("%v should have failed: %v", args[1:], err)
	}
	if took > time.Duration(limit)*time.Second {
		return fmt.Errorf("%v took %s, at most %d s are allowed", args[1:], took, limit)
	}
	fmt.Printf("took=%.1fs rc=%d\n", took.Seconds(), exit.ExitCode())
	return nil
}

// measured FILE PROGRAM ARGUMENTS…: runs a program, and adds a line to the file: the most
// memory, in KiB, that it or a child that it waited for had.
func measured(args []string) error {
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	runErr := cmd.Run()
	var exit *exec.ExitError
	if runErr != nil && !errors.As(runErr, &exit) {
		return runErr
	}
	log, err := os.OpenFile(args[0], os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(log, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	if err = errors.Join(err, log.Close()); err == nil && runErr != nil {
		os.Exit(exit.ExitCode())
	}
	return err
}

var (
	writeCall = regexp.MustCompile(`\b(openat?|creat|mkdirat?|unlinkat?|renameat2?|rename|linkat?|symlinkat?|truncate|chmod|fchmodat|chown|fchownat|mknodat?|utimensat|connect|bind)\(`)
	quoted    = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)
)

// writesOutside lists the calls of a strace that write anywhere but below the
// given directories, to a terminal or /dev/null, or to a socket of the daemon.
func writesOutside(args []string) error {
	f, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	seen := 0
	for lines.Scan() {
		line := lines.Text()
		m := writeCall.FindStringSubmatch(line)
		if m == nil || strings.Contains(line, " = -1 ") {
			continue
		}
		seen++
		if strings.HasPrefix(m[1], "open") && !strings.Contains(line, "O_WRONLY") && !strings.Contains(line, "O_RDWR") && !strings.Contains(line, "O_CREAT") {
			continue
		}
		allowed := false
		for _, q := range quoted.FindAllStringSubmatch(line, -1) {
			for _, dir := range args[1:] {
				allowed = allowed || strings.HasPrefix(q[1], dir)
			}
			allowed = allowed || q[1] == "/dev/null" || q[1] == "/dev/tty" || strings.HasSuffix(q[1], ".sock") || strings.HasPrefix(q[1], "/proc/self/")
		}
		if !allowed {
			fmt.Println(line)
		}
	}
	if seen == 0 {
		return errors.New("the trace holds no calls: strace did not work")
	}
	return lines.Err()
}

// osxOnly rewrites a lock so that its Linux platforms are named as if they were
// macOS ones.
func osxOnly(args []string) error {
	b, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	re := regexp.MustCompile(`(?m)^(      )linux-(64|aarch64):$`)
	s := re.ReplaceAllStringFunc(string(b), func(m string) string {
		return strings.Replace(strings.Replace(m, "linux-64", "osx-64", 1), "linux-aarch64", "osx-arm64", 1)
	})
	return os.WriteFile(args[1], []byte(s), 0o644)
}

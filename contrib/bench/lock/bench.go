package main

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/hpcenv/hpcenv/internal/figure"
)

//go:embed reference.py
var reference string

type options struct {
	lock, python, work string
	runs               int
}

// contender is what reading one lock took.
type contender struct {
	ours, theirs []time.Duration
	resident     int64 // bytes, the most of all runs of ours
}

func bench(ctx context.Context, o *options, grown []byte) (code int, err error) {
	if o.python == "" || o.work == "" {
		return 0, errors.New("-python and -work are needed")
	}
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	large := filepath.Join(o.work, "grown.lock")
	if err := os.WriteFile(large, grown, 0o644); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.Remove(large)) }()
	peer, err := startReader(ctx, o)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, peer.close()) }()
	real, err := measure(ctx, self, o.lock, o.runs, peer)
	if err != nil {
		return 0, err
	}
	big, err := measure(ctx, self, large, max(5, o.runs/2), peer)
	if err != nil {
		return 0, err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "lock\tMB\thpcenv, new process\tpy-rattler, warm\tpeak resident, hpcenv")
	for _, row := range []struct {
		name string
		path string
		c    *contender
	}{{"numba-cuda", o.lock, real}, {"grown", large, big}} {
		info, err := os.Stat(row.path)
		if err != nil {
			return 0, err
		}
		fmt.Fprintf(w, "%s\t%.1f\t%.1f ms\t%.1f ms\t%d MB\n", row.name, float64(info.Size())/1e6, ms(figure.Median(row.c.ours)), ms(figure.Median(row.c.theirs)), row.c.resident/1e6)
	}
	if err := w.Flush(); err != nil {
		return 0, err
	}
	report := figure.NewReport(os.Stdout)
	report.AtMost("lock.read", ms(figure.Median(real.ours)), "ms", 20)
	report.AtMost("lock.read.vs_rattler", float64(figure.Median(real.ours))/float64(figure.Median(real.theirs)), "ratio", 1.0)
	report.AtMost("lock.read20", figure.Median(big.ours).Seconds(), "s", 0.4)
	report.AtMost("lock.read20.resident", float64(big.resident)/1e6, "MB", 300)
	report.Note("lock.read20.vs_rattler", float64(figure.Median(big.ours))/float64(figure.Median(big.theirs)), "ratio")
	return report.ExitCode(), nil
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// measure has both read a lock, in turns. The first of each is not counted.
func measure(ctx context.Context, self, lock string, runs int, peer *reader) (*contender, error) {
	c := &contender{}
	for n := range runs + 1 {
		theirs, err := peer.read(lock)
		if err != nil {
			return nil, err
		}
		ours, resident, err := inChild(ctx, self, lock)
		if err != nil {
			return nil, err
		}
		c.resident = max(c.resident, resident)
		if n > 0 {
			c.ours, c.theirs = append(c.ours, ours), append(c.theirs, theirs)
		}
	}
	return c, nil
}

// inChild reads a lock in a process of its own.
func inChild(ctx context.Context, self, lock string) (took time.Duration, resident int64, err error) {
	cmd := exec.CommandContext(ctx, self, "child", lock)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, 0, fmt.Errorf("child: %w", err)
	}
	var ns int64
	if _, err := fmt.Sscan(string(out), &ns, &resident); err != nil {
		return 0, 0, fmt.Errorf("child: %w", err)
	}
	return time.Duration(ns), resident, nil
}

// reader is the reference in a process that lives as long as the benchmark.
type reader struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers *bufio.Reader
}

func startReader(ctx context.Context, o *options) (*reader, error) {
	r := &reader{cmd: exec.CommandContext(ctx, o.python, "-I", "-c", reference)}
	r.cmd.Stderr = os.Stderr
	var err error
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.answers = bufio.NewReader(out)
	return r, r.cmd.Start()
}

func (r *reader) read(lock string) (time.Duration, error) {
	if _, err := fmt.Fprintln(r.in, lock); err != nil {
		return 0, fmt.Errorf("py-rattler: %w", err)
	}
	line, err := r.answers.ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("py-rattler: %w", err)
	}
	ns, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("py-rattler: %w", err)
	}
	return time.Duration(ns), nil
}

func (r *reader) close() error { return errors.Join(r.in.Close(), r.cmd.Wait()) }

// Command gpucheck shows on a machine with GPUs what the tests show with drivers made
// from tables: it asks the driver through the child program, prints the report, the
// verdict and what both change in the node's facts, how long the record takes to
// read, and compares what the driver said with nvidia-smi. `make gpu-check` runs it.
//
//	gpucheck [--root DIR] [--library FILE] [--smi PROGRAM] HPCENV-GPU
//
// Exit codes: 0 all agrees, or the machine has no GPU; 1 it does not; 2 wrong usage.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/gpu"
)

func main() {
	var c check
	fl := flag.NewFlagSet("gpucheck", flag.ExitOnError)
	fl.StringVar(&c.root, "root", "/", "`directory` with the node's /proc, /sys and /dev")
	fl.StringVar(&c.library, "library", "", "`file` of the driver's library")
	fl.StringVar(&c.smi, "smi", "nvidia-smi", "`program` to compare with")
	fl.Parse(os.Args[1:])
	if fl.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: gpucheck [--root DIR] [--library FILE] [--smi PROGRAM] HPCENV-GPU")
		os.Exit(2)
	}
	c.program = fl.Arg(0)
	if err := c.run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gpucheck:", err)
		os.Exit(1)
	}
}

// check is one run.
type check struct {
	root, program, library, smi string
}

// run prints what was found; the error says what does not agree.
func (c check) run(ctx context.Context, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "gpucheck")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	start := time.Now()
	r, err := gpu.Refresh(ctx, c.root, gpu.Options{Program: c.program, Library: c.library, RunDir: dir})
	if err != nil {
		return err
	}
	took := time.Since(start)
	if r.Report == nil && r.Failure == "" {
		fmt.Fprintln(out, "This machine has no NVIDIA GPU: nothing was asked, and nothing is checked.")
		return nil
	}
	if r.Failure != "" {
		return errors.New(r.Failure)
	}
	b, err := json.MarshalIndent(r.Report, "", "  ")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "The driver said, within %v:\n%s\n", took.Round(time.Millisecond), b)
	printVerdict(out, r.Verdict)
	if err := c.facts(ctx, out, r.Report); err != nil {
		return err
	}
	if err := c.reading(out, filepath.Join(dir, gpu.RecordFile)); err != nil {
		return err
	}
	return c.compare(ctx, out, r.Report)
}

func printVerdict(out io.Writer, v gpu.Verdict) {
	fmt.Fprintf(out, "\nVerdict: %s\n", v.Level)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, g := range v.GPUs {
		fmt.Fprintf(w, "GPU %d\t%s\t%s\t%s\n", g.Index, g.BusID, g.State, g.Level)
	}
	w.Flush() // out is a terminal or a test's buffer
	for _, f := range v.Findings {
		fmt.Fprintf(out, "%s: %s (%s)\n", f.Level, f, f.Act)
	}
}

// facts prints what the driver changes in what its files tell.
func (c check) facts(ctx context.Context, out io.Writer, r *gpu.Report) error {
	for _, how := range []struct {
		name   string
		probes []facts.GPUProbe
	}{{"by its files", facts.DefaultGPUs()}, {"by its driver", gpu.Refine(facts.DefaultGPUs(), r)}} {
		f := facts.ReadWith(ctx, c.root, facts.Options{GPUs: how.probes})
		b, err := json.Marshal(f.GPU)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "\nThe node's GPU %s: %s\n", how.name, b)
		for _, p := range f.Problems {
			fmt.Fprintln(out, "  problem:", p)
		}
	}
	return nil
}

// reading prints how long a launch takes to read the record.
func (c check) reading(out io.Writer, path string) error {
	var times []time.Duration
	for range 21 {
		start := time.Now()
		if _, err := gpu.Load(c.root, path); err != nil {
			return err
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	fmt.Fprintf(out, "\nThe record is read in %v (median of %d).\n", times[len(times)/2].Round(time.Microsecond), len(times))
	return nil
}

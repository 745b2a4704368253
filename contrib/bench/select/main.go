// Command selectbench measures what choosing environments costs: what a node reads
// of itself, a plan for a whole cluster, and what a node decides. `make
// bench-select` runs it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/internal/figure"
)

// runs of each figure; each in a process of its own, since a launch's is new too.
const runs = 21

func main() {
	if len(os.Args) == 3 && os.Args[1] == "once" {
		if err := once(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: selectbench HPCENV")
		os.Exit(2)
	}
	code, err := bench(context.Background(), os.Stdout, os.Args[1])
	if err != nil {
		fmt.Fprintf(os.Stderr, "selectbench: %v\n", err)
		code = 1
	}
	os.Exit(code)
}

// once does one thing and prints the nanoseconds that it took.
func once(what string) error {
	start := time.Now()
	switch what {
	case "read":
		facts.Read(context.Background(), "/")
	default: // a record's path
		if _, err := facts.LoadRecord(what); err != nil {
			return err
		}
	}
	_, err := fmt.Println(time.Since(start).Nanoseconds())
	return err
}

func bench(ctx context.Context, out io.Writer, program string) (code int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "selectbench-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	f := facts.Read(ctx, "/")
	record := filepath.Join(dir, facts.RecordFile)
	if err := facts.Save(record, f); err != nil {
		return 0, err
	}
	var read, load []time.Duration
	for range runs {
		for _, m := range []struct {
			what string
			list *[]time.Duration
		}{{"read", &read}, {record, &load}} {
			d, err := timed(ctx, self, m.what)
			if err != nil {
				return 0, err
			}
			*m.list = append(*m.list, d)
		}
	}
	ms := func(list []time.Duration) float64 { return float64(figure.Median(list).Microseconds()) / 1000 }
	fmt.Fprintf(out, "this node: %s, %s, glibc %s, %d networks; %d problems\n", f.CPU.Name, f.Kernel, f.Glibc, len(f.Networks), len(f.Problems))
	fmt.Fprintf(out, "reading it          %8.2f ms\nreading its record  %8.2f ms (medians of %d processes)\n", ms(read), ms(load), runs)
	report := figure.NewReport(out)
	report.AtMost("facts.read", ms(read), "ms", 30)
	report.Note("facts.load", ms(load), "ms")
	if err := plans(out, report); err != nil {
		return 0, err
	}
	if err := command(ctx, out, report, program, dir); err != nil {
		return 0, err
	}
	return report.ExitCode(), nil
}

func timed(ctx context.Context, self, what string) (time.Duration, error) {
	out, err := exec.CommandContext(ctx, self, "once", what).Output()
	if err != nil {
		return 0, fmt.Errorf("%s once %s: %w", self, what, err)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	return time.Duration(n), err
}

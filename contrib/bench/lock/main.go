// Lock measures reading locks against the reference reader (py-rattler) and the
// targets that the project set itself. `make bench-lock` sets up what it needs.
//
//	lock run -lock FILE -python PYTHON -work DIR   all rows, a table and figure lines
//	lock grow -lock FILE -bytes N                  a lock of that size, to standard output
//	lock child FILE                                read one lock in this process
//
// hpcenv reads in a new process each time, with nothing warm, as its command line
// does; the reference reads in one process that has read the lock before. The two
// take turns.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/hpcenv/hpcenv/envs/lockfile"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code, err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "lock:", err)
		os.Exit(1)
	}
	os.Exit(code)
}

func run(ctx context.Context, args []string) (int, error) {
	if len(args) == 0 {
		return 0, errors.New("usage: lock run|grow|child [flags]")
	}
	if args[0] == "child" && len(args) == 2 {
		return 0, child(args[1])
	}
	var o options
	var size int
	fs := flag.NewFlagSet(args[0], flag.ContinueOnError)
	fs.StringVar(&o.lock, "lock", "", "a pixi.lock of about a megabyte")
	fs.StringVar(&o.python, "python", "", "a Python that has py-rattler")
	fs.StringVar(&o.work, "work", "", "folder for the grown lock")
	fs.IntVar(&o.runs, "runs", 7, "runs of each contender")
	fs.IntVar(&size, "bytes", 20<<20, "size of the grown lock")
	if err := fs.Parse(args[1:]); err != nil {
		return 0, err
	}
	if o.lock == "" {
		return 0, errors.New("-lock is needed")
	}
	data, err := os.ReadFile(o.lock)
	if err != nil {
		return 0, err
	}
	switch args[0] {
	case "grow":
		_, err := os.Stdout.Write(grow(data, size))
		return 0, err
	case "run":
		return bench(ctx, &o, grow(data, size))
	}
	return 0, fmt.Errorf("%q is not one of run, grow, child", args[0])
}

// child reads a lock and prints the nanoseconds that took, and the most memory
// that was resident. (What the kernel tells the parent of it has the parent's own
// memory in it, from before the child's program was started.)
func child(path string) error {
	start := time.Now()
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	lock, err := lockfile.Parse(data)
	if err != nil {
		return err
	}
	took := time.Since(start)
	if len(lock.Environments) == 0 {
		return errors.New("no environment was read")
	}
	resident, err := peak()
	if err != nil {
		return err
	}
	_, err = fmt.Println(took.Nanoseconds(), resident)
	return err
}

// peak is the most memory of this process that was resident, in bytes.
func peak() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	var kilobytes int64
	_, line, _ := strings.Cut(string(status), "\nVmHWM:")
	if _, err := fmt.Sscan(line, &kilobytes); err != nil {
		return 0, fmt.Errorf("the peak of resident memory: %w", err)
	}
	return kilobytes << 10, nil
}

// Image measures making images: the whole making of an environment's image from
// packages that are in the store, against bare mksquashfs on the finished tree with
// the same options, in turns; the image's size against the tree's; and memory.
// `make bench-image` sets up what it needs.
//
//	image run -wheels DIR -work DIR    all figures
//	image child …                      one preparation, as its own process
//
// What is packed is real: the CPython of this host and the wheels that `make oracle`
// fetches (NumPy, SciPy, botocore and others), as conda packages, with byte-code.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code, err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
	os.Exit(code)
}

// options of the benchmark.
type options struct {
	wheels, work string
	runs         int
}

func run(ctx context.Context, args []string) (int, error) {
	if len(args) == 0 {
		return 0, errors.New("usage: image run|child [flags]")
	}
	if args[0] == "child" {
		return 0, child(ctx, args[1:])
	}
	if args[0] != "run" {
		return 0, fmt.Errorf("%q is not one of run, child", args[0])
	}
	var o options
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	fs.StringVar(&o.wheels, "wheels", "", "folder with wheels")
	fs.StringVar(&o.work, "work", "", "folder to work in; everything is made and removed below it")
	fs.IntVar(&o.runs, "runs", 5, "runs of each contender")
	if err := fs.Parse(args[1:]); err != nil {
		return 0, err
	}
	if o.wheels == "" || o.work == "" {
		return 0, errors.New("-wheels and -work are needed")
	}
	return bench(ctx, &o)
}

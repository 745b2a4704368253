// Link measures making prefixes: the store and the linker against the reference
// installer (py-rattler), `cp -al` and the targets that the project set itself.
// `make bench-link` sets up what it needs.
//
//	link run -channel DIR -python PYTHON -work DIR   all rows, a table and figure lines
//	link generate -channel DIR                       the generated packages only
//	link child …                                     one preparation, as its own process
//
// All contenders work on the same packages (package stack), served by a local
// HTTP server, on one file system, taking turns. Before each turn what earlier
// ones left in memory is written out, so that nobody pays for another's bytes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/hpcenv/hpcenv/contrib/bench/link/stack"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code, err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "link:", err)
		os.Exit(1)
	}
	os.Exit(code)
}

// options of the benchmark.
type options struct {
	channel, python, work, only, profile string
	runs                                 int
	tiny                                 bool
}

func run(ctx context.Context, args []string) (int, error) {
	if len(args) == 0 {
		return 0, errors.New("usage: link run|generate|child [flags]")
	}
	if args[0] == "child" {
		return 0, child(ctx, args[1:])
	}
	var o options
	fs := flag.NewFlagSet(args[0], flag.ContinueOnError)
	fs.StringVar(&o.channel, "channel", "", "folder of the generated packages; made if it is not there")
	fs.StringVar(&o.python, "python", "", "a Python that has py-rattler")
	fs.StringVar(&o.work, "work", "", "folder to work in; everything is made and removed below it")
	fs.StringVar(&o.only, "only", "", "rows to measure, separated by commas; empty = all")
	fs.StringVar(&o.profile, "profile", "", "folder for CPU profiles of our own process")
	fs.IntVar(&o.runs, "runs", 5, "runs of each contender")
	fs.BoolVar(&o.tiny, "tiny", false, "few and small packages, to try the benchmark itself")
	if err := fs.Parse(args[1:]); err != nil {
		return 0, err
	}
	if o.channel == "" {
		return 0, errors.New("-channel is needed")
	}
	switch args[0] {
	case "generate":
		_, _, err := channels(&o)
		return 0, err
	case "run":
		return bench(ctx, &o)
	}
	return 0, fmt.Errorf("%q is not one of run, generate, child", args[0])
}

// channels makes the two generated channels: the Python stack and the one that
// only holds what is linked.
func channels(o *options) (main, plain *stack.Channel, err error) {
	python, simple := stack.Python(), stack.Plain()
	if o.tiny {
		python, simple = stack.Tiny(), stack.Tiny()
		simple.Name, simple.Empty, simple.Patched = "tinyplain", 0, 0
	}
	workers := runtime.GOMAXPROCS(0)
	if main, err = stack.Ensure(python, filepath.Join(o.channel, python.Name), workers); err != nil {
		return nil, nil, fmt.Errorf("generate %s: %w", python.Name, err)
	}
	if plain, err = stack.Ensure(simple, filepath.Join(o.channel, simple.Name), workers); err != nil {
		return nil, nil, fmt.Errorf("generate %s: %w", simple.Name, err)
	}
	return main, plain, nil
}

// wants reports whether a row is to be measured.
func (o *options) wants(row string) bool {
	if o.only == "" {
		return true
	}
	for _, r := range strings.Split(o.only, ",") {
		if r == row {
			return true
		}
	}
	return false
}

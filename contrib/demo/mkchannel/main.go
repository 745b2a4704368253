// Command mkchannel makes the demo's conda channel from Debian packages, writes
// lock files that name it, and serves it over HTTP.
//
//	mkchannel make    --out DIR --cache DIR --probe FILE
//	mkchannel project --channel DIR --out DIR [--base URL|PATH]
//	mkchannel serve   --dir DIR [--addr HOST:PORT] [faults]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:])
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, "mkchannel:", err)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "mkchannel:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("wrong usage")

func run(ctx context.Context, args []string) error {
	commands := map[string]func(context.Context, []string) error{"make": runMake, "project": runProject, "serve": runServe}
	if len(args) == 0 || commands[args[0]] == nil {
		return fmt.Errorf("%w: mkchannel make|project|serve, each with -h for its flags", errUsage)
	}
	return commands[args[0]](ctx, args[1:])
}

// parse reads flags and refuses other arguments and missing required flags.
func parse(fs *flag.FlagSet, args []string, required ...*string) error {
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return fmt.Errorf("%w: %s: %w", errUsage, fs.Name(), err)
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("%w: %s: unexpected argument %q", errUsage, fs.Name(), fs.Arg(0))
	}
	for _, r := range required {
		if *r == "" {
			return fmt.Errorf("%w: %s: a required flag is missing (-h lists them)", errUsage, fs.Name())
		}
	}
	return nil
}

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/hpcenv/hpcenv/contrib/demo/channel"
	"github.com/hpcenv/hpcenv/contrib/demo/recipe"
)

func runMake(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("make", flag.ContinueOnError)
	out := fs.String("out", "", "folder of the channel; must not exist (required)")
	cache := fs.String("cache", "", "folder that keeps apt's state and the Debian packages (required)")
	probe := fs.String("probe", "", "probe.py, which goes into package hpcenv-demo-tool (required)")
	if err := parse(fs, args, out, cache, probe); err != nil {
		return err
	}
	script, err := os.ReadFile(*probe)
	if err != nil {
		return err
	}
	start := time.Now()
	log := func(format string, a ...any) {
		fmt.Fprintf(os.Stderr, "mkchannel: %s (%.0f s)\n", fmt.Sprintf(format, a...), time.Since(start).Seconds())
	}
	packages, python, err := recipe.Build(ctx, *cache, script, log)
	if err != nil {
		return err
	}
	if err := channel.Check(packages, recipe.Platforms()); err != nil {
		return err
	}
	log("packing %d conda packages", len(packages))
	if _, err := channel.Write(ctx, *out, python, packages); err != nil {
		return err
	}
	log("made %s", *out)
	return nil
}

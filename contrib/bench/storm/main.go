// Storm measures what starting Python on many nodes at once costs when its
// environment lies on a parallel file system: as a tree, as hpcenv's image, as
// hpcenv's image copied to each node, and in the ways that users have today.
// `make bench-storm` sets up what it needs.
//
//	storm run -hpcenv FILE -project DIR -work DIR [-quick] [-png FILE]   all rows, a plot, figure lines
//	storm node, storm rank, storm step                     its own processes
//
// The parallel file system is a FUSE file system that counts operations by kind
// (package slowfs). A node is a process with a mount of that file system, a mount
// namespace, loop devices and caches of its own, and four ranks: processes that
// carry out the file operations of one recorded start of Python (packages trace
// and replay) without computing. What a launch costs is the time until the last
// rank is done, less what the same takes from the node's own disk.
//
// Many nodes share this machine's few processors. Where they would wait for these
// rather than for the storage, the world is slowed down: with N nodes the storage's
// delays are N times as long and its rate is an Nth, and all times are divided by
// N. Each node has then as much of a processor, against the storage, as a single
// one. Such rows say so.
//
// Everything happens in a mount namespace of the benchmark's own: however it ends,
// the kernel takes the mounts and loop devices back.
//
//	main.go       arguments
//	inside.go     the namespace
//	world.go      what lies on the storage, and on the nodes' disks
//	store.go      hpcenv's store, made by hpcenv
//	helper.go     hpcenv's helper, as the plug-in starts it
//	device.go     mounts and loop devices
//	record.go     the recorded start
//	contender.go  who is measured, and how a node of each begins
//	node.go       a node, rank.go a rank: processes
//	launch.go     one launch on N nodes
//	step.go       attaching alone, from a fast disk
//	plan.go       which launches, how often, how slowly
//	touched.go    what of an image a start needs at least
//	table.go      for people; figures.go for programs
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
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: storm run -hpcenv FILE -project DIR -work DIR [flags]")
		os.Exit(2)
	}
	switch os.Args[1] {
	case "step":
		os.Exit(exit("storm step", step(os.Stdin, os.Stdout)))
	case "rank":
		os.Exit(exit("storm rank", rank(os.Args[2:])))
	case "node":
		os.Exit(exit("storm node", node(os.Stdin, os.Stdout)))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		code = exit("storm", err)
	}
	os.Exit(code)
}

func exit(who string, err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", who, err)
	return 1
}

// options of the benchmark.
type options struct {
	hpcenv, project, work, png string
	quick                      bool
	runs                       int
}

func run(ctx context.Context, args []string) (int, error) {
	var o options
	fs := flag.NewFlagSet(args[0], flag.ContinueOnError)
	fs.StringVar(&o.hpcenv, "hpcenv", "", "the program hpcenv")
	fs.StringVar(&o.project, "project", "", "folder with a pixi.toml and pixi.lock whose environment default has Python and NumPy")
	fs.StringVar(&o.work, "work", "", "folder to work in, on a disk; everything is made and removed below it")
	fs.StringVar(&o.png, "png", "", "file for the plot")
	fs.BoolVar(&o.quick, "quick", false, "few nodes and single runs, to try the benchmark itself")
	fs.IntVar(&o.runs, "runs", 0, "launches of what figures rest on; 0 = 5, with -quick 1")
	if err := fs.Parse(args[1:]); err != nil {
		return 2, err
	}
	switch {
	case o.hpcenv == "" || o.project == "" || o.work == "":
		return 2, errors.New("-hpcenv, -project and -work are needed")
	case args[0] == "run":
		return outside(ctx, args)
	case args[0] == "inside":
		return bench(ctx, os.Stdout, &o)
	}
	return 2, fmt.Errorf("%q is not one of run, node, rank", args[0])
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/bytecode"
	"github.com/hpcenv/hpcenv/envs/image"
	"github.com/hpcenv/hpcenv/envs/materialize"
	"github.com/hpcenv/hpcenv/envs/prepare"
	"github.com/hpcenv/hpcenv/internal/membound"
)

// answer is what a child prints.
type answer struct {
	Meta *materialize.Meta `json:"meta"`
	New  bool              `json:"new"`
	Tree string            `json:"tree"`
	File string            `json:"file"`
	// Self and Children are the peaks of resident memory of the process and of the
	// largest that it started, in bytes.
	Self     int64 `json:"self"`
	Children int64 `json:"children"`
}

// peak is that of this process alone: its rusage begins with what the process that
// started it had.
func peak() (int64, error) {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(data), "VmHWM:")
	var kb int64
	if _, err := fmt.Sscan(after, &kb); err != nil {
		return 0, fmt.Errorf("/proc/self/status: VmHWM: %w", err)
	}
	return kb * 1024, nil
}

// child prepares one lock in a store of one's own.
func child(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("child", flag.ContinueOnError)
	root := fs.String("store", "", "the store; made if it is not there")
	lock := fs.String("lock", "", "the lock file")
	delivery := fs.String("delivery", "", "tree, image or both")
	if err := fs.Parse(args); err != nil {
		return err
	}
	membound.Set()
	d, err := image.Parse(*delivery)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(*lock)
	if err != nil {
		return err
	}
	store, err := cache.Create(*root, cache.Format{Platforms: []string{subdir}, OwnerUID: os.Geteuid()})
	if err != nil {
		return err
	}
	res, err := prepare.Run(ctx, &prepare.Deps{
		Store: store, Fetcher: cache.NewFetcher(cache.FetchOptions{AllowFile: true}), OpenLocal: true,
		Sandbox: bytecode.NewSandbox(), Delivery: d, Program: "bench",
	}, &prepare.Request{Lock: data, Platforms: []string{subdir}}, nil)
	if err != nil {
		return err
	}
	if len(res.Environments) != 1 {
		return errors.New("one environment was asked for")
	}
	e := res.Environments[0]
	a := answer{Meta: e.Meta, New: e.New, Tree: store.TreePath(e.Platform, e.ID), File: store.ImagePath(e.Platform, e.ID)}
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &ru); err != nil {
		return err
	}
	a.Children = ru.Maxrss * 1024
	if a.Self, err = peak(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(a)
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/pprof"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/envs/prepare"
	"github.com/hpcenv/hpcenv/internal/membound"
)

// answer is what a child prints.
type answer struct {
	ID     string `json:"id"`
	Tree   string `json:"tree"`
	New    bool   `json:"new"`
	Files  int    `json:"files"`
	Digest string `json:"digest"`
	Bytes  int64  `json:"bytes_fetched"`
}

// child prepares one lock in a store: what `hpcenv prepare` does in a user's own
// store.
func child(ctx context.Context, args []string) (err error) {
	fs := flag.NewFlagSet("child", flag.ContinueOnError)
	store := fs.String("store", "", "the store; made if it is not there")
	lock := fs.String("lock", "", "the lock file")
	volatile := fs.Bool("volatile", false, "nothing is made durable: the kernel is told to pass over every sync")
	profile := fs.String("profile", "", "write a CPU profile to this file")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *volatile {
		if err := forgetSyncs(); err != nil {
			return err
		}
	}
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer func() {
			pprof.StopCPUProfile()
			if cerr := f.Close(); err == nil {
				err = cerr
			}
		}()
	}
	membound.Set()
	data, err := os.ReadFile(*lock)
	if err != nil {
		return err
	}
	s, err := cache.Create(*store, cache.Format{Platforms: []string{"linux-64"}, OwnerUID: os.Geteuid()})
	if err != nil {
		return err
	}
	res, err := prepare.Run(ctx, &prepare.Deps{
		Store: s, Fetcher: cache.NewFetcher(cache.FetchOptions{AllowHost: cache.AllowAny}), Program: "bench",
	}, &prepare.Request{Lock: data, Platforms: []string{"linux-64"}}, nil)
	if err != nil {
		return err
	}
	if len(res.Environments) != 1 {
		return errors.New("one environment was asked for")
	}
	e := res.Environments[0]
	return json.NewEncoder(os.Stdout).Encode(answer{
		ID: e.ID, Tree: s.TreePath(e.Platform, e.ID), New: e.New, Files: e.Meta.Files, Digest: e.Meta.TreeDigest,
		Bytes: res.BytesFetched,
	})
}

// String is for messages.
func (a answer) String() string { return fmt.Sprintf("%s (%d files)", a.ID, a.Files) }

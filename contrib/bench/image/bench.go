package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/internal/figure"
)

// Targets of issue 7: the whole making against bare mksquashfs, and the image
// against the tree. memory is the bound of mksquashfs with what it needs beside its
// caches (-mem 256M), and that of the process that stages, in MB.
const (
	maxTime   = 1.5
	maxBytes  = 0.4
	maxMemory = 320
)

func bench(ctx context.Context, o *options) (code int, err error) {
	work, err := os.MkdirTemp(o.work, "run-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	pkgs, err := packages(ctx, o.wheels)
	if err != nil {
		return 0, err
	}
	lock, err := writeLock(ctx, work, pkgs)
	if err != nil {
		return 0, err
	}
	count := len(pkgs)
	// The finished tree, and the pool with all packages and byte-code.
	trees, store := filepath.Join(work, "t"), filepath.Join(work, "s")
	finished, _, err := prepared(ctx, trees, lock, "tree")
	if err != nil {
		return 0, err
	}
	first, _, err := prepared(ctx, store, lock, "image")
	if err != nil {
		return 0, err
	}
	b := &turns{store: store, lock: lock, tree: finished.Tree, out: filepath.Join(work, "bare.sqfs"), first: first}
	for range o.runs {
		for _, turn := range []func(context.Context) error{b.bare, b.whole} {
			if err := turn(ctx); err != nil {
				return 0, err
			}
		}
	}
	m := first.Meta
	fmt.Printf("%-34s %d packages, %d files, %d MB (%s)\n", "CPython and wheels, packed", count, m.Files, m.Bytes/1e6, byteCode(first))
	fmt.Printf("%-34s %s\n", "image", fmt.Sprintf("%d MB, mksquashfs %s, libzstd %s", m.Image.Size/1e6, m.Image.Mksquashfs, m.Image.Libzstd))
	fmt.Printf("%-34s %.3f s (%d runs)\n", "bare mksquashfs on the tree", figure.Median(b.bares).Seconds(), o.runs)
	fmt.Printf("%-34s %.3f s, of %.3f to %.3f\n\n", "image from packages in the pool", figure.Median(b.wholes).Seconds(), slices.Min(b.wholes).Seconds(), slices.Max(b.wholes).Seconds())
	r := figure.NewReport(os.Stdout)
	r.AtMost("image.build.vs_mksquashfs", figure.Median(b.wholes).Seconds()/figure.Median(b.bares).Seconds(), "ratio", maxTime)
	r.AtMost("image.bytes.vs_tree", float64(m.Image.Size)/float64(m.Bytes), "ratio", maxBytes)
	r.AtMost("image.memory.mksquashfs", float64(b.children)/1e6, "MB", maxMemory)
	r.AtMost("image.memory.staging", float64(b.self)/1e6, "MB", maxMemory)
	return r.ExitCode(), nil
}

// turns are the contenders, in turn.
type turns struct {
	store, lock, tree, out string
	first                  *answer
	bares, wholes          []time.Duration
	self, children         int64
}

// bare is mksquashfs alone.
func (b *turns) bare(ctx context.Context) error {
	if err := os.Remove(b.out); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	unix.Sync()
	args := append([]string{b.tree, b.out, "-noappend", "-no-progress", "-quiet", "-no-recovery", "-processors", strconv.Itoa(runtime.GOMAXPROCS(0)), "-mem", "256M"}, b.first.Meta.Image.Options...)
	start := time.Now()
	out, err := exec.CommandContext(ctx, "mksquashfs", args...).CombinedOutput()
	b.bares = append(b.bares, time.Since(start))
	if err != nil {
		return fmt.Errorf("mksquashfs: %w: %s", err, out)
	}
	return nil
}

// whole stages the environment, packs, verifies and publishes it.
func (b *turns) whole(ctx context.Context) error {
	if err := os.Remove(b.first.File); err != nil {
		return err
	}
	unix.Sync()
	a, took, err := prepared(ctx, b.store, b.lock, "image")
	if err != nil {
		return err
	}
	if a.Meta.Image.SHA256 != b.first.Meta.Image.SHA256 {
		return errors.New("the same environment gave another image")
	}
	b.wholes = append(b.wholes, took)
	b.self, b.children = max(b.self, a.Self), max(b.children, a.Children)
	return nil
}

// prepared runs one child, which must make something.
func prepared(ctx context.Context, store, lock, delivery string) (*answer, time.Duration, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, 0, err
	}
	cmd := exec.CommandContext(ctx, self, "child", "-store", store, "-lock", lock, "-delivery", delivery)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	start := time.Now()
	err = cmd.Run()
	took := time.Since(start)
	if err != nil {
		return nil, 0, fmt.Errorf("prepare: %w: %s", err, said.String())
	}
	a := new(answer)
	if err := json.Unmarshal(out.Bytes(), a); err != nil {
		return nil, 0, err
	}
	if !a.New {
		return nil, 0, errors.New("it was there already")
	}
	return a, took, nil
}

// byteCode tells of the compiled files.
func byteCode(a *answer) string {
	c := a.Meta.ByteCode
	switch {
	case c == nil:
		return "no byte-code"
	case c.Skipped != "":
		return "no byte-code: " + c.Skipped
	}
	return fmt.Sprintf("%d of them byte-code", c.Files)
}

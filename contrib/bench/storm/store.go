package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/hpcenv/hpcenv/cache"
	"github.com/hpcenv/hpcenv/hooks/facts"
	"github.com/hpcenv/hpcenv/hooks/pin"
)

// prepare makes a cluster's store with the tree and the image of the project's
// environment, and the pin of a job that uses it: all of it as hpcenv does for a cluster
// of one node, which is this host.
func (w *world) prepare(ctx context.Context, o *options) error {
	store := w.stored(storeDir)
	if _, err := cache.Create(store, cache.Format{PrefixRoot: w.path("e"), Platforms: []string{platform}}); err != nil {
		return err
	}
	// A copy: the user whose job it is may not be able to look into the folder with o.hpcenv.
	w.node.Helper = w.path("hpcenv")
	if err := command(ctx, nil, "install", "-m", "755", o.hpcenv, w.node.Helper); err != nil {
		return err
	}
	if err := w.hpcenv(ctx, o, nil, "prepare", "-e", "default", "--platform", platform, "--store", store, "--delivery", "both"); err != nil {
		return err
	}
	var answer strings.Builder
	lock := filepath.Join(o.project, "pixi.lock")
	if err := w.hpcenv(ctx, o, &answer, "spank", "submit", "--context=sbatch", "--store="+store, "--prefix-root="+w.path("e"), "--owner=0",
		"--lock="+lock, "--name=default", "--wait=0"); err != nil {
		return err
	}
	for record := range strings.SplitSeq(answer.String(), "\x00") {
		if value, ok := strings.CutPrefix(record, "pin="); ok {
			w.node.Pin = value
		}
	}
	p, err := pin.Decode(w.node.Pin)
	if err != nil {
		return fmt.Errorf("the pin of a submission: %w", err)
	}
	w.node.ID = p.ID
	return w.recordFacts(ctx)
}

// hpcenv runs the program as a user does, in the project; out gets its stdout.
func (w *world) hpcenv(ctx context.Context, o *options, out *strings.Builder, args ...string) error {
	cmd := exec.CommandContext(ctx, w.node.Helper, args...)
	var said strings.Builder
	cmd.Dir, cmd.Stderr = o.project, &said
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.path("home")}
	if out != nil {
		cmd.Stdout = out
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("hpcenv %s: %w: %s", strings.Join(args[:2], " "), err, said.String())
	}
	return nil
}

// recordFacts keeps what the node is, as a node's own service does when it starts.
func (w *world) recordFacts(ctx context.Context) error {
	if err := os.Mkdir(w.path("run"), 0o755); err != nil {
		return err
	}
	return facts.Save(w.path("run", facts.RecordFile), facts.Read(ctx, "/"))
}

// split makes of the prepared store the storage's two: one of a site that publishes
// images, one of a site that publishes trees. The pool is on the host that builds.
func (w *world) split(ctx context.Context) error {
	store, trees := w.stored(storeDir), w.stored(treeStoreDir)
	if err := os.Mkdir(trees, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"FORMAT", "meta", "locks", "inventory"} {
		if err := command(ctx, nil, "cp", "-al", filepath.Join(store, name), trees); err != nil {
			return err
		}
	}
	if err := os.Rename(filepath.Join(store, "trees"), filepath.Join(trees, "trees")); err != nil {
		return err
	}
	for _, name := range []string{"pool", "archives"} {
		if err := os.RemoveAll(filepath.Join(store, name)); err != nil {
			return err
		}
	}
	return nil
}

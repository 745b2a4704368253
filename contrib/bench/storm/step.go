package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hpcenv/hpcenv/hooks/loopdev"
)

// attaching is an order to a process in a mount namespace of its own, which stands for
// the slurmstepd of a step: to attach from a store, and nothing else.
type attaching struct {
	Node                 hpcenv
	Store, RunDir, Local string
	// From is mounted at At before: the same path as on a node, without the slow storage;
	// "" = nothing is.
	From, At string
}

// step attaches, says how long that took, and holds it until its input ends.
func step(in io.Reader, out io.Writer) error {
	decoder := json.NewDecoder(in)
	var a attaching
	if err := decoder.Decode(&a); err != nil {
		return fmt.Errorf("order: %w", err)
	}
	if a.From != "" {
		if err := unix.Mount(a.From, a.At, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount %s at %s: %w", a.From, a.At, err)
		}
	}
	start := now()
	_, err := a.Node.attach(a.Store, a.RunDir, a.Local)
	took := now() - start
	if err != nil {
		return err
	}
	if err := json.NewEncoder(out).Encode(took); err != nil {
		return err
	}
	if _, err = io.Copy(io.Discard, io.MultiReader(decoder.Buffered(), in)); err != nil {
		return err
	}
	// Explicitly: what goes with the namespace may go a moment later.
	if err := unix.Unmount(a.Node.prefix(), 0); err != nil && !errors.Is(err, unix.EINVAL) { // trees are mounted in one
		return fmt.Errorf("unmount %s: %w", a.Node.prefix(), err)
	}
	return unmount(a.Node.PrefixRoot)
}

// held is a step that has attached.
type held struct {
	took time.Duration
	cmd  *exec.Cmd
	in   io.WriteCloser
	said bytes.Buffer
}

// attachOnce attaches in a step of its own.
func (a *attaching) attachOnce(ctx context.Context) (*held, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	words := append(append([]string{}, niceNode...), self, "step")
	h := &held{cmd: exec.CommandContext(ctx, words[0], words[1:]...)}
	h.cmd.Stderr = &h.said
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if h.in, err = h.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := h.cmd.Start(); err != nil {
		return nil, err
	}
	if _, err = h.in.Write(append(text, '\n')); err == nil {
		err = json.NewDecoder(out).Decode(&h.took)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("a step that attaches: %w", err), h.end())
	}
	return h, nil
}

// end ends the step, and with it what it has mounted.
func (h *held) end() error {
	err := errors.Join(h.in.Close(), h.cmd.Wait())
	if err != nil {
		err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(h.said.Bytes()))
	}
	return err
}

// attachTimes are how long attaching takes from a fast disk: an image in the first step
// on a node, which makes a loop device, and in a further one, and a tree.
type attachTimes struct{ image, further, tree []time.Duration }

// timeAttach measures them; they take turns.
func (w *world) timeAttach(ctx context.Context, times int) (*attachTimes, error) {
	of := func(store string) *attaching {
		return &attaching{Node: w.node, Store: w.stored(store), RunDir: w.path("run")}
	}
	var out attachTimes
	for range times {
		first, err := of(storeDir).attachOnce(ctx)
		if err != nil {
			return nil, err
		}
		second, err := of(storeDir).attachOnce(ctx)
		if err == nil {
			err = second.end()
		}
		err = errors.Join(err, first.end())
		if err == nil {
			err = freed(w.node.image(w.stored(storeDir)))
		}
		if err != nil {
			return nil, err
		}
		tree, err := of(treeStoreDir).attachOnce(ctx)
		if err == nil {
			err = tree.end()
		}
		if err != nil {
			return nil, err
		}
		out.image, out.further, out.tree = append(out.image, first.took), append(out.further, second.took), append(out.tree, tree.took)
	}
	return &out, nil
}

// freed waits until no loop device shows a file of that name: the kernel takes them back
// a moment after their last use.
func freed(file string) error {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		devices, err := loopdev.Using(filepath.Base(file))
		for _, d := range devices {
			err = errors.Join(err, d.Close())
		}
		if err != nil || len(devices) == 0 {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s still has a loop device", file)
		}
	}
}

// copyTries bounds how often a node's copy is asked for: hpcenv waits a few seconds, goes
// on with the store's image, and has the copy made meanwhile.
const copyTries = 20

// makeCopies has hpcenv make the copies on the disks of so many nodes, which see the
// store on a fast disk meanwhile, one after the other: the nodes share this machine's disk, which real ones do not.
func (w *world) makeCopies(ctx context.Context, nodes int) error {
	for i := range nodes {
		if err := w.outfit(i); err != nil {
			return err
		}
		o := w.order(launch{key: usual(localSecond, 1)}, i)
		if err := w.makeCopy(ctx, &attaching{Node: w.node, Store: o.store(), RunDir: o.runDir(), Local: o.copies(), From: w.path("storage"), At: o.Storage}); err != nil {
			return fmt.Errorf("node %d: %w", i, err)
		}
	}
	return nil
}

func (w *world) makeCopy(ctx context.Context, a *attaching) error {
	var err error
	for range copyTries {
		var h *held
		if h, err = a.attachOnce(ctx); err != nil {
			return err
		}
		_, err = copyIn(a.Local)
		if ended := h.end(); ended != nil {
			return ended
		}
		if err == nil {
			return nil
		}
	}
	return err
}

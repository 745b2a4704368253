package main

import (
	"bufio"
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

	"github.com/hpcenv/hpcenv/contrib/bench/storm/slowfs"
	"github.com/hpcenv/hpcenv/hooks/facts"
)

// What the parallel file system is like.
const (
	opDelay   = time.Millisecond
	opsPerSec = 2000
	// cacheTime is as long as any launch: names and attributes are asked for once per
	// node. It is the best case for trees.
	cacheTime = time.Hour
)

// ranksPerNode of every launch.
const ranksPerNode = 4

// launch is what is measured at once.
type launch struct {
	key
	// onRead is told of reads of the storage, onMetadata of all other operations.
	onRead     func(path string, offset, size int64)
	onMetadata func(kind slowfs.Kind, path string)
	// onBegin is called when the clock starts.
	onBegin func()
}

// result is one node's.
type result struct {
	// Attached and Activated are when hpcenv's helper was done with either (0 = it is not
	// hpcenv), Wall when the last rank was done, since all nodes began; in the world's
	// time.
	Attached, Activated, Wall time.Duration
	// Asked is what the node asked of the storage.
	Asked slowfs.Counts
}

// simulated is a node process.
type simulated struct {
	mount *slowfs.Mount
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	said  bytes.Buffer
}

// run launches on all nodes at once. The nodes' own folders stay, for a second
// launch; forget removes them.
func (w *world) run(ctx context.Context, l launch) (results []result, err error) {
	server := slowfs.NewServer(opDelay, opsPerSec, l.slowness)
	waits, begin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	nodes := make([]*simulated, l.nodes)
	begun := false
	defer func() {
		if !begun {
			err = errors.Join(err, begin.Close())
		}
		err = errors.Join(err, waits.Close())
		err = errors.Join(err, stop(nodes, err != nil))
		if err != nil {
			err = fmt.Errorf("%s on %d nodes: %w", l.contender, l.nodes, err)
		}
	}()
	for i := range nodes {
		if nodes[i], err = w.start(ctx, l, i, server, waits); err != nil {
			return nil, err
		}
	}
	for _, n := range nodes {
		if b, err := n.out.ReadByte(); err != nil || b != ready {
			return nil, errors.Join(errors.New("a node did not become ready"), err)
		}
	}
	before := make([]slowfs.Counts, len(nodes))
	for i, n := range nodes {
		before[i] = n.mount.Counts()
	}
	if l.onBegin != nil {
		l.onBegin()
	}
	start := now()
	begun = true
	if err := begin.Close(); err != nil {
		return nil, err
	}
	slow := time.Duration(l.slowness)
	for i, n := range nodes {
		var r report
		line, err := n.out.ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, &r)
		}
		if err != nil {
			return nil, fmt.Errorf("node %d: no report: %w", i, err)
		}
		since := func(t time.Duration) time.Duration { return max(0, t-start) / slow }
		results = append(results, result{since(r.Attached), since(r.Activated), since(r.Ended), n.mount.Counts().Sub(before[i])})
	}
	return results, nil
}

func (w *world) own(node int) string { return w.path("nodes", fmt.Sprintf("%02d", node)) }

// outfit makes a node's own folder, with what its own service has noted of it.
func (w *world) outfit(node int) error {
	for _, d := range []string{"storage", "run"} {
		if err := os.MkdirAll(filepath.Join(w.own(node), d), 0o755); err != nil {
			return err
		}
	}
	return copyFile(w.path("run", facts.RecordFile), filepath.Join(w.own(node), "run", facts.RecordFile))
}

func (w *world) order(l launch, i int) order {
	o := order{
		Contender: l.contender, Storage: filepath.Join(w.own(i), "storage"), Own: w.own(i), Floor: w.path("floor.ext4"), Trace: w.treeTrace(), Ranks: ranksPerNode,
		Node: w.node,
	}
	if l.contender == pixi {
		o.Trace = w.pixiTrace()
	}
	if l.real {
		o.Program = w.program
	}
	return o
}

func (w *world) start(ctx context.Context, l launch, i int, server *slowfs.Server, waits *os.File) (*simulated, error) {
	if err := w.outfit(i); err != nil {
		return nil, err
	}
	o := w.order(l, i)
	n := new(simulated)
	var err error
	if n.mount, err = slowfs.New(w.storage, server, o.Storage, slowfs.Options{Cache: cacheTime, OnRead: l.onRead, OnMetadata: l.onMetadata}); err != nil {
		return nil, err
	}
	if err := n.begin(ctx, o, waits); err != nil {
		return nil, errors.Join(err, n.mount.Close())
	}
	return n, nil
}

func (n *simulated) begin(ctx context.Context, o order, waits *os.File) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	words := append(append([]string{}, niceNode...), self, "node")
	n.cmd = exec.CommandContext(ctx, words[0], words[1:]...)
	n.cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "GOMAXPROCS=1"}
	n.cmd.Stderr, n.cmd.ExtraFiles = &n.said, []*os.File{waits}
	n.cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if n.in, err = n.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	n.out = bufio.NewReader(out)
	if err := n.cmd.Start(); err != nil {
		return err
	}
	_, err = n.in.Write(append(text, '\n'))
	return err
}

// stop lets all nodes give back what they hold, or kills them, and then unmounts
// the storage: each node's namespace has the mounts of all.
func stop(nodes []*simulated, kill bool) error {
	var errs []error
	for i, n := range nodes {
		if n == nil {
			continue
		}
		if kill {
			if err := n.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				errs = append(errs, err)
			}
		}
		errs = append(errs, n.in.Close())
		if err := n.cmd.Wait(); err != nil && (!kill || n.said.Len() > 0) {
			errs = append(errs, fmt.Errorf("node %d: %w: %s", i, err, bytes.TrimSpace(n.said.Bytes())))
		}
	}
	for _, n := range nodes {
		if n != nil {
			errs = append(errs, n.mount.Close())
		}
	}
	return errors.Join(errs...)
}

// forget removes what nodes keep on their own disks.
func (w *world) forget() error { return os.RemoveAll(w.path("nodes")) }

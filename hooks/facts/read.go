package facts

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// noAnswer begins the problem of a reader that did not come to an end in time.
const noAnswer = "no answer: "

// unanswered tells that a reader did not come to an end: what it would have found is
// not known, which is not the same as not there.
func (f *Facts) unanswered(reader string) bool {
	return slices.ContainsFunc(f.Problems, func(p string) bool { return strings.HasPrefix(p, reader+": "+noAnswer) })
}

// patience bounds what a node waits for one reader: a driver that hangs must not
// hold up what the others have read.
const patience = 3 * time.Second

// part is what one reader found out: how it changes the facts, and a line for
// each thing that it could not read.
type part struct {
	set      func(*Facts)
	problems []string
}

// host is what readers are given: the tree, and the machine, which several need.
type host struct {
	tree
	machine string
	gpus    []GPUProbe
}

// reader reads one concern. Readers run at the same time.
type reader struct {
	name string
	read func(context.Context, host) part
}

// readers are all there are; the order is that of problems.
var readers = []reader{
	{"processor", readCPU},
	{"page size", readPageSize},
	{"glibc", readGlibc},
	{"kernel", readKernel},
	{"squashfs", readSquashfs},
	{"hostid", readHostID},
	{"networks", readNetworks},
	{"gpu", readGPU},
	{"mpi", readMPI},
}

// Options of ReadWith.
type Options struct {
	// GPUs are asked in turn; the first that knows of one answers. nil: DefaultGPUs.
	GPUs []GPUProbe
}

// Read reads the facts of the node whose files lie below root; "/" is this host.
// What cannot be read is in Problems of the facts or of a device: there is no
// error of the whole. The context bounds it; each reader is also bounded by
// itself.
func Read(ctx context.Context, root string) *Facts { return ReadWith(ctx, root, Options{}) }

// ReadWith is Read with options.
func ReadWith(ctx context.Context, root string, opt Options) *Facts {
	h := host{tree: newTree(root), gpus: opt.GPUs}
	if h.gpus == nil {
		h.gpus = DefaultGPUs()
	}
	f := &Facts{Version: Version, Squashfs: Squashfs{Mounts: Unknown}}
	h.machine = readMachine(h.tree)
	setMachine(f, h.machine)
	if h.machine == "" {
		f.problem("machine", "/proc tells no architecture")
	}

	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answers := make([]chan part, len(readers))
	for i, r := range readers {
		answers[i] = make(chan part, 1) // a late one is dropped, not waited for
		go func() { answers[i] <- guarded(ctx, r, h) }()
	}
	for i, r := range readers {
		var p part
		select {
		case p = <-answers[i]:
		case <-ctx.Done():
			select {
			case p = <-answers[i]: // it was there in time
			default:
				p.problems = []string{noAnswer + ctx.Err().Error()}
			}
		}
		if p.set != nil {
			p.set(f)
		}
		for _, line := range p.problems {
			f.problem(r.name, line)
		}
	}
	override(h.tree, f)
	return f
}

// guarded turns a panic of a reader (over a file that no one foresaw) into its
// problem: facts are read on every node, and one bad file must not fail a launch.
func guarded(ctx context.Context, r reader, h host) (p part) {
	defer func() {
		if v := recover(); v != nil {
			p = part{problems: []string{fmt.Sprintf("the reader failed: %v\n%s", v, debug.Stack())}}
		}
	}()
	return r.read(ctx, h)
}

func (f *Facts) problem(reader, line string) {
	f.Problems = append(f.Problems, reader+": "+line)
}

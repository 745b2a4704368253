package materialize

import (
	"context"
	"sync"
)

// folder is a directory of the plan with what is directly in it.
type folder struct {
	dirs  []*folder
	op    int   // its operation; unused for the prefix itself
	files []int // operations that make files and links
}

// folders arranges a plan's operations, records excepted, by directory. The
// plan is sorted and has every parent.
func folders(ops []Op) (root *folder) {
	root = &folder{}
	at := map[string]*folder{"": root}
	last, dir := root, ""
	for i := range ops {
		op := &ops[i]
		if parent := dirOf(op.Path); parent != dir {
			last, dir = at[parent], parent // neighbours mostly lie in one directory
		}
		switch op.Kind {
		case KindDir:
			f := &folder{op: i}
			at[op.Path] = f
			last.dirs = append(last.dirs, f)
		case KindRecord:
		default:
			last.files = append(last.files, i)
		}
	}
	return root
}

// task is a piece of work for one worker: what lies in one directory, or some of
// the files of a large one.
type task struct {
	dirs  []*folder
	files []int
}

// largeFolder is how many files of a directory one worker makes at the most
// before others may join in.
const largeFolder = 1000

// crew makes a tree directory by directory. A worker makes the directories in
// one before anybody fills them, and stays in it as long as it can: two who work
// in one directory wait for one another in the kernel.
type crew struct {
	mkdir, file func(op int) error
	report      func(n int)

	mu      sync.Mutex
	changed *sync.Cond
	todo    []task // the last is the next
	busy    int
	err     error
}

// makeAll makes a tree with workers goroutines; the first error ends it.
func makeAll(ctx context.Context, root *folder, workers int, mkdir, file func(op int) error, report func(n int)) error {
	c := &crew{mkdir: mkdir, file: file, report: report}
	c.changed = sync.NewCond(&c.mu)
	c.add(root)
	stop := context.AfterFunc(ctx, func() { c.fail(context.Cause(ctx)) })
	defer stop()
	var group sync.WaitGroup
	for range workers {
		group.Go(c.work)
	}
	group.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// add puts what lies in f on the list.
func (c *crew) add(f *folder) {
	files := f.files
	for len(files) > largeFolder {
		c.todo = append(c.todo, task{files: files[:largeFolder]})
		files = files[largeFolder:]
	}
	c.todo = append(c.todo, task{dirs: f.dirs, files: files})
}

func (c *crew) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
	c.changed.Broadcast()
}

func (c *crew) work() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		for len(c.todo) == 0 && c.busy > 0 && c.err == nil {
			c.changed.Wait()
		}
		if len(c.todo) == 0 || c.err != nil {
			return
		}
		next := c.todo[len(c.todo)-1]
		c.todo = c.todo[:len(c.todo)-1]
		c.busy++
		c.mu.Unlock()
		err := c.do(next)
		c.mu.Lock()
		c.busy--
		if err != nil && c.err == nil {
			c.err = err
		}
		c.changed.Broadcast()
	}
}

// do makes the directories of a task, which others may then fill, and its files.
func (c *crew) do(t task) error {
	for _, f := range t.dirs {
		if err := c.mkdir(f.op); err != nil {
			return err
		}
	}
	if len(t.dirs) > 0 {
		c.mu.Lock()
		for _, f := range t.dirs {
			c.add(f)
		}
		c.mu.Unlock()
		c.changed.Broadcast()
	}
	for _, i := range t.files {
		if err := c.file(i); err != nil {
			return err
		}
	}
	if n := len(t.dirs) + len(t.files); n > 0 {
		c.report(n)
	}
	return nil
}

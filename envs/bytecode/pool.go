package bytecode

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// job is one request to the driver.
type job struct {
	kind byte // of a request; see driver.py
	load func() ([]byte, error)
	// done takes the answer; many goroutines call it for different jobs.
	done func(answer) error
}

// answer to a job: code, or why there is none; lost: nothing is known of the
// source itself. alone: a template was asked for, and this is for one prefix only.
type answer struct {
	code        []byte
	why         string
	lost, alone bool
}

// perProcess is how many jobs a process is worth its start; window is how many
// a process is ahead of its answers.
const (
	perProcess = 40
	window     = 8
)

// farm runs jobs in several processes. A process that dies takes nothing with
// it: what it had not answered goes to its successor, and the job at which two
// died is lost.
type farm struct {
	c       *compiler
	box     *Sandbox
	dir     string
	jobs    []job
	next    atomic.Int64
	started atomic.Int64
}

// runJobs does all jobs and returns how many processes it started.
func (c *compiler) runJobs(ctx context.Context, box *Sandbox, dir string, jobs []job, workers int) (int, error) {
	f := &farm{c: c, box: box, dir: dir, jobs: jobs}
	g, ctx := errgroup.WithContext(ctx)
	for range min(workers, (len(jobs)+perProcess-1)/perProcess) {
		g.Go(func() error { return f.work(ctx) })
	}
	err := g.Wait()
	return int(f.started.Load()), err
}

// work is one worker: processes one after the other until no job is left.
func (f *farm) work(ctx context.Context) error {
	var again []int // of a process that died, in order
	suspect := -1   // the job at which it died
	for {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		first := f.take(&again)
		if first < 0 {
			return nil
		}
		again = append([]int{first}, again...)
		f.started.Add(1)
		p, err := f.c.start(ctx, f.box, f.dir)
		if ctx.Err() != nil {
			if err == nil {
				err = p.fail(context.Cause(ctx))
			}
			return errors.Join(context.Cause(ctx), err)
		}
		if err != nil {
			return err
		}
		left, err := f.feed(ctx, p, &again)
		switch {
		case err == nil:
			return p.close()
		case ctx.Err() != nil:
			return p.fail(context.Cause(ctx))
		case len(left) == 0 || isOurs(err):
			return p.fail(err)
		}
		why := p.fail(err)
		again = append(left, again...)
		if left[0] == suspect {
			// Twice at the same source, the second time with nothing before it that
			// could be the cause: it is this one.
			if err := f.jobs[left[0]].done(answer{lost: true, why: why.Error()}); err != nil {
				return err
			}
			again = again[1:]
			suspect = -1
		} else {
			suspect = left[0]
		}
	}
}

// take returns the next job, or -1.
func (f *farm) take(again *[]int) int {
	if len(*again) > 0 {
		i := (*again)[0]
		*again = (*again)[1:]
		return i
	}
	if i := int(f.next.Add(1)) - 1; i < len(f.jobs) {
		return i
	}
	return -1
}

// ours is an error that is not the process's.
type ours struct{ error }

func (o ours) Unwrap() error { return o.error }

func isOurs(err error) bool {
	_, ok := err.(ours)
	return ok
}

// feed gives jobs to a process and takes its answers. After an error, left are
// the jobs that it was given and has not answered, in order.
func (f *farm) feed(ctx context.Context, p *process, again *[]int) (left []int, err error) {
	asked := make(chan int, window)
	sent := make(chan error, 1)
	stop := make(chan struct{})
	var mu sync.Mutex
	var given []int
	go func() {
		defer close(asked)
		sent <- f.send(p, again, asked, stop, func(i int) {
			mu.Lock()
			given = append(given, i)
			mu.Unlock()
		})
	}()
	answered := 0
	for i := range asked {
		var kind byte
		var data []byte
		if kind, data, err = p.answer(); err == nil {
			err = f.deliver(i, kind, data)
		}
		if err != nil {
			break
		}
		answered++
	}
	close(stop)
	if err != nil {
		p.cancel() // a writer that waits for the process waits no more
		for range asked {
		}
	}
	if serr := <-sent; err == nil || isOurs(serr) {
		err = serr
	}
	return given[answered:], err
}

// send writes requests, at most window ahead of the answers.
func (f *farm) send(p *process, again *[]int, asked chan<- int, stop <-chan struct{}, given func(int)) error {
	for {
		i := f.take(again)
		if i < 0 {
			return p.flush()
		}
		given(i)
		source, err := f.jobs[i].load()
		if err != nil {
			return ours{err}
		}
		if err := p.ask(f.jobs[i].kind, source); err != nil {
			return err
		}
		if err := p.flush(); err != nil {
			return err
		}
		select {
		case asked <- i:
		case <-stop:
			return nil
		}
	}
}

func (f *farm) deliver(i int, kind byte, data []byte) error {
	var a answer
	if a.alone = kind == 'e' || kind == 'f'; a.alone && f.jobs[i].kind != 't' {
		return fmt.Errorf("the driver answered with %q", kind)
	}
	switch kind {
	case 'k', 'e':
		a.code = data
		if len(data) < headerSize || [4]byte(data[:4]) != f.c.magic || f.jobs[i].kind == 'h' && len(data) != headerSize {
			return fmt.Errorf("the driver answered %d bytes that are no byte-code", len(data))
		}
	case 'x', 'f':
		a.why = string(data)
	case 'm':
		a.why, a.lost = "out of memory", true
	default:
		return fmt.Errorf("the driver answered with %q", kind)
	}
	if err := f.jobs[i].done(a); err != nil {
		return ours{err}
	}
	return nil
}

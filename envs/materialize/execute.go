package materialize

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hpcenv/hpcenv/cache"
)

// Result is what Execute made.
type Result struct {
	// TreeDigest as design 3 defines it; equal to TreeDigest(staging).
	TreeDigest string
	// Files, Dirs and Links made; Linked files share the pool's inode.
	Files, Dirs, Links, Linked int
	// Bytes of all files; BytesNew of those that share neither the pool's inode
	// nor its blocks.
	Bytes, BytesNew int64
	Cost            Cost
}

// Execute writes the prefix into staging, an empty directory on the store's file
// system. The result depends on the plan only: not on workers, umask, or the
// order in which workers get on. Nothing is made durable and nothing is
// published; after an error staging holds a part, to be removed by the caller.
//
// progress (may be nil) is called with the number of operations done and their
// total, by one goroutine at a time.
func (p *Plan) Execute(ctx context.Context, store *cache.Store, staging string, workers int, progress func(done, total int)) (*Result, error) {
	tree, err := p.write(ctx, store, staging, workers, progress)
	if err != nil {
		return nil, err
	}
	return tree.result(), nil
}

// written is a tree that was made, path by path.
type written struct {
	lines []line
	// method, siblings and siblingBytes: see Cost.
	method       cache.Method
	siblings     int
	siblingBytes int64
}

// write is Execute, with all that was written as its answer.
func (p *Plan) write(ctx context.Context, store *cache.Store, staging string, workers int, progress func(done, total int)) (*written, error) {
	w, err := newWriter(p, store, staging)
	if err != nil {
		return nil, err
	}
	tree, err := p.execute(ctx, w, max(workers, 1), progress)
	if cerr := w.close(); err == nil && cerr != nil {
		err = cerr
	}
	if err != nil {
		return nil, fmt.Errorf("making %s: %w", p.Prefix, err)
	}
	return tree, nil
}

func (p *Plan) execute(ctx context.Context, w *writer, workers int, progress func(done, total int)) (*written, error) {
	report := counter(len(p.Ops), progress)
	var root *folder
	var before errgroup.Group
	before.Go(func() error { return w.findRepeats(p.Ops) })
	before.Go(func() error { root = folders(p.Ops); return nil })
	if err := before.Wait(); err != nil {
		return nil, err
	}
	mkdir := func(i int) error { return w.mkdir(&p.Ops[i]) }
	if err := makeAll(ctx, root, workers, mkdir, w.make, report); err != nil {
		return nil, err
	}
	var records []int
	inPrefix := make(map[string]content)
	for i := range p.Ops {
		switch p.Ops[i].Kind {
		case KindPatch, KindData:
			inPrefix[p.Ops[i].Path] = w.made[i].content
		case KindRecord:
			records = append(records, i)
		}
	}
	var buffers sync.Pool
	record := func(i int) error {
		buf, _ := buffers.Get().(*[]byte)
		if buf == nil {
			buf = new([]byte)
		}
		defer buffers.Put(buf)
		var err error
		if *buf, err = p.recordJSON(p.Ops[i].Owner, inPrefix, *buf); err != nil {
			return err
		}
		return w.data(i, *buf)
	}
	if err := forAll(ctx, records, workers, record, report); err != nil {
		return nil, err
	}
	return p.tree(w), nil
}

// tree describes what was made.
func (p *Plan) tree(w *writer) *written {
	lines := make([]line, 0, len(p.Ops))
	for i, op := range p.Ops {
		switch op.Kind {
		case KindDir:
			lines = append(lines, line{path: op.Path, kind: 'd'})
		case KindSymlink:
			lines = append(lines, line{path: op.Path, kind: 'l', value: op.Target})
		default:
			m := w.made[i]
			lines = append(lines, line{path: op.Path, kind: 'f', exec: op.Exec, value: m.SHA256, size: m.Size, pooled: m.pooled, method: m.method})
		}
	}
	siblings, bytes := w.pool.Siblings()
	return &written{lines: lines, method: w.pool.Method(), siblings: siblings, siblingBytes: bytes}
}

// result adds up a tree.
func (t *written) result() *Result {
	r := &Result{TreeDigest: digestLines(t.lines)}
	for _, l := range t.lines {
		switch l.kind {
		case 'd':
			r.Dirs++
		case 'l':
			r.Links++
		default:
			r.Files++
			r.Bytes += l.size
			r.add(made{content: content{Size: l.size}, pooled: l.pooled, method: l.method})
		}
	}
	r.total(t.method, t.siblings, t.siblingBytes)
	return r
}

// forAll calls do for each index, in workers goroutines; the first error ends
// it.
func forAll(ctx context.Context, indices []int, workers int, do func(int) error, report func(int)) error {
	g, until := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for _, i := range indices {
		if until.Err() != nil {
			break
		}
		g.Go(func() error {
			if err := do(i); err != nil {
				return err
			}
			report(1)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// counter serializes progress reports.
func counter(total int, progress func(done, total int)) func(int) {
	if progress == nil {
		return func(int) {}
	}
	var mu sync.Mutex
	done := 0
	return func(n int) {
		mu.Lock()
		defer mu.Unlock()
		done += n
		progress(done, total)
	}
}

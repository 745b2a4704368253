package bytecode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"sync"

	"github.com/hpcenv/hpcenv/cache"
)

// Request of a Build.
type Request struct {
	Interpreter *Interpreter
	Packages    []Package
	Patched     []Patched
	// Workers is how many processes run at once; 0 = one per CPU.
	Workers int
	// Sandbox must not be nil.
	Sandbox *Sandbox
	// OnWait (may be nil) is called once if another program compiles with the
	// same Python.
	OnWait func()
}

// Build finds or makes the byte-code of all sources of req. What is new is in
// the pool, durable, and known to the store when Build returns. If all is known
// already, no process is started.
//
// Errors are of the classes ErrNoSandbox, ErrInterpreter or cache.ErrStore.
func Build(ctx context.Context, store *cache.Store, req *Request) (*Result, error) {
	b := &build{store: store, req: req, res: &Result{
		Rows:    make(map[string]map[string]Row, len(req.Packages)),
		Patched: make([]PatchedCode, len(req.Patched)),
	}}
	if err := b.run(ctx); err != nil {
		return nil, err
	}
	slices.Sort(b.res.Lost)
	return b.res, nil
}

// build is one Build.
type build struct {
	store *cache.Store
	req   *Request
	res   *Result
	c     *compiler
	adder *cache.Adder
	// changed are the packages whose tables get new rows.
	changed map[string]bool
	tables  map[string]table // as they were
	noted   map[string]table // new rows of patched sources
	todo    []patchedTodo
	// readOnly: nothing is made, so that what is damaged is an error.
	readOnly bool
	mu       sync.Mutex // of res, noted and changed, while jobs run
}

// pending is a source that needs work, with all places that wait for it.
type pending struct {
	entry cache.Entry
	// head: only a header is wanted, for the shipped file.
	shipped *cache.Entry
	places  []at
}

// at is a source's place.
type at struct{ pkg, path, label string }

func (b *build) run(ctx context.Context) (err error) {
	if len(b.req.Patched) == 0 && !slices.ContainsFunc(b.req.Packages, func(p Package) bool { return len(p.Sources) > 0 }) {
		return nil
	}
	if b.c, err = find(b.store, b.req.Interpreter); err != nil {
		return err
	}
	if b.c == nil {
		if err := b.req.Sandbox.Available(); err != nil {
			return err
		}
		if b.c, err = tryOut(ctx, b.store, b.req.Sandbox, b.req.Interpreter, &b.res.Processes); err != nil {
			return err
		}
	}
	b.res.Tag = b.c.about.Tag
	complete, err := b.lookUp(b.req.Packages)
	if err != nil || complete && len(b.todo) == 0 {
		return err
	}
	if err := b.req.Sandbox.Available(); err != nil {
		return err
	}
	if complete {
		return b.work(ctx, nil)
	}
	// One program compiles, the others wait and then find what it made.
	release, err := b.store.Lock(ctx, "pyc-"+b.c.id, b.req.OnWait)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	if _, err := b.lookUp(b.req.Packages); err != nil {
		return err
	}
	known, err := bySource(b.store, b.c.id)
	if err != nil {
		return err
	}
	if _, err := b.lookUpPatched(known.patched); err != nil {
		return err
	}
	missing, err := b.missing(known.sources)
	if err != nil {
		return err
	}
	if err := b.work(ctx, missing); err != nil {
		return err
	}
	return b.publish(ctx)
}

// lookUp fills in the rows that the store knows; complete: that is all.
func (b *build) lookUp(packages []Package) (complete bool, err error) {
	complete, b.changed, b.tables, b.noted = true, map[string]bool{}, map[string]table{}, map[string]table{}
	for _, p := range packages {
		t, err := readTable(b.store, b.c.id, p.SHA256)
		if err != nil {
			return false, err
		}
		b.tables[p.SHA256] = t
		rows := make(map[string]Row, len(p.Sources))
		for _, s := range p.Sources {
			r, ok := t[rowKey{path: s.Entry.Path}]
			if !ok || r.Source != s.Entry.SHA256 || r.Shipped != s.shippedDigest() {
				complete, b.changed[p.SHA256] = false, true
				continue
			}
			rows[s.Entry.Path] = r
		}
		b.res.Rows[p.SHA256] = rows
	}
	patched, err := b.lookUpPatched(nil)
	return complete && patched, err
}

func (s *Source) shippedDigest() string {
	if s.Shipped == nil {
		return ""
	}
	return s.Shipped.SHA256
}

// missing decides what is to be done for sources without a row: nothing, where
// what was shipped is good or another package's table has the source; else a
// header or the compiler.
func (b *build) missing(known map[string]Row) ([]*pending, error) {
	compile := map[string]*pending{}
	var out []*pending
	for _, p := range b.req.Packages {
		rows := b.res.Rows[p.SHA256]
		for i := range p.Sources {
			s := &p.Sources[i]
			if _, ok := rows[s.Entry.Path]; ok {
				continue
			}
			where := at{p.SHA256, s.Entry.Path, p.Label}
			kind := Compiled
			if s.Shipped != nil {
				head, err := readHead(b.store, *s.Shipped)
				if err != nil {
					return nil, fmt.Errorf("package %s, file %s: %w", p.Label, s.Shipped.Path, err)
				}
				kind = shipped(head, s.Shipped.Size, b.c.magic, s.Entry)
			}
			switch kind {
			case Kept:
				rows[s.Entry.Path] = Row{Kind: Kept, Source: s.Entry.SHA256, Shipped: s.Shipped.SHA256, Code: s.Shipped.SHA256, Size: s.Shipped.Size}
				continue
			case Headed:
				out = append(out, &pending{entry: s.Entry, shipped: s.Shipped, places: []at{where}})
				continue
			}
			if r, ok := known[s.Entry.SHA256]; ok {
				r.Shipped = s.shippedDigest()
				rows[s.Entry.Path] = r
				continue
			}
			n := compile[s.Entry.SHA256]
			if n == nil {
				n = &pending{entry: s.Entry}
				compile[s.Entry.SHA256] = n
				out = append(out, n)
			}
			n.places = append(n.places, where)
		}
	}
	// The largest first: what takes longest must not start last.
	slices.SortFunc(out, func(x, y *pending) int {
		return cmp.Or(cmp.Compare(y.entry.Size, x.entry.Size), cmp.Compare(x.entry.SHA256, y.entry.SHA256), cmp.Compare(x.places[0].path, y.places[0].path))
	})
	return out, nil
}

// work does what is missing, and the patched sources.
func (b *build) work(ctx context.Context, missing []*pending) (err error) {
	if len(missing)+len(b.todo) == 0 {
		return nil
	}
	dir, remove, err := b.c.unpack(b.store)
	if err != nil {
		return err
	}
	defer func() {
		if rerr := remove(); rerr != nil {
			err = errors.Join(err, fmt.Errorf("%w: remove %s: %w", cache.ErrStore, dir, rerr))
		}
	}()
	if b.adder, err = b.store.NewAdder(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.adder.Close()) }()
	jobs := make([]job, 0, len(missing)+len(b.todo))
	for _, todo := range b.todo {
		jobs = append(jobs, b.patchedJob(todo))
	}
	for _, n := range missing {
		jobs = append(jobs, b.job(n))
	}
	workers := b.req.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	started, err := b.c.runJobs(ctx, b.req.Sandbox, dir, jobs, workers)
	b.res.Processes += started
	return err
}

func (b *build) job(n *pending) job {
	kind := byte('c')
	if n.shipped != nil {
		kind = 'h'
	}
	return job{
		kind: kind,
		load: func() ([]byte, error) {
			data, err := readAll(b.store, n.entry)
			if err != nil {
				return nil, fmt.Errorf("package %s: %w", n.places[0].label, err)
			}
			return data, nil
		},
		done: func(a answer) error { return b.answered(n, a) },
	}
}

// answered takes the driver's answer for one source.
func (b *build) answered(n *pending, a answer) error {
	row := Row{Kind: Compiled, Source: n.entry.SHA256, Why: a.why}
	code := a.code
	switch {
	case a.lost:
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, p := range n.places {
			b.res.Lost = append(b.res.Lost, fmt.Sprintf("%s: %s: %s", p.label, p.path, a.why))
		}
		return nil
	case code == nil:
		row.Kind = Failed
	case n.shipped != nil:
		data, err := readAll(b.store, *n.shipped)
		if err != nil {
			return fmt.Errorf("package %s: %w", n.places[0].label, err)
		}
		row.Kind = Headed
		code = append(code[:headerSize:headerSize], data[headerSize:]...)
	}
	if code != nil {
		var err error
		row.Size = int64(len(code))
		if row.Code, err = b.adder.Add(code); err != nil {
			return err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch row.Kind {
	case Compiled:
		b.res.Compiled++
	case Headed:
		b.res.Headed++
	}
	for _, p := range n.places {
		b.res.Rows[p.pkg][p.path] = row
	}
	return nil
}

// publish writes the tables of the packages, with one sync for all. What the
// row of a source does not know is what was shipped there: it is put in here.
func (b *build) publish(ctx context.Context) error {
	var files []cache.NewFile
	if _, err := os.Lstat(b.store.PycPath(b.c.id, aboutName)); errors.Is(err, os.ErrNotExist) {
		f, err := b.c.aboutFile(b.store)
		if err != nil {
			return err
		}
		files = append(files, f)
	} else if err != nil {
		return fmt.Errorf("%w: %w", cache.ErrStore, err)
	}
	for _, p := range b.req.Packages {
		if !b.changed[p.SHA256] {
			continue
		}
		rows := b.res.Rows[p.SHA256]
		t := make(table, len(rows)+len(b.noted[p.SHA256]))
		maps.Copy(t, b.tables[p.SHA256])
		maps.Copy(t, b.noted[p.SHA256])
		for i := range p.Sources {
			s := &p.Sources[i]
			if r, ok := rows[s.Entry.Path]; ok {
				r.Shipped = s.shippedDigest()
				t[r.key(s.Entry.Path)] = r
			}
		}
		files = append(files, cache.NewFile{Path: b.store.PycPath(b.c.id, p.SHA256), Data: t.encode()})
	}
	return b.store.PublishFiles(ctx, files)
}

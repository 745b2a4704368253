package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// size of the whole measurement.
type size struct {
	// nodes are the sizes at which all is measured, less what would take too long at
	// the last one; between is where trees are measured, too, to extrapolate.
	nodes   []int
	between int
	// runs of what figures rest on; slow of what takes long.
	runs, slow int
	// real Python is compared with the replay at the first two sizes; at the second
	// the world goes so much more slowly that the processors suffice.
	realSlowness int
}

var (
	full  = size{nodes: []int{1, 8, 64}, between: 16, runs: 5, slow: 1, realSlowness: 4}
	quick = size{nodes: []int{1, 2, 4}, between: 3, runs: 1, slow: 1, realSlowness: 2}
)

// last is the largest number of nodes.
func (s size) last() int { return s.nodes[len(s.nodes)-1] }

// stored tells of contenders that wait for the storage and not for processors;
// they run at the clock's pace.
func stored(c contender) bool { return c == tree || c == pixi }

// row is what was measured of a contender with so many nodes.
type row struct {
	contender contender
	nodes     int
	slowness  int
	real      bool
	runs      [][]result
}

// key of a row.
type key struct {
	contender contender
	nodes     int
	real      bool
}

// measured is everything.
type measured struct {
	size    size
	rows    map[key]*row
	order   []key
	touched int64   // of the image, in compressed bytes
	again   float64 // how often a byte of it was read
}

func bench(ctx context.Context, out io.Writer, o *options) (code int, err error) {
	started := time.Now()
	w, err := newWorld(ctx, o)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	m := &measured{size: full, rows: map[key]*row{}}
	if o.quick {
		m.size = quick
	}
	if o.runs > 0 {
		m.size.runs = o.runs
	}
	fmt.Fprintf(out, "a prefix of %d files; Python imports NumPy and %s further modules: %d operations on files of the prefix\n", w.files, w.modules, len(w.trace.Ops))
	if m.touched, err = touchedBytes(w.stored(storedImage), w.trace); err != nil {
		return 1, fmt.Errorf("what of the image a start needs: %w", err)
	}
	if err := m.measure(ctx, w); err != nil {
		return 1, err
	}
	m.print(out)
	if err := m.plot(out, o.png); err != nil {
		return 1, err
	}
	fmt.Fprintf(out, "measured in %v\n", time.Since(started).Round(time.Second))
	return m.figures(out), nil
}

// measure runs all launches; contenders take turns.
func (m *measured) measure(ctx context.Context, w *world) error {
	for _, n := range m.size.nodes {
		for round := range m.size.runs {
			if err := m.round(ctx, w, n, round); err != nil {
				return err
			}
		}
		if n == m.size.nodes[1] {
			for _, c := range []contender{floor, tree, pixi} {
				if err := m.launch(ctx, w, launch{contender: c, nodes: m.size.between, slowness: 1}); err != nil {
					return err
				}
			}
		}
	}
	for i, n := range m.size.nodes[:2] {
		for _, c := range []contender{floor, tree} {
			l := launch{contender: c, nodes: n, slowness: 1, real: true}
			if i == 1 && c == tree {
				l.slowness = m.size.realSlowness
			}
			if err := m.launch(ctx, w, l); err != nil {
				return err
			}
		}
	}
	return m.readTwice(ctx, w)
}

// round is one launch of each contender that has a turn.
func (m *measured) round(ctx context.Context, w *world, n, round int) error {
	first, last := n == m.size.nodes[0], n == m.size.last()
	for _, c := range []contender{floor, image, tree, localFirst, localSecond, pixi, imageDirect, packRead, pack} {
		runs := m.size.slow
		if c == floor || c == image || first {
			runs = m.size.runs
		}
		if round >= runs || last && (stored(c) || c == pack) {
			continue
		}
		l := launch{contender: c, nodes: n, slowness: n}
		if stored(c) || c == floor {
			l.slowness = 1
		}
		if err := m.launch(ctx, w, l); err != nil {
			return err
		}
		if c != localFirst {
			if err := w.forget(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *measured) launch(ctx context.Context, w *world, l launch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	begun := time.Now()
	results, err := w.run(ctx, l)
	if err != nil {
		return err
	}
	k := key{l.contender, l.nodes, l.real}
	if m.rows[k] == nil {
		m.rows[k] = &row{contender: l.contender, nodes: l.nodes, slowness: l.slowness, real: l.real}
		m.order = append(m.order, k)
	}
	m.rows[k].runs = append(m.rows[k].runs, results)
	fmt.Fprintf(os.Stderr, "%-24s %3d nodes  %6.1f s\n", l.contender, l.nodes, time.Since(begun).Seconds())
	return nil
}

// readTwice is how often the bytes that a node read of the image were read.
func (m *measured) readTwice(ctx context.Context, w *world) error {
	seen := newExtents()
	if err := m.launch(ctx, w, launch{contender: image, nodes: 1, slowness: 1, onRead: seen.add}); err != nil {
		return err
	}
	m.again = seen.ratio()
	return nil
}

// spread is the least, the middle and the most of the nodes.
type spread struct{ min, median, max float64 }

func (a spread) minus(b spread) spread {
	return spread{a.min - b.min, a.median - b.median, a.max - b.max}
}
func (a spread) over(n float64) spread { return spread{a.min / n, a.median / n, a.max / n} }

// spread of a value of the nodes; the middle one of the runs.
func (r *row) spread(value func(result) float64) spread {
	var mins, medians, maxs []float64
	for _, run := range r.runs {
		var v []float64
		for _, node := range run {
			v = append(v, value(node))
		}
		slices.Sort(v)
		mins, medians, maxs = append(mins, v[0]), append(medians, middle(v)), append(maxs, v[len(v)-1])
	}
	return spread{middle(mins), middle(medians), middle(maxs)}
}

func middle(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}

func wall(r result) float64     { return r.Wall.Seconds() }
func attached(r result) float64 { return r.Attached.Seconds() }
func metadata(r result) float64 { return float64(r.Asked.Metadata()) }
func read(r result) float64     { return float64(r.Asked.Bytes) }

// added is the time of a row less that of the same work from the nodes' own
// disks, in seconds.
func (m *measured) added(k key) spread {
	if k.contender == packRead { // starts nothing
		return m.rows[k].spread(wall)
	}
	r, f := m.rows[k], m.rows[key{floor, k.nodes, k.real}]
	return r.spread(wall).minus(f.spread(wall).over(float64(r.slowness)))
}

// treeAtLast is the time that c adds at the last size, extrapolated in a straight
// line from the two before: the storage serves a fixed number a second.
func (m *measured) treeAtLast(c contender) float64 {
	a, b := m.added(key{c, m.size.nodes[1], false}).max, m.added(key{c, m.size.between, false}).max
	n1, n2 := float64(m.size.nodes[1]), float64(m.size.between)
	return b + (b-a)/(n2-n1)*(float64(m.size.last())-n2)
}

// packAtLast is reading the tarball with all nodes at once, and what unpacking
// and starting take on one.
func (m *measured) packAtLast() float64 {
	return m.added(key{packRead, m.size.last(), false}).max + m.added(key{pack, 1, false}).max - m.added(key{packRead, 1, false}).max
}

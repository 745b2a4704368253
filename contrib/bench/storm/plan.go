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
	// runs of what figures of time rest on; the others' figures are counts.
	runs int
	// attaches is how often attaching alone is measured.
	attaches int
	// real is how slowly the world goes, at the first two sizes, when Python itself is
	// compared with the replay: its computing is to be little beside its waiting.
	real [2]int
}

var (
	full  = size{nodes: []int{1, 8, 64}, between: 16, runs: 5, attaches: 41, real: [2]int{8, 2}}
	quick = size{nodes: []int{1, 2, 4}, between: 3, runs: 1, attaches: 11, real: [2]int{4, 2}}
)

// last is the largest number of nodes.
func (s size) last() int { return s.nodes[len(s.nodes)-1] }

// stored tells of contenders that wait for the storage and not for processors;
// they run at the clock's pace.
func stored(c contender) bool { return c == tree || c == pixi }

// key of a row.
type key struct {
	contender contender
	nodes     int
	// slowness is how many times as slowly the world goes; times are divided by it.
	slowness int
	// real: Python itself instead of the replay.
	real bool
}

// usual is how a contender is measured with so many nodes.
func usual(c contender, nodes int) key {
	if stored(c) || c == floor {
		return key{c, nodes, 1, false}
	}
	return key{c, nodes, nodes, false}
}

// row is what was measured of a key, by run and node.
type row [][]result

// measured is everything.
type measured struct {
	size    size
	rows    map[key]row
	order   []key
	touched int64   // of the image, in compressed bytes
	again   float64 // how often a byte of it was read
	attach  *attachTimes
	// asked are the operations on metadata of a node, in their order.
	asked map[contender][]string
}

func bench(ctx context.Context, out io.Writer, o *options) (code int, err error) {
	started := time.Now()
	w, err := newWorld(ctx, o)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	m := &measured{size: full, rows: map[key]row{}, asked: map[contender][]string{}}
	if o.quick {
		m.size = quick
	}
	if o.runs > 0 {
		m.size.runs = o.runs
	}
	fmt.Fprintf(out, "a prefix of %d files; Python imports NumPy and %s further modules: %d operations on files of the prefix\n", w.files, w.modules, len(w.trace.Ops))
	if m.touched, err = touchedBytes(w.node.image(w.stored(storeDir)), w.trace); err != nil {
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
func (m *measured) measure(ctx context.Context, w *world) (err error) {
	if m.attach, err = w.timeAttach(ctx, m.size.attaches); err != nil {
		return err
	}
	for _, n := range m.size.nodes {
		for round := range m.size.runs {
			if err := m.round(ctx, w, n, round); err != nil {
				return err
			}
		}
		if n == m.size.nodes[1] {
			for _, c := range []contender{floor, tree} {
				if err := m.launch(ctx, w, launch{key: usual(c, m.size.between)}); err != nil {
					return err
				}
			}
		}
	}
	for i, n := range m.size.nodes[:2] {
		for _, k := range m.compared(i) {
			if m.rows[k] != nil {
				continue // measured already
			}
			if err := m.launch(ctx, w, launch{key: k}); err != nil {
				return fmt.Errorf("Python itself on %d nodes: %w", n, err)
			}
		}
	}
	return m.look(ctx, w)
}

// compared are the rows of the replay and of Python itself at the i-th size.
func (m *measured) compared(i int) [2]key {
	n, slow := m.size.nodes[i], m.size.real[i]
	return [2]key{{tree, n, slow, false}, {tree, n, slow, true}}
}

// round is one launch of each contender that has a turn.
func (m *measured) round(ctx context.Context, w *world, n, round int) error {
	one, last := n == 1, n == m.size.last()
	for _, c := range []contender{floor, image, tree, localFirst, localSecond, pixi, imageDirect, packRead, pack} {
		switch {
		case c == floor || c == image: // figures rest on their times
		case round > 0, last && stored(c), !one && (c == localFirst || c == imageDirect || c == pack):
			continue // what is written goes to disks of the nodes' own; here they would share one
		}
		if c == localSecond && !one {
			if err := w.makeCopies(ctx, n); err != nil {
				return fmt.Errorf("copies on %d nodes: %w", n, err)
			}
		}
		if err := m.launch(ctx, w, launch{key: usual(c, n)}); err != nil {
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
	if m.rows[l.key] == nil {
		m.order = append(m.order, l.key)
	}
	m.rows[l.key] = append(m.rows[l.key], results)
	fmt.Fprintf(os.Stderr, "%-24s %3d nodes  %6.1f s\n", l.contender, l.nodes, time.Since(begun).Seconds())
	return nil
}

// look is how often the bytes that a node reads of the image are read, and what nodes
// ask for in which order.
func (m *measured) look(ctx context.Context, w *world) error {
	for _, c := range []contender{image, localFirst, localSecond} {
		seen, asked := newExtents(), new(asking)
		results, err := w.run(ctx, launch{key: usual(c, 1), onRead: seen.add, onMetadata: asked.add, onBegin: asked.begin})
		if err != nil {
			return err
		}
		if m.asked[c] = asked.counted(results[0].Asked.Metadata()); c == image {
			m.again = seen.ratio()
		}
	}
	return w.forget()
}

// spread is the least, the middle and the most of the nodes.
type spread struct{ min, median, max float64 }

func (a spread) minus(b spread) spread {
	return spread{a.min - b.min, a.median - b.median, a.max - b.max}
}
func (a spread) over(n float64) spread { return spread{a.min / n, a.median / n, a.max / n} }

// spread of a value of the nodes; the middle one of the runs.
func (r row) spread(value func(result) float64) spread {
	var mins, medians, maxs []float64
	for _, run := range r {
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

func wall(r result) float64      { return r.Wall.Seconds() }
func attached(r result) float64  { return r.Attached.Seconds() }
func activated(r result) float64 { return (r.Activated - r.Attached).Seconds() }
func metadata(r result) float64  { return float64(r.Asked.Metadata()) }
func read(r result) float64      { return float64(r.Asked.Bytes) }

// added is the time of a row less that of the same replay from the nodes' own
// disks, in seconds.
func (m *measured) added(k key) spread {
	s := m.rows[k].spread(wall)
	if k.contender == packRead { // starts nothing
		return s
	}
	return s.minus(m.rows[usual(floor, k.nodes)].spread(wall).over(float64(k.slowness)))
}

// treeAtLast is the time that the tree adds at the last size, extrapolated in a straight
// line from the two before: the storage serves a fixed number a second.
func (m *measured) treeAtLast() float64 {
	a, b := m.added(usual(tree, m.size.nodes[1])).max, m.added(usual(tree, m.size.between)).max
	n1, n2 := float64(m.size.nodes[1]), float64(m.size.between)
	return b + (b-a)/(n2-n1)*(float64(m.size.last())-n2)
}

// pixiAtLast is what the tree adds there, and more in the ratio of the size before.
func (m *measured) pixiAtLast() float64 {
	n := m.size.nodes[1]
	return m.treeAtLast() * m.added(usual(pixi, n)).max / m.added(usual(tree, n)).max
}

// packAt is reading the tarball with all nodes at once, and what unpacking and starting
// take on one.
func (m *measured) packAt(nodes int) float64 {
	return m.added(usual(packRead, nodes)).max + m.added(usual(pack, 1)).max - m.added(usual(packRead, 1)).max
}

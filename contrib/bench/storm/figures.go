package main

import (
	"io"
	"math"

	"github.com/hpcenv/hpcenv/internal/figure"
)

// The targets, for an image and for what is compared with it.
const (
	maxMetadata    = 30  // operations of a node and launch
	maxBytesRatio  = 1.3 // read, of the compressed bytes touched
	maxReadAgain   = 1   // how often a byte is read
	maxFlatness    = 1.2 // added time of many nodes, of that of one
	minTreeOver    = 50  // added time of the tree, of that of the image
	maxSecond      = 5   // operations of a node whose copy is there
	maxAttach      = 25  // ms, what attaching an image from a fast disk takes
	maxDisagreeing = 15  // percent between Python and the replay
)

// figures prints what programs read; the result is the exit code.
func (m *measured) figures(out io.Writer) int {
	r, last := figure.NewReport(out), m.size.last()
	most := func(c contender, value func(result) float64) float64 {
		max := 0.0
		for k, row := range m.rows {
			if k.contender == c {
				max = math.Max(max, row.spread(value).max)
			}
		}
		return max
	}
	imageLast := m.added(usual(image, last)).max
	r.AtMost("storm.image.metadata_per_node", most(image, metadata), "operations", maxMetadata)
	r.AtMost("storm.image.bytes_ratio", most(image, read)/float64(m.touched), "ratio", maxBytesRatio)
	r.AtMost("storm.image.read_again", m.again, "times", maxReadAgain)
	least := m.added(usual(image, 1)).max
	for _, n := range m.size.nodes[1:] {
		// One node alone cannot keep all processors busy while it attaches and activates;
		// several can. They are held against the least of those before.
		added := m.added(usual(image, n)).max
		r.AtMost("storm.image.flatness.n"+number(n), added/least, "ratio", maxFlatness)
		least = math.Min(least, added)
	}
	r.AtLeast("storm.tree_over_image.n"+number(last), m.treeAtLast()/imageLast, "ratio", minTreeOver)
	r.AtMost("storm.local.second.metadata", most(localSecond, metadata), "operations", maxSecond)
	const ms = 1000
	first, further, trees := ms*figure.Median(m.attach.image).Seconds(), ms*figure.Median(m.attach.further).Seconds(), ms*figure.Median(m.attach.tree).Seconds()
	// Over nothing: without hpcenv a step attaches nothing.
	r.AtMost("storm.attach.added", math.Max(first, further), "ms", maxAttach)
	r.Note("storm.attach.image.first", first, "ms")
	r.Note("storm.attach.image.further", further, "ms")
	r.Note("storm.attach.tree", trees, "ms")
	for i, n := range m.size.nodes[:2] {
		k := m.compared(i)
		replay, real := m.rows[k[0]], m.rows[k[1]]
		percent := func(value func(result) float64) float64 {
			return 100 * math.Abs(real.spread(value).median/replay.spread(value).median-1)
		}
		r.AtMost("storm.replay.operations.n"+number(n), percent(metadata), "percent", maxDisagreeing)
		r.AtMost("storm.replay.time.n"+number(n), percent(wall), "percent", maxDisagreeing)
	}
	r.Note("storm.image.attach.n1", ms*m.rows[usual(image, 1)].spread(attached).max, "ms")
	r.Note("storm.image.activate.n1", ms*m.rows[usual(image, 1)].spread(activated).max, "ms")
	r.Note("storm.image_direct.bytes_ratio", most(imageDirect, read)/float64(m.touched), "ratio")
	for _, c := range []struct {
		name    string
		seconds float64
	}{
		{"tree", m.treeAtLast()}, {"pixi", m.pixiAtLast()}, {"conda_pack", m.packAt(last)}, {"image", imageLast},
		{"local.second", m.added(usual(localSecond, last)).max},
	} {
		r.Note("storm."+c.name+".added.n"+number(last), ms*c.seconds, "ms")
	}
	r.Note("storm.local.first.added.n1", ms*m.added(usual(localFirst, 1)).max, "ms")
	return r.ExitCode()
}

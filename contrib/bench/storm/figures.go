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
	imageLast := m.added(key{image, last, false}).max
	r.AtMost("storm.image.metadata_per_node", most(image, metadata), "operations", maxMetadata)
	r.AtMost("storm.image.bytes_ratio", most(image, read)/float64(m.touched), "ratio", maxBytesRatio)
	r.AtMost("storm.image.read_again", m.again, "times", maxReadAgain)
	r.AtMost("storm.image.flatness", imageLast/m.added(key{image, 1, false}).max, "ratio", maxFlatness)
	r.AtLeast("storm.tree_over_image.n"+number(last), m.treeAtLast(tree)/imageLast, "ratio", minTreeOver)
	r.AtMost("storm.local.second.metadata", most(localSecond, metadata), "operations", maxSecond)
	for _, n := range m.size.nodes[:2] {
		real, replay := key{tree, n, true}, key{tree, n, false}
		ops := m.rows[real].spread(metadata).median / m.rows[replay].spread(metadata).median
		time := m.added(real).max / m.added(replay).max
		r.AtMost("storm.replay.operations.n"+number(n), 100*math.Abs(ops-1), "percent", maxDisagreeing)
		r.AtMost("storm.replay.time.n"+number(n), 100*math.Abs(time-1), "percent", maxDisagreeing)
	}
	r.Note("storm.image.attach.n1", 1000*m.rows[key{image, 1, false}].spread(attached).max, "ms")
	r.Note("storm.image_direct.bytes_ratio", most(imageDirect, read)/float64(m.touched), "ratio")
	const ms = 1000
	for _, c := range []struct {
		name    string
		seconds float64
	}{
		{"tree", m.treeAtLast(tree)}, {"pixi", m.treeAtLast(pixi)}, {"conda_pack", m.packAtLast()}, {"image", imageLast},
		{"local.first", m.added(key{localFirst, last, false}).max}, {"local.second", m.added(key{localSecond, last, false}).max},
	} {
		r.Note("storm."+c.name+".added.n"+number(last), ms*c.seconds, "ms")
	}
	return r.ExitCode()
}

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/hpcenv/hpcenv/contrib/bench/storm/chart"
)

func number(n int) string { return strconv.Itoa(n) }

// print is the table for people: of each node the least, the middle and the most.
func (m *measured) print(out io.Writer) {
	fmt.Fprintf(out, "\nper node: least / middle / most of the nodes; time beyond the same from the node's own disk\n")
	fmt.Fprintf(out, "slow: storage and clock go so many times as slowly, for nodes share the processors; times are in the slowed clock's seconds\n")
	fmt.Fprintf(out, "(all): the whole time; Python is compared with the replay by it, so slowly that the storage decides and not the processors\n")
	fmt.Fprintf(out, "%-22s %5s %5s %4s  %-20s %-22s %s\n", "", "nodes", "slow", "runs", "metadata operations", "MB read", "added ms")
	for _, k := range m.order {
		r := m.rows[k]
		name := string(k.contender)
		usually := k == usual(k.contender, k.nodes)
		switch {
		case k.real:
			name += ", Python"
		case !usually:
			name += ", replay"
		}
		const mb, ms = 1e-6, 1e3
		ops, bytes := r.spread(metadata), r.spread(read)
		var times spread
		if k.contender == floor || !usually {
			times = r.spread(wall)
			name += " (all)"
		} else {
			times = m.added(k)
		}
		fmt.Fprintf(out, "%-22s %5d %4dx %4d  %-20s %-22s %.0f / %.0f / %.0f\n", name, k.nodes, k.slowness, len(r),
			fmt.Sprintf("%.0f / %.0f / %.0f", ops.min, ops.median, ops.max),
			fmt.Sprintf("%.1f / %.1f / %.1f", bytes.min*mb, bytes.median*mb, bytes.max*mb), times.min*ms, times.median*ms, times.max*ms)
	}
	last := m.size.last()
	fmt.Fprintf(out, "%-22s %5d  extrapolated from %d and %d nodes: %.0f ms\n", tree, last, m.size.nodes[1], m.size.between, 1000*m.treeAtLast())
	fmt.Fprintf(out, "%-22s %5d  extrapolated as the tree, with the ratio of the two at %d nodes: %.0f ms\n", pixi, last, m.size.nodes[1], 1000*m.pixiAtLast())
	for _, n := range m.size.nodes[1:] {
		fmt.Fprintf(out, "%-22s %5d  reading with %d nodes, unpacking and starting with one: %.0f ms\n", pack, n, n, 1000*m.packAt(n))
	}
	for _, c := range []contender{image, localSecond} {
		fmt.Fprintf(out, "a node's operations on metadata, %s: %s\n", c, strings.Join(m.asked[c], ", "))
	}
	fmt.Fprintf(out, "compressed bytes of the image that a start touches: %.1f MB\n", float64(m.touched)/1e6)
}

// plot shows the added time over the nodes, in the terminal and as a PNG file.
func (m *measured) plot(out io.Writer, png string) (err error) {
	p := chart.Plot{Title: "seconds added to a start, over nodes", Unit: "s"}
	for _, c := range []contender{tree, pixi, pack, localFirst, image, localSecond} {
		s := chart.Series{Name: string(c)}
		for _, n := range append(append([]int{}, m.size.nodes...), m.size.between) {
			if k := usual(c, n); m.rows[k] != nil {
				s.Points = append(s.Points, chart.Point{X: float64(n), Y: m.added(k).max})
			}
		}
		switch c {
		case tree:
			s.Points = append(s.Points, chart.Point{X: float64(m.size.last()), Y: m.treeAtLast(), Guessed: true})
		case pixi:
			s.Points = append(s.Points, chart.Point{X: float64(m.size.last()), Y: m.pixiAtLast(), Guessed: true})
		case pack:
			for _, n := range m.size.nodes[1:] {
				s.Points = append(s.Points, chart.Point{X: float64(n), Y: m.packAt(n), Guessed: true})
			}
		}
		p.Series = append(p.Series, s)
	}
	p.Text(out)
	if png == "" {
		return nil
	}
	f, err := os.Create(png)
	if err != nil {
		return err
	}
	return errors.Join(p.PNG(f), f.Close())
}

// Package chart draws lines over logarithmic axes, as text and as a PNG image.
//
// Enters: a Plot. Leaves: its text form, or its image.
//
//	chart.go  the scale and the text form
//	png.go    the image
//	font.go   letters of the image
package chart

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// Plot is a chart.
type Plot struct {
	Title string
	// Unit of Y.
	Unit   string
	Series []Series
}

// Series is one line.
type Series struct {
	Name   string
	Points []Point
}

// Point of a line; X and Y are above 0, others are left out.
type Point struct {
	X, Y float64
	// Guessed points were not measured.
	Guessed bool
}

// sorted are the points that can be drawn, by X.
func (s Series) sorted() []Point {
	var out []Point
	for _, p := range s.Points {
		if p.X > 0 && p.Y > 0 && !math.IsInf(p.X, 0) && !math.IsInf(p.Y, 0) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b Point) int {
		if a.X < b.X {
			return -1
		} else if a.X > b.X {
			return 1
		}
		return 0
	})
	return out
}

// scale maps values to 0…1.
type scale struct{ xs, ys [2]float64 }

func (p *Plot) scale() scale {
	s := scale{[2]float64{math.Inf(1), 0}, [2]float64{math.Inf(1), 0}}
	for _, series := range p.Series {
		for _, q := range series.sorted() {
			s.xs = [2]float64{math.Min(s.xs[0], q.X), math.Max(s.xs[1], q.X)}
			s.ys = [2]float64{math.Min(s.ys[0], q.Y), math.Max(s.ys[1], q.Y)}
		}
	}
	if s.xs[1] == 0 { // nothing to draw
		return scale{[2]float64{1, 10}, [2]float64{1, 10}}
	}
	// Whole decades upwards, so that the axis has round numbers.
	s.ys[0], s.ys[1] = math.Pow(10, math.Floor(math.Log10(s.ys[0]))), math.Pow(10, math.Ceil(math.Log10(s.ys[1])))
	if s.ys[0] == s.ys[1] {
		s.ys[1] *= 10
	}
	if s.xs[0] == s.xs[1] {
		s.xs[1] *= 10
	}
	return s
}

func along(v float64, of [2]float64) float64 {
	return math.Log(v/of[0]) / math.Log(of[1]/of[0])
}

// decades are the powers of ten of the axis.
func (s scale) decades() []float64 {
	var out []float64
	for v := s.ys[0]; v <= s.ys[1]*1.001; v *= 10 {
		out = append(out, v)
	}
	return out
}

// columns are all X, each once.
func (p *Plot) columns() []float64 {
	var out []float64
	for _, s := range p.Series {
		for _, q := range s.sorted() {
			out = append(out, q.X)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

const textWidth, textHeight = 64, 20

// Text draws with letters: each series has one, in lower case where a point was
// not measured.
func (p *Plot) Text(w io.Writer) {
	s := p.scale()
	grid := make([][]byte, textHeight+1)
	for y := range grid {
		grid[y] = []byte(strings.Repeat(" ", textWidth+1))
	}
	at := func(q Point) (x, y int) {
		return int(math.Round(along(q.X, s.xs) * textWidth)), textHeight - int(math.Round(along(q.Y, s.ys)*textHeight))
	}
	for i, series := range p.Series {
		points := series.sorted()
		for k := 1; k < len(points); k++ {
			x0, y0 := at(points[k-1])
			x1, y1 := at(points[k])
			for x := x0 + 1; x < x1; x++ {
				y := y0 + int(math.Round(float64((y1-y0)*(x-x0))/float64(x1-x0)))
				if grid[y][x] == ' ' {
					grid[y][x] = '.'
				}
			}
		}
		for _, q := range points {
			x, y := at(q)
			if grid[y][x] = byte('A' + i); q.Guessed {
				grid[y][x] = byte('a' + i)
			}
		}
	}
	fmt.Fprintf(w, "\n%s\n", p.Title)
	labels := map[int]string{}
	for _, d := range s.decades() {
		_, y := at(Point{X: s.xs[0], Y: d})
		labels[y] = fmt.Sprintf("%g %s", d, p.Unit)
	}
	for y, line := range grid {
		fmt.Fprintf(w, "%10s |%s\n", labels[y], strings.TrimRight(string(line), " "))
	}
	axis := []byte(strings.Repeat(" ", textWidth+8))
	for _, x := range p.columns() {
		column, _ := at(Point{X: x, Y: s.ys[0]})
		copy(axis[column:], fmt.Sprintf("%g", x))
	}
	fmt.Fprintf(w, "%10s +%s\n%12s%s\n", "", strings.Repeat("-", textWidth+1), "", strings.TrimRight(string(axis), " "))
	for i, series := range p.Series {
		fmt.Fprintf(w, "%14c  %s\n", 'A'+i, series.Name)
	}
	fmt.Fprintf(w, "%16sa small letter was not measured at that size\n", "")
}

package chart

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
)

const (
	width, height = 900, 560
	left, right   = 90, 230 // margins; the names are on the right
	top, bottom   = 50, 60
)

var (
	ink  = color.RGBA{40, 40, 40, 255}
	grid = color.RGBA{222, 222, 222, 255}
	// colours can be told apart without red and green.
	colours = []color.RGBA{{213, 94, 0, 255}, {204, 121, 167, 255}, {230, 159, 0, 255}, {86, 180, 233, 255}, {0, 114, 178, 255}, {0, 158, 115, 255}}
)

// PNG draws an image. Lines to points that were not measured are dashed.
func (p *Plot) PNG(w io.Writer) error {
	s := p.scale()
	c := canvas{image.NewRGBA(image.Rect(0, 0, width, height))}
	for i := range c.Pix {
		c.Pix[i] = 255
	}
	at := func(q Point) (x, y float64) {
		return left + along(q.X, s.xs)*(width-left-right), height - bottom - along(q.Y, s.ys)*(height-top-bottom)
	}
	c.text(left, 18, p.Title, ink)
	for _, d := range s.decades() {
		x0, y := at(Point{X: s.xs[0], Y: d})
		x1, _ := at(Point{X: s.xs[1], Y: d})
		c.line(x0, y, x1, y, grid, 1, false)
		c.text(12, int(y)-5, fmt.Sprintf("%g %s", d, p.Unit), ink)
	}
	for _, v := range p.columns() {
		x, y := at(Point{X: v, Y: s.ys[0]})
		_, high := at(Point{X: v, Y: s.ys[1]})
		c.line(x, high, x, y, grid, 1, false)
		c.text(int(x)-5, height-bottom+12, fmt.Sprintf("%g", v), ink)
	}
	c.text(left, height-22, "nodes. dashed: not measured", ink)
	for i, series := range p.Series {
		colour := colours[i%len(colours)]
		points := series.sorted()
		for k, q := range points {
			x, y := at(q)
			c.dot(x, y, 4, colour)
			if k > 0 {
				x0, y0 := at(points[k-1])
				c.line(x0, y0, x, y, colour, 2, q.Guessed)
			}
		}
		y := top + i*24
		c.dot(width-right+24, float64(y)+5, 5, colour)
		c.text(width-right+38, y, series.Name, ink)
	}
	return png.Encode(w, c)
}

type canvas struct{ *image.RGBA }

func (c canvas) dot(x, y, radius float64, colour color.RGBA) {
	c.SetRGBA(int(x), int(y), colour)
	for dy := -radius; dy <= radius; dy++ {
		for dx := -radius; dx <= radius; dx++ {
			if dx*dx+dy*dy <= radius*radius {
				c.SetRGBA(int(x+dx), int(y+dy), colour)
			}
		}
	}
}

func (c canvas) line(x0, y0, x1, y1 float64, colour color.RGBA, thick float64, dashed bool) {
	length := math.Hypot(x1-x0, y1-y0)
	for d := 0.0; d <= length; d += 0.5 {
		if dashed && int(d)%12 >= 7 {
			continue
		}
		c.dot(x0+(x1-x0)*d/length, y0+(y1-y0)*d/length, thick/2, colour)
	}
}

// text writes with its upper left corner at x, y.
func (c canvas) text(x, y int, text string, colour color.RGBA) {
	const pixel = 2
	for _, r := range text {
		for row, bits := range glyph(r) {
			for column := range 3 {
				if bits>>(2-column)&1 == 0 {
					continue
				}
				for i := range pixel * pixel {
					c.SetRGBA(x+column*pixel+i%pixel, y+row*pixel+i/pixel, colour)
				}
			}
		}
		x += 4 * pixel
	}
}

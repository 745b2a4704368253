package chart

import (
	"bytes"
	"image/color"
	"image/png"
	"math"
	"strings"
	"testing"
)

func plot() *Plot {
	return &Plot{Title: "seconds over nodes", Unit: "s", Series: []Series{
		{Name: "tree", Points: []Point{{X: 8, Y: 20}, {X: 1, Y: 3}, {X: 64, Y: 160, Guessed: true}}},
		{Name: "image", Points: []Point{{X: 1, Y: 0.1}, {X: 8, Y: 0.1}, {X: 64, Y: 0.11}, {X: 2, Y: -1}, {X: 3, Y: math.NaN()}}},
	}}
}

func TestText(t *testing.T) {
	var b bytes.Buffer
	plot().Text(&b)
	lines := strings.Split(b.String(), "\n")
	row := func(what string) int {
		for i, l := range lines {
			if _, drawn, ok := strings.Cut(l, "|"); ok && strings.Contains(drawn, what) {
				return i
			}
		}
		t.Fatalf("%q is not drawn in\n%s", what, b.String())
		return 0
	}
	if a, g, i := row("A"), row("a"), row("B"); g >= a || a >= i {
		t.Errorf("the tree is not above the image, or does not rise:\n%s", b.String())
	}
	for _, want := range []string{"seconds over nodes", "1000 s", "0.1 s", "A  tree", "B  image", "64"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
}

func TestPNG(t *testing.T) {
	var b bytes.Buffer
	if err := plot().PNG(&b); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	drawn := map[[3]uint32]int{}
	for y := range height {
		for x := range width - right + 20 { // without the names
			r, g, b, _ := img.At(x, y).RGBA()
			drawn[[3]uint32{r >> 8, g >> 8, b >> 8}]++
		}
	}
	for i, c := range []color.RGBA{colours[0], colours[1], grid} {
		if drawn[[3]uint32{uint32(c.R), uint32(c.G), uint32(c.B)}] < 300 {
			t.Errorf("series %d (2: the grid) is hardly there", i)
		}
	}
}

// TestNothingToDraw: a plot without points has axes.
func TestNothingToDraw(t *testing.T) {
	p := &Plot{Title: "t", Series: []Series{{Name: "none"}}}
	var text, image bytes.Buffer
	p.Text(&text)
	if err := p.PNG(&image); err != nil || !strings.Contains(text.String(), "none") || image.Len() == 0 {
		t.Errorf("%v:\n%s", err, text.String())
	}
}

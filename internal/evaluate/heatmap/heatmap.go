// Package heatmap draws matrices of counts, such as a confusion matrix, as PNG and SVG. The picture is laid out once, as
// rectangles and lines of text, and both writers draw these.
package heatmap

import (
	"fmt"
	"image/color"
)

// A Matrix is what is drawn: rows are true classes, columns predicted ones.
type Matrix struct {
	Title   string
	Classes []string // names, one for each row and column
	At      func(row, column int) int
}

// rect is filled; text stands with its baseline at (x, y), or goes upwards from there.
type (
	rect struct {
		x, y, w, h int
		fill       color.NRGBA
	}
	text struct {
		x, y   int
		size   float64
		align  align
		up     bool
		fill   color.NRGBA
		string string
	}
	align int
)

const (
	begin align = iota
	middle
	end
)

// drawing is a picture in pixels.
type drawing struct {
	w, h  int
	rects []rect
	texts []text
}

var (
	ink   = color.NRGBA{0x22, 0x22, 0x22, 255}
	paper = color.NRGBA{255, 255, 255, 255}
	edge  = color.NRGBA{0xbb, 0xbb, 0xbb, 255}
)

// shades are the ends and the middle of the colours of shares, of one hue that gets darker: readable in grey, too.
var shades = []color.NRGBA{{0xf7, 0xfb, 0xff, 255}, {0x6b, 0xae, 0xd6, 255}, {0x08, 0x30, 0x6b, 255}}

func shade(share float64) color.NRGBA {
	at := max(0, min(1, share)) * float64(len(shades)-1)
	i := min(int(at), len(shades)-2)
	mix := func(a, b uint8) uint8 { return uint8(float64(a) + (at-float64(i))*(float64(b)-float64(a)) + 0.5) }
	a, b := shades[i], shades[i+1]
	return color.NRGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 255}
}

// Sizes in pixels.
const (
	side     = 720 // of the matrix, about
	margin   = 16
	smallest = 9.0  // font that can be read
	most     = 30   // characters of a name
	bar      = 14   // of the legend
	aspect   = 0.56 // width of a character by its height
)

// lay places everything. Names and counts are left out where they cannot be read.
func (m *Matrix) lay() *drawing {
	n := max(1, len(m.Classes))
	cell := max(1, min(48, side/n))
	font := min(13, float64(cell)*0.62)
	named := font >= smallest
	names := 0
	if named {
		for _, c := range m.Classes {
			names = max(names, int(aspect*font*float64(len([]rune(cut(c))))+8))
		}
	}
	left, top := margin+22+names, margin+44
	d := &drawing{w: left + n*cell + 3*margin + bar + 36, h: top + n*cell + names + 30 + margin}
	d.rects = append(d.rects, rect{0, 0, d.w, d.h, paper}, rect{left - 1, top - 1, n*cell + 2, n*cell + 2, edge}, rect{left, top, n * cell, n * cell, shade(0)})
	d.texts = append(d.texts, text{margin, margin + 14, 15, begin, false, ink, m.Title})
	for i, name := range m.Classes {
		if named {
			base := i*cell + cell/2 + int(font/3)
			d.texts = append(d.texts, text{left - 6, top + base, font, end, false, ink, cut(name)}, text{left + base, top + n*cell + 6, font, end, true, ink, cut(name)})
		}
		m.row(d, i, left, top, cell)
	}
	d.texts = append(d.texts,
		text{left + n*cell/2, d.h - margin, 13, middle, false, ink, "predicted"},
		text{margin + 10, top + n*cell/2, 13, middle, true, ink, "true class"})
	d.legend(left+n*cell+margin, top, n*cell)
	return d
}

// row draws the cells of a class that count something, shaded by their share of its samples.
func (m *Matrix) row(d *drawing, i, left, top, cell int) {
	total := 0
	for j := range m.Classes {
		total += m.At(i, j)
	}
	gap := 0
	if cell > 6 {
		gap = 1
		d.rects = append(d.rects, rect{left, top + (i+1)*cell - 1, len(m.Classes) * cell, 1, edge}, rect{left + (i+1)*cell - 1, top, 1, len(m.Classes) * cell, edge})
	}
	for j := range m.Classes {
		count := m.At(i, j)
		if count == 0 {
			continue
		}
		share := float64(count) / float64(total)
		x, y := left+j*cell, top+i*cell
		d.rects = append(d.rects, rect{x, y, cell - gap, cell - gap, shade(share)})
		number := fmt.Sprint(count)
		font := min(12, float64(cell-2)/(aspect*float64(len(number))+0.3))
		if font < smallest || cell < 13 {
			continue
		}
		fill := ink
		if share > 0.55 {
			fill = paper
		}
		d.texts = append(d.texts, text{x + cell/2, y + cell/2 + int(font/3), font, middle, false, fill, number})
	}
}

// legend is a bar of the shades from all of a class's samples to none.
func (d *drawing) legend(x, y, h int) {
	h = max(60, min(h, 240))
	for i := range h {
		d.rects = append(d.rects, rect{x, y + i, bar, 1, shade(1 - float64(i)/float64(h-1))})
	}
	d.texts = append(d.texts, text{x + bar + 4, y + 9, 11, begin, false, ink, "100 %"}, text{x + bar + 4, y + h, 11, begin, false, ink, "0 %"})
	d.h = max(d.h, y+h+margin)
	d.rects[0].h = d.h
}

func cut(name string) string {
	if r := []rune(name); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return name
}

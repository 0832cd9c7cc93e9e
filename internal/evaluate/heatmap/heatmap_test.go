package heatmap

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"slices"
	"strings"
	"testing"
)

// matrix has most samples on the diagonal and some beside it.
func matrix(n int) *Matrix {
	m := &Matrix{Title: fmt.Sprintf("Confusion matrix of %d <classes>", n), At: func(i, j int) int {
		switch {
		case i == j:
			return 10 + i%7
		case (i*7+j*3)%n < 2:
			return 1 + (i+j)%3
		}
		return 0
	}}
	for i := range n {
		m.Classes = append(m.Classes, strings.Repeat("class & ", 1+i%4)+fmt.Sprint(i))
	}
	return m
}

// Every size gives a picture and a document that can be read, of the same size, and not larger than a screen or two.
func TestWriters(t *testing.T) {
	for _, n := range []int{0, 1, 2, 10, 37, 100, 1000} {
		m := matrix(max(n, 1))
		m.Classes = m.Classes[:n]
		var p, s bytes.Buffer
		if err := m.PNG(&p); err != nil {
			t.Fatal(err)
		}
		if err := m.SVG(&s); err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(&p)
		if err != nil {
			t.Fatal(err)
		}
		var head struct {
			W int `xml:"width,attr"`
			H int `xml:"height,attr"`
		}
		text := s.String()
		if err := xml.Unmarshal([]byte(text), &head); err != nil {
			t.Fatal(err)
		}
		if b := img.Bounds(); b.Dx() != head.W || b.Dy() != head.H || head.W > 1500 || head.H > 1500 {
			t.Errorf("%d classes: %v and %+v", n, b, head)
		}
		for d := xml.NewDecoder(strings.NewReader(text)); ; {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// The colour of a cell is that of its share of the row.
func TestShades(t *testing.T) {
	m := &Matrix{Classes: []string{"a", "b"}, At: func(i, j int) int { return []int{3, 1, 0, 0}[2*i+j] }}
	var cells []color.NRGBA
	for _, r := range m.lay().rects {
		if r.w == r.h && r.w == 47 { // without the line around it
			cells = append(cells, r.fill)
		}
	}
	if want := []color.NRGBA{shade(0.75), shade(0.25)}; !slices.Equal(cells, want) {
		t.Errorf("cells are %v, want %v", cells, want)
	}
	if shade(0) != shades[0] || shade(1) != shades[2] || shade(0.5) != shades[1] || shade(0.25) != (color.NRGBA{0xb1, 0xd5, 0xeb, 255}) {
		t.Errorf("%v %v %v %v", shade(0), shade(0.25), shade(0.5), shade(1))
	}
}

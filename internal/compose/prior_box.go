package compose

import (
	"math"

	"lathe/internal/graph"
	"lathe/internal/types"
)

// PriorBoxes are anchors at each place of a map (Liu et al., SSD, 2015): each least size gives a square, one of the geometric mean with its greatest
// size where there are any, and with each aspect ratio but 1 a box of the square's area.
type PriorBoxes struct {
	Height, Width int // of the map
	Picture       [2]int
	Least, Most   []float64
	Ratios        []float64
	Flip          bool       // with each ratio comes its inverse
	Steps         [2]float64 // between places, vertically and horizontally; 0 is as many as there are pixels to a place
	Offset        float64    // of the first place, in steps
	Clip          bool       // to the picture
	MeansLast     bool       // squares of means come behind those of other ratios
}

// Priors are corners in units of the picture, [height, width, anchors, 4].
func (b *Builder) Priors(p PriorBoxes) *graph.Value {
	ratios := []float64{1}
	for _, r := range p.Ratios {
		seen := false
		for _, old := range ratios {
			seen = seen || math.Abs(old-r) < 1e-6
		}
		if seen {
			continue
		}
		if !(r > 0) {
			Fail("an aspect ratio of %v", r)
		}
		if ratios = append(ratios, r); p.Flip {
			ratios = append(ratios, 1/r)
		}
	}
	if len(p.Least) == 0 || len(p.Most) > 0 && len(p.Most) != len(p.Least) {
		Fail("sizes %v to %v", p.Least, p.Most)
	}
	if p.Picture[0] < 1 || p.Picture[1] < 1 {
		Fail("a picture of %d x %d", p.Picture[1], p.Picture[0])
	}
	for k, n := range []int{p.Height, p.Width} {
		if p.Steps[k] == 0 {
			p.Steps[k] = float64(p.Picture[k]) / float64(n)
		}
	}
	var sizes [][2]float64 // width and height of the anchors of a place
	for k, size := range p.Least {
		square := [][2]float64{{size, size}}
		var means, others [][2]float64
		if len(p.Most) > 0 {
			mean := math.Sqrt(size * p.Most[k])
			means = [][2]float64{{mean, mean}}
		}
		for _, r := range ratios[1:] {
			others = append(others, [2]float64{size * math.Sqrt(r), size / math.Sqrt(r)})
		}
		if p.MeansLast {
			means, others = others, means
		}
		sizes = append(append(append(sizes, square...), means...), others...)
	}
	t := b.Zeros(types.F32, p.Height, p.Width, len(sizes), 4)
	i := 0
	for row := range p.Height {
		for column := range p.Width {
			x, y := (float64(column)+p.Offset)*p.Steps[1], (float64(row)+p.Offset)*p.Steps[0]
			for _, s := range sizes {
				for k, v := range []float64{x - s[0]/2, y - s[1]/2, x + s[0]/2, y + s[1]/2} {
					v /= float64(p.Picture[1-k%2])
					if p.Clip {
						v = max(0, min(v, 1))
					}
					t.SetFloat(i, v)
					i++
				}
			}
		}
	}
	return Const(t)
}

package compose

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/tensor"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-4*max(1, math.Abs(want))) {
		t.Fatalf("%s is %v instead of %v", what, got, want)
	}
}

// Bins of regions, one of them beyond the map and one without extent, by their definition.
func TestPSRoiPool(t *testing.T) {
	const batch, channels, bins, h, w, scale = 2, 3, 2, 5, 6, 0.5
	r := rand.New(rand.NewPCG(3, 4))
	x := random(r, batch, channels*bins*bins, h, w)
	rois := tensor.Of([]int{4, 5}, []float32{0, 1, 0, 7, 5, 1, 2.5, 3, 11, 9, 1, 20, 20, 30, 30, 0, 4, 4, 3, 3})
	got := evaluated(t, func(b *Builder, in []*graph.Value) []*graph.Value {
		return []*graph.Value{b.PSRoiPool(b.RoundedRegions(in[1], scale, bins), in[0])}
	}, x, rois)[0]
	for n := range 4 {
		var start, step [2]float64
		for k := range 2 {
			start[k] = math.Round(at(rois, n, 2-k)) * scale
			step[k] = max((math.Round(at(rois, n, 4-k))+1)*scale-start[k], 0.1) / bins
		}
		for c := range channels {
			for i := range bins {
				for j := range bins {
					sum, count := 0.0, 0
					for y := range h {
						for xx := range w {
							in := true
							for k, v := range []struct{ at, bin int }{{y, i}, {xx, j}} {
								in = in && float64(v.at) >= math.Floor(float64(v.bin)*step[k]+start[k]) && float64(v.at) < math.Ceil(float64(v.bin+1)*step[k]+start[k])
							}
							if in {
								sum, count = sum+at(x, int(at(rois, n, 0)), (c*bins+i)*bins+j, y, xx), count+1
							}
						}
					}
					near(t, fmt.Sprint("bin ", n, c, i, j), at(got, n, c, i, j), sum/float64(max(count, 1)))
				}
			}
		}
	}
}

func TestCorrelate(t *testing.T) {
	for _, c := range []Correlation{{Kernel: 1, Displacement: 2, Strides: [2]int{1, 1}, Padding: 2}, {Kernel: 3, Displacement: 3, Strides: [2]int{2, 2}, Padding: 3, Differences: true}, {Kernel: 1, Displacement: 0, Strides: [2]int{2, 1}}} {
		const batch, channels, h, w = 2, 3, 6, 7
		r := rand.New(rand.NewPCG(5, 6))
		x, y := random(r, batch, channels, h, w), random(r, batch, channels, h, w)
		got := evaluated(t, func(b *Builder, in []*graph.Value) []*graph.Value {
			return []*graph.Value{b.Correlate(c, in[0], in[1])}
		}, x, y)[0]
		width := c.Displacement/c.Strides[1]*2 + 1
		border := c.Displacement + (c.Kernel-1)/2
		out := func(n int) int { return (n + 2*c.Padding - 2*border + c.Strides[0] - 1) / c.Strides[0] }
		if want := []int{batch, width * width, out(h), out(w)}; !slices.Equal(got.Shape, want) {
			t.Fatalf("%v: %v instead of %v", c, got.Shape, want)
		}
		padded := func(v *tensor.Tensor, n, k, i, j int) float64 {
			if i -= c.Padding; i < 0 || i >= h {
				return 0
			}
			if j -= c.Padding; j < 0 || j >= w {
				return 0
			}
			return at(v, n, k, i, j)
		}
		for n := range batch {
			for move := range width * width {
				for i := range out(h) {
					for j := range out(w) {
						dy, dx := (move/width-width/2)*c.Strides[1], (move%width-width/2)*c.Strides[1]
						sum := 0.0
						for e := range channels * c.Kernel * c.Kernel {
							k, p, q := e/(c.Kernel*c.Kernel), i*c.Strides[0]+c.Displacement+e/c.Kernel%c.Kernel, j*c.Strides[0]+c.Displacement+e%c.Kernel
							a, b := padded(x, n, k, p, q), padded(y, n, k, p+dy, q+dx)
							if c.Differences {
								sum += math.Abs(a - b)
							} else {
								sum += a * b
							}
						}
						near(t, fmt.Sprint(c, n, move, i, j), at(got, n, move, i, j), sum/float64(channels*c.Kernel*c.Kernel))
					}
				}
			}
		}
	}
}

// Proposals by the steps of their papers' programs.
func TestPropose(t *testing.T) {
	shapes := [][2]float64{{8, 8}, {16, 6}}
	const stride, h, w, keep = 4, 4, 5, 7
	n := h * w * len(shapes)
	for _, p := range []Proposals{{Within: true, Low: true, Least: 6, Top: 30, Keep: keep, Overlap: 0.3}, {Least: 6, Keep: 30, Overlap: 0.3}} {
		r := rand.New(rand.NewPCG(7, 8))
		scores, offsets, info := random(r, 1, len(shapes), h, w), random(r, 1, 4*len(shapes), h, w), tensor.Of([]int{1, 3}, []float32{14, 18, 1.5})
		p.Anchors, p.Stride = Anchors(stride, shapes), stride
		got := evaluated(t, func(b *Builder, in []*graph.Value) []*graph.Value {
			p.Scores, p.Offsets, p.Picture = in[0], in[1], in[2]
			boxes, scores := b.Propose(p)
			return []*graph.Value{boxes, scores}
		}, scores, offsets, info)

		type region struct {
			box   [4]float64
			score float64
		}
		var list []region
		for i := range n {
			a, x, y := i%len(shapes), i/len(shapes)%w, i/len(shapes)/w
			d := func(k int) float64 { return at(offsets, 0, 4*a+k, y, x) }
			one := 0.0
			if p.Within {
				one = 1
			}
			g := region{score: at(scores, 0, a, y, x)}
			for k, place := range []int{x, y} {
				size, center := shapes[a][k], float64(place*stride)+float64(stride-1)/2
				center = center - (size-1)/2 + (size-one)/2
				center, size = center+d(k)*size, size*math.Exp(d(2+k))
				limit := at(info, 0, 1-k) - 1
				g.box[k], g.box[2+k] = min(max(center-(size-one)/2, 0), limit), min(max(center+(size-one)/2, 0), limit)
			}
			least := p.Least * 1.5
			small := g.box[2]-g.box[0]+1 < least || g.box[3]-g.box[1]+1 < least
			if p.Low {
				if small {
					for k := range 4 {
						g.box[k] += least / 2 * float64(k/2*2-1)
					}
				}
				if small || y >= 14/stride || x >= 18/stride {
					g.score = -1
				}
			} else if small {
				continue
			}
			list = append(list, g)
		}
		slices.SortStableFunc(list, func(a, b region) int {
			if a.score > b.score {
				return -1
			} else if a.score < b.score {
				return 1
			}
			return 0
		})
		if p.Top > 0 {
			list = list[:p.Top]
		}
		var kept []region
		for _, g := range list {
			clear := true
			for _, k := range kept {
				iw, ih := min(g.box[2], k.box[2])-max(g.box[0], k.box[0])+1, min(g.box[3], k.box[3])-max(g.box[1], k.box[1])+1
				area := func(b [4]float64) float64 { return (b[2] - b[0] + 1) * (b[3] - b[1] + 1) }
				both := max(iw, 0) * max(ih, 0)
				clear = clear && both/(area(g.box)+area(k.box)-both) <= p.Overlap
			}
			if clear && len(kept) < p.Keep {
				kept = append(kept, g)
			}
		}
		if !p.Low && len(kept) >= p.Keep {
			t.Fatal("nothing is repeated")
		}
		for i := range p.Keep {
			want := kept[i%len(kept)]
			near(t, "score", at(got[1], i, 0), want.score)
			for k, v := range want.box {
				near(t, fmt.Sprint("corner ", i, k), at(got[0], i, k), v)
			}
		}
	}
}

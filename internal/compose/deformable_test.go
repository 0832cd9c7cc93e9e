package compose

import (
	"math"
	"math/rand/v2"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// random are values from -1 to 1.
func random(r *rand.Rand, shape ...int) *tensor.Tensor {
	t := tensor.New(types.F32, shape...)
	for i := range t.Len() {
		t.SetFloat(i, 2*r.Float64()-1)
	}
	return t
}

// evaluated are the results of a composition.
func evaluated(t *testing.T, f func(b *Builder, in []*graph.Value) []*graph.Value, data ...*tensor.Tensor) []*tensor.Tensor {
	t.Helper()
	b := NewBuilder("test")
	var in []*graph.Value
	for _, v := range data {
		in = append(in, b.Graph.Input("", v.Type()))
	}
	if err := Try(func() { b.Graph.Outputs = f(b, in) }); err != nil {
		t.Fatal(err)
	}
	out, err := grapheval.Eval(b.Graph, data)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// at is an element.
func at(x *tensor.Tensor, place ...int) float64 {
	i := 0
	for k, p := range place {
		i = i*x.Shape[k] + p
	}
	return x.Float(i)
}

// A deformable convolution is its definition, tap by tap, in float64.
func TestDeformable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, edges := range []bool{false, true} {
		const batch, parts, groups, out, h, w = 2, 2, 2, 4, 5, 6
		const channels, kh, kw = 4, 3, 2
		win := Window{In: []int{h, w}, Kernel: []int{kh, kw}, Strides: []int{1, 2}, Dilation: []int{2, 1}, Padding: []int{2, 1, 1, 0}}
		oh, ow := (h+2+1-5)/1+1, (w+1-2)/2+1
		x, kernel, bias := random(r, batch, channels, h, w), random(r, out, channels/groups, kh, kw), random(r, out)
		offset, mask := random(r, batch, parts*kh*kw*2, oh, ow), random(r, batch, parts*kh*kw, oh, ow)
		for i := range offset.Len() {
			offset.SetFloat(i, 2*offset.Float(i)) // some leave the data
		}
		offset.SetFloat(0, 1) // and some meet an element
		offset.SetFloat(oh*ow, 0)

		got := evaluated(t, func(b *Builder, in []*graph.Value) []*graph.Value {
			d := Deformable{Window: win, Groups: groups, Offset: in[3], Mask: in[4], Edges: edges}
			return []*graph.Value{b.DeformableConv(d, in[0], in[1], in[2])}
		}, x, kernel, bias, offset, mask)
		sample := func(n, c int, y, x64 float64) (sum float64) {
			if edges && (y < 0 || x64 < 0 || y >= h || x64 >= w) {
				return 0
			}
			y0, x0 := math.Floor(y), math.Floor(x64)
			for _, p := range [][3]float64{{y0, x0, (1 - y + y0) * (1 - x64 + x0)}, {y0, x0 + 1, (1 - y + y0) * (x64 - x0)}, {y0 + 1, x0, (y - y0) * (1 - x64 + x0)}, {y0 + 1, x0 + 1, (y - y0) * (x64 - x0)}} {
				if edges {
					p[0], p[1] = min(p[0], h-1), min(p[1], w-1)
				}
				if p[0] >= 0 && p[1] >= 0 && p[0] < h && p[1] < w {
					sum += p[2] * at(x, n, c, int(p[0]), int(p[1]))
				}
			}
			return sum
		}
		for n := range batch {
			for o := range out {
				for i := range oh {
					for j := range ow {
						want := bias.Float(o)
						for c := range channels / groups {
							channel := o/(out/groups)*(channels/groups) + c
							part := channel / (channels / parts)
							for tap := range kh * kw {
								k := part*kh*kw + tap
								y := float64(i-2+tap/kw*2) + at(offset, n, 2*k, i, j)
								x := float64(j*2-1+tap%kw) + at(offset, n, 2*k+1, i, j)
								want += at(kernel, o, c, tap/kw, tap%kw) * at(mask, n, k, i, j) * sample(n, channel, y, x)
							}
						}
						if g := at(got[0], n, o, i, j); math.Abs(g-want) > 1e-5 {
							t.Fatalf("edges %v: element %d %d %d %d is %v instead of %v", edges, n, o, i, j, g, want)
						}
					}
				}
			}
		}
	}
}

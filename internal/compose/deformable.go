package compose

import (
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// A Deformable is a convolution over two axes each tap of which reads where an offset moves it, between four elements (Dai et al., Deformable
// Convolutional Networks, 2017; with a mask, Zhu et al., 2018).
type Deformable struct {
	Window
	Groups int
	Offset *graph.Value // [batch, groups of offsets, taps, (y, x), height, width] of the result, with the axes from 1 to 3 in one
	Mask   *graph.Value // factors of taps [batch, groups of offsets * taps, height, width], or nil
	Edges  bool         // taps between the last element and the end of an axis read the last element, those beyond an end 0 (MXNet); else all fade out around the data
}

// DeformableConv is a deformable convolution of data [batch, channels, height, width] by a kernel [out, channels/groups, ...], with a bias [out] or nil.
func (b *Builder) DeformableConv(d Deformable, x, kernel, bias *graph.Value) *graph.Value {
	taps := types.Count(d.Kernel)
	if x.Type.Rank() != 4 || kernel.Type.Rank() != 4 || d.Offset.Type.Rank() != 4 || taps < 1 || d.Offset.Type.Shape[1]%(2*taps) != 0 {
		Fail("data %s, kernel %s and offsets %s of a deformable convolution", x.Type, kernel.Type, d.Offset.Type)
	}
	s, o := x.Type.Shape, d.Offset.Type.Shape
	parts, height, width := o[1]/(2*taps), o[2], o[3]
	if o[0] != s[0] || parts < 1 || s[1]%parts != 0 || height != d.outputs(0) || width != d.outputs(1) {
		Fail("offsets %s for data %s and a result of %d x %d", d.Offset.Type, x.Type, d.outputs(0), d.outputs(1))
	}
	offset := b.Reshape(d.Offset, s[0]*parts, taps, 2, height, width)
	var at [2]*graph.Value // [batch*parts, points]
	for k := range at {
		at[k] = b.Reshape(b.Do(ops.Add, b.At(offset, 2, k), Const(d.places(b, k, height, width))), s[0]*parts, taps*height*width)
	}
	y := b.Sampled(b.Reshape(x, s[0]*parts, s[1]/parts, s[2], s[3]), at, d.Edges)
	if d.Edges {
		var inside *graph.Value
		for k, p := range at {
			in := b.Do(ops.LogicalAnd, b.Do(ops.GreaterEqual, p, Like(p, 0)), b.Do(ops.Less, p, Like(p, float64(s[2+k]))))
			if inside == nil {
				inside = in
			} else {
				inside = b.Do(ops.LogicalAnd, inside, in)
			}
		}
		y = b.Do(ops.Where, b.ExpandDims(inside, 2), y, Like(y, 0))
	}
	if d.Mask != nil {
		y = b.Do(ops.Multiply, y, b.Reshape(d.Mask, s[0]*parts, taps*height*width, 1))
	}
	y = b.Transpose(b.Reshape(y, s[0], parts, taps, height*width, s[1]/parts), 0, 1, 4, 2, 3)
	// What the taps read are channels of a convolution of single elements.
	k := kernel.Type.Shape
	one := Window{In: []int{height, width}, Kernel: []int{1, 1}, Strides: []int{1, 1}, Dilation: []int{1, 1}, Padding: make([]int, 4)}
	return b.Conv(one, d.Groups, b.Reshape(y, s[0], s[1]*taps, height, width), b.Reshape(kernel, k[0], k[1]*taps, 1, 1), bias)
}

// Sampled reads x [batch, channels, height, width] at points [batch, n] of y and of x, in units of elements, with bilinear weights: [batch, n, channels].
// Elements beyond an end of an axis are 0, or with edges the last ones.
func (b *Builder) Sampled(x *graph.Value, at [2]*graph.Value, edges bool) *graph.Value {
	s := x.Type.Shape
	flat := b.Transpose(b.Reshape(x, s[0], s[1], s[2]*s[3]), 0, 2, 1)
	var place, weight [2][2]*graph.Value // of the elements before and behind the points along each axis
	for k, p := range at {
		low := b.Do(ops.Floor, p)
		part := b.Do(ops.Subtract, p, low)
		last := float64(s[2+k] - 1)
		for i, w := range []*graph.Value{b.Do(ops.Subtract, Like(part, 1), part), part} {
			v := b.Do(ops.Add, low, Like(low, float64(i)))
			clamped := b.Clipped(v, 0, last)
			if !edges {
				w = b.Do(ops.Where, b.Do(ops.Equal, v, clamped), w, Like(w, 0))
			}
			place[k][i], weight[k][i] = b.Cast(clamped, types.I64), w
		}
	}
	var sum *graph.Value
	for i := range 4 {
		at := b.Do(ops.Add, b.Do(ops.Multiply, place[0][i/2], Number(types.I64, float64(s[3]))), place[1][i%2])
		v := b.Apply(ops.GatherND, ops.GatherNDAttrs{BatchDims: 1}, flat, b.ExpandDims(at, 2))
		v = b.Do(ops.Multiply, v, b.ExpandDims(b.Do(ops.Multiply, weight[0][i/2], weight[1][i%2]), 2))
		if sum == nil {
			sum = v
		} else {
			sum = b.Do(ops.Add, sum, v)
		}
	}
	return sum
}

// outputs is how many windows there are along a spatial axis.
func (w Window) outputs(k int) int {
	if w.Strides[k] < 1 || w.Dilation[k] < 1 {
		Fail("strides %v and dilations %v", w.Strides, w.Dilation)
	}
	return (w.In[k]+w.Padding[k]+w.Padding[len(w.In)+k]-w.span(k))/w.Strides[k] + 1
}

// places are where the taps of each window lie along spatial axis k of two, before they move: [taps, height, width].
func (d Deformable) places(b *Builder, k, height, width int) *tensor.Tensor {
	t := b.Zeros(types.F32, types.Count(d.Kernel), height, width)
	for i := range t.Len() {
		tap, window := []int{i / (height * width) / d.Kernel[1], i / (height * width) % d.Kernel[1]}, []int{i / width % height, i % width}
		t.SetFloat(i, float64(window[k]*d.Strides[k]-d.Padding[k]+tap[k]*d.Dilation[k]))
	}
	return t
}

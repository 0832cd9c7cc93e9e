package pass

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
)

// weight is the weights [C, O/groups, kernel...] as those of ordinary convolutions, by arrange, which gets what stands for
// 0 in them. Integers that are dequantized are arranged as integers, so that later passes find them.
func (d *transposedConv) weight(places, fill int, arrange func(w *graph.Value, zero float64) *graph.Value) *graph.Value {
	if !d.quantised() {
		return arrange(d.n.In[1], 0)
	}
	q := d.n.In[1].Def
	in := []*graph.Value{arrange(q.In[0], zeroOf(q).Value().Float(0))}
	for _, v := range q.In[1:] {
		if t := constant(v); t.Len() > 1 {
			in = append(in, graph.NewConst(v.Name, repeatedChannels(t, t.Len(), places, d.groups*places*t.Len()+fill)))
		} else {
			in = append(in, graph.NewConst(v.Name, t))
		}
	}
	return d.Apply(ops.Dequantize, ops.DequantizeAttrs{Axis: 0}, in...)
}

// quantised reports whether the weights are dequantized constants, with scales for each output channel at most and one zero point.
func (d *transposedConv) quantised() bool {
	q, scales, ok := dequantized(d.n.In[1])
	if !ok || zeroOf(q) == nil || constant(q.In[0]) == nil {
		return false
	}
	a, zero := q.Attrs.(ops.DequantizeAttrs), zeroOf(q).Value()
	for i := range zero.Len() {
		if zero.Int(i) != zero.Int(0) {
			return false
		}
	}
	return a.BlockSize == 0 && (len(scales) == 1 || a.Axis == 1)
}

// jointWeight has the taps of all phases as channels [group, phase, channel of the group].
func (d *transposedConv) jointWeight(w *graph.Value, c phaseConv, zero float64) *graph.Value {
	s := w.Type.Shape
	in, out := s[0]/d.groups, s[1]
	pad := ops.PadAttrs{PadBefore: make([]int, 2+d.rank), PadAfter: make([]int, 2+d.rank), Mode: "constant", Value: zero}
	parts, axes, flipped := []int{d.groups, in, out}, []int{0}, []int{}
	shape := []int{d.groups * out, in}
	for k, p := range c {
		pad.PadBefore[2+k], pad.PadAfter[2+k] = p.shift, p.taps*p.phases-s[2+k]-p.shift
		parts = append(parts, p.taps, p.phases)
		axes, flipped = append(axes, 4+2*k), append(flipped, 3+2*k)
		shape[0] *= p.phases
		shape = append(shape, p.taps)
	}
	if slices.Max(pad.PadBefore) > 0 || slices.Max(pad.PadAfter) > 0 {
		w = d.Apply(ops.Pad, pad, w)
	}
	axes = slices.Concat(axes, []int{2, 1}, flipped)
	w = d.Apply(ops.Reverse, ops.ReverseAttrs{Axes: flipped}, d.reshape(w, parts))
	return d.reshape(d.Apply(ops.Transpose, ops.TransposeAttrs{Axes: axes}, w), shape)
}

// phaseWeight has the taps of one phase.
func (d *transposedConv) phaseWeight(w *graph.Value, c phaseConv) *graph.Value {
	s := w.Type.Shape
	a := ops.StridedSliceAttrs{Begin: []int{0, 0}, End: slices.Clone(s[:2]), Strides: []int{1, 1}}
	parts, axes, shape := []int{d.groups, s[0] / d.groups, s[1]}, []int{0, 2, 1}, []int{d.groups * s[1], s[0] / d.groups}
	for k, p := range c {
		a.Begin, a.End, a.Strides = append(a.Begin, p.first+(p.taps-1)*p.step), append(a.End, p.first-1), append(a.Strides, -p.step)
		parts, axes, shape = append(parts, p.taps), append(axes, 3+k), append(shape, p.taps)
	}
	w = d.reshape(d.Apply(ops.StridedSlice, a, w), parts)
	return d.reshape(d.Apply(ops.Transpose, ops.TransposeAttrs{Axes: axes}, w), shape)
}

// filled has so many more rows of what stands for 0.
func (d *transposedConv) filled(v *graph.Value, rows int, zero float64) *graph.Value {
	if rows == 0 {
		return v
	}
	a := ops.PadAttrs{PadBefore: make([]int, v.Type.Rank()), PadAfter: make([]int, v.Type.Rank()), Mode: "constant", Value: zero}
	a.PadAfter[0] = rows
	return d.Apply(ops.Pad, a, v)
}

func (d *transposedConv) reshape(v *graph.Value, shape []int) *graph.Value {
	if slices.Equal(v.Type.Shape, shape) {
		return v
	}
	return d.Apply(ops.Reshape, ops.ReshapeAttrs{NewShape: shape}, v)
}

// repeated is the bias [group, channel] as [group, place, channel], and so many more of any value.
func (d *transposedConv) repeated(v *graph.Value, places, fill int) *graph.Value {
	n := v.Type.Shape[0]
	if t := constant(v); t != nil {
		return graph.NewConst(v.Name, repeatedChannels(t, n/d.groups, places, n*places+fill))
	}
	if places > 1 {
		v = d.reshape(v, []int{d.groups, 1, n / d.groups})
		v = d.reshape(d.Apply(ops.BroadcastTo, ops.BroadcastToAttrs{Shape: []int{d.groups, places, n / d.groups}}, v), []int{n * places})
	}
	return d.filled(v, fill, 0)
}

// repeatedChannels is a tensor that varies along one axis, with every chunk of so many elements repeated, as n elements. Where
// these are more, it begins again.
func repeatedChannels(t *tensor.Tensor, chunk, times, n int) *tensor.Tensor {
	shape := slices.Clone(t.Shape)
	shape[slices.Index(shape, t.Len())] = n
	var data []byte
	for part := range slices.Chunk(t.Bytes(), chunk*t.DType.Size()) {
		data = append(data, slices.Repeat(part, times)...)
	}
	r := tensor.New(t.DType, shape...)
	for at := 0; at < r.Size(); {
		at += copy(r.Bytes()[at:], data)
	}
	return r
}

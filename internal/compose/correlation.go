package compose

import (
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// A Correlation compares the surroundings of places in one map with those of places around them in another (Fischer et al., FlowNet, 2015).
type Correlation struct {
	Kernel       int // extent of what is compared
	Displacement int // the farthest place along an axis
	Strides      [2]int
	Padding      int
	Differences  bool // means of differences instead of products
}

// Correlate gives for each displacement, rows first, the mean over channels and kernel: [batch, displacements, height, width].
func (b *Builder) Correlate(c Correlation, x, y *graph.Value) *graph.Value {
	s := x.Type.Shape
	if !x.Type.Equal(y.Type) || len(s) != 4 || c.Kernel < 1 || c.Kernel%2 == 0 || c.Displacement < 0 || c.Strides[0] < 1 || c.Strides[1] < 1 || c.Padding < 0 {
		Fail("of %s and %s by a kernel of %d with strides %v", x.Type, y.Type, c.Kernel, c.Strides)
	}
	radius := c.Displacement / c.Strides[1]
	moves := types.Count([]int{2*radius + 1, 2*radius + 1})
	pads := []int{0, 0, c.Padding, c.Padding}
	pad := func(v *graph.Value) *graph.Value {
		return b.Apply(ops.Pad, ops.PadAttrs{PadBefore: pads, PadAfter: pads, Mode: "constant"}, v)
	}
	x, y = pad(x), pad(y)
	var places [2]*graph.Value // of the elements that are compared
	var extents []int
	for k := range places {
		free := s[2+k] + 2*c.Padding - 2*c.Displacement - (c.Kernel - 1)
		if free < 1 {
			Fail("a displacement of %d in %s", c.Displacement, x.Type)
		}
		n := (free+c.Strides[0]-1)/c.Strides[0]*c.Strides[0] - c.Strides[0] + c.Kernel
		places[k], extents = b.Series(types.I64, float64(c.Displacement), 1, n), append(extents, n)
	}
	w := Window{In: extents, Kernel: []int{c.Kernel, c.Kernel}, Strides: []int{c.Strides[0], c.Strides[0]}, Dilation: []int{1, 1}, Padding: make([]int, 4)}
	at := func(v *graph.Value, rows, columns *graph.Value) *graph.Value {
		return b.Apply(ops.Take, ops.TakeAttrs{Axis: 3}, b.Apply(ops.Take, ops.TakeAttrs{Axis: 2}, v, rows), columns)
	}
	x = at(x, places[0], places[1])
	var by [2]*graph.Value // displacements, [moves]
	for k := range by {
		t := b.Zeros(types.I64, moves)
		for i := range moves {
			t.SetInt(i, int64(([]int{i / (2*radius + 1), i % (2*radius + 1)}[k]-radius)*c.Strides[1]))
		}
		by[k] = Const(t)
	}
	join := map[bool]*op.Def{true: ops.Subtract, false: ops.Multiply}[c.Differences]
	out := b.Iterate(graph.LoopAttrs{Trips: moves, Sequences: 2}, by[:], func(in []*graph.Value) []*graph.Value {
		v := b.Do(join, x, at(y, b.Do(ops.Add, places[0], in[0]), b.Do(ops.Add, places[1], in[1])))
		if c.Differences {
			v = b.Do(ops.Abs, v)
		}
		return []*graph.Value{b.AvgPool(b.Reduce(ops.Mean, v, true, 1), w, false, true)}
	})
	return b.Transpose(b.Squeeze(out[0], 2), 1, 0, 2, 3)
}

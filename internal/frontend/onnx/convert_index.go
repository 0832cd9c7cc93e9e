package onnx

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

var indexRows = []row{
	{"Gather", "", 1, one(gather)}, {"GatherElements", "", 11, one(gatherElements)}, {"GatherND", "", 11, one(gatherND)},
	{"Scatter", "", 9, one(scatterElements)}, {"ScatterElements", "", 11, one(scatterElements)}, {"ScatterND", "", 11, one(scatterND)},
	{"TensorScatter", "", 24, one(tensorScatter)},
	{"TopK", "", 1, topK}, {"OneHot", "", 9, one(oneHot)},
	{"MaxRoiPool", "", 1, one(maxRoiPool)}, {"RoiAlign", "", 10, one(roiAlign)}, {"MaxUnpool", "", 9, one(maxUnpool)},
}

// index is operand i, int64 where ONNX allows no other type, or with narrow none but int32: files are not always so strict.
func (c *call) index(i int, narrow bool) *graph.Value {
	v := c.X(i)
	if d := v.Type.DType; d == types.I32 && narrow || d.IsFloat() {
		return v
	}
	return c.Cast(v, types.I64)
}

func gather(c *call) *graph.Value {
	return c.Apply(ops.Take, ops.TakeAttrs{Axis: frontend.Axis(c.Int("axis", 0), c.Rank(0))}, c.X(0), c.index(1, true))
}

func gatherElements(c *call) *graph.Value {
	return c.Apply(ops.Gather, ops.GatherAttrs{Axis: frontend.Axis(c.Int("axis", 0), c.Rank(0))}, c.X(0), c.index(1, true))
}

func gatherND(c *call) *graph.Value {
	return c.Apply(ops.GatherND, ops.GatherNDAttrs{BatchDims: c.Int("batch_dims", 0)}, c.X(0), c.index(1, false))
}

func scatterElements(c *call) *graph.Value {
	a := ops.ScatterElementsAttrs{Axis: frontend.Axis(c.Int("axis", 0), c.Rank(0)), Reduction: c.reductionMode()}
	return c.Apply(ops.ScatterElements, a, c.X(0), c.index(1, true), c.X(2))
}

func scatterND(c *call) *graph.Value {
	return c.Apply(ops.ScatterND, ops.ScatterNDAttrs{Reduction: c.reductionMode()}, c.X(0), c.index(1, false), c.X(2))
}

func (c *call) reductionMode() string {
	return c.OneOf("reduction", "none", "none", "add", "mul", "max", "min")
}

// tensorScatter writes at the start of the axis where no places are given.
func tensorScatter(c *call) *graph.Value {
	cache, at := c.X(0), c.Opt(2)
	if at == nil {
		c.WantRank(0, 1)
		at = c.Full(types.I64, 0, cache.Type.Shape[0])
	}
	a := ops.TensorScatterAttrs{Axis: frontend.Axis(c.Int("axis", -2), cache.Type.Rank()), Circular: c.OneOf("mode", "linear", "linear", "circular") == "circular"}
	return c.Apply(ops.TensorScatter, a, cache, c.X(1), at)
}

// topK has k as an attribute before opset 10. Unsorted results may have any order, so also the sorted one.
func topK(c *call) values {
	c.Ignore("sorted")
	k := 0
	if c.Node.Version < 10 {
		k = c.Int("k", 0)
	} else {
		k = c.KnownInt(1, "k")
	}
	a := ops.TopKAttrs{K: k, Axis: frontend.Axis(c.Int("axis", -1), c.Rank(0)), Largest: c.Bool("largest", true)}
	return c.Results(ops.TopK, a, c.X(0))
}

func oneHot(c *call) *graph.Value {
	depth := int(c.KnownFloat(1, "depth"))
	if depth < 0 || depth > types.MaxElements {
		compose.Fail("depth is %d", depth)
	}
	if c.Rank(2) != 1 || c.Shape(2)[0] != 2 {
		compose.Fail("values are %s, not [off, on]", c.X(2).Type)
	}
	index := c.X(0)
	if index.Type.DType != types.I32 {
		index = c.Cast(index, types.I64)
	}
	a := ops.OneHotAttrs{Depth: depth, Axis: frontend.Axis(c.Int("axis", -1), c.Rank(0)+1)}
	return c.Apply(ops.OneHot, a, index, c.At(c.X(2), 0, 1), c.At(c.X(2), 0, 0))
}

// compress takes the slices that a condition selects, which decides how many there are.
func compress(c *call) *graph.Value {
	x := c.X(0)
	condition := c.Known(1, "condition")
	at := 0
	if c.Has("axis") {
		at = frontend.Axis(c.Int("axis", 0), x.Type.Rank())
	} else {
		x = c.Reshape(x, x.Type.Elements())
	}
	var list []int
	for i := range min(condition.Len(), x.Type.Shape[at]) {
		if condition.Int(i) != 0 {
			list = append(list, i)
		}
	}
	return c.Apply(ops.Take, ops.TakeAttrs{Axis: at}, x, compose.Ints(list...))
}

// nonZero gives the coordinates, one row for each axis, of a value that is known.
func nonZero(x *tensor.Tensor) *graph.Value {
	rank := len(x.Shape)
	var found [][]int
	at := make([]int, rank)
	for i := range x.Len() {
		if x.Float(i) != 0 {
			found = append(found, slices.Clone(at))
		}
		for k := rank - 1; k >= 0; k-- {
			if at[k]++; at[k] < x.Shape[k] {
				break
			}
			at[k] = 0
		}
	}
	t := tensor.New(types.I64, rank, len(found))
	for j, place := range found {
		for k, i := range place {
			t.SetInt(k*len(found)+j, int64(i))
		}
	}
	return compose.Const(t)
}

func maxRoiPool(c *call) *graph.Value {
	return c.Apply(ops.RoiPool, ops.RoiPoolAttrs{PooledSize: c.Ints("pooled_shape"), SpatialScale: c.Float("spatial_scale", 1)}, c.X(0), c.X(1))
}

// roiAlign shifts regions by half a pixel from opset 16 on.
func roiAlign(c *call) *graph.Value {
	mode := "output_half_pixel"
	if c.Node.Version >= 16 {
		mode = "half_pixel"
	}
	return c.Apply(ops.RoiAlign, ops.RoiAlignAttrs{
		PooledSize:   []int{c.Int("output_height", 1), c.Int("output_width", 1)},
		SpatialScale: c.Float("spatial_scale", 1), SampleRatio: c.Int("sampling_ratio", 0), Mode: c.OneOf("mode", "avg", "avg", "max"),
		HalfPixel: c.OneOf("coordinate_transformation_mode", mode, "half_pixel", "output_half_pixel") == "half_pixel",
	}, c.X(0), c.X(1), c.X(2))
}

// maxUnpool gives the shape that pooling with these attributes came from. Indices are places in that shape; one that is
// given pads or crops it behind.
func maxUnpool(c *call) *graph.Value {
	c.WantRank(0, 3)
	in := c.Shape(0)[2:]
	n := len(in)
	kernel, strides, pads := c.Ints("kernel_shape"), c.IntsOr("strides", n, 1), c.IntsOr("pads", 2*n, 0)
	if len(kernel) != n {
		compose.Fail("kernel_shape %v for %s", kernel, spelling.Count(n, "spatial axis"))
	}
	shape := slices.Clone(c.Shape(0))
	for k := range in {
		shape[2+k] = (in[k]-1)*strides[k] + kernel[k] - pads[k] - pads[n+k]
	}
	y := c.Apply(ops.MaxUnpool, ops.MaxUnpoolAttrs{Shape: shape}, c.X(0), c.X(1))
	if !c.Present(2) {
		return y
	}
	want := c.KnownInts(2, "output_shape")
	if slices.Equal(want, shape) {
		return y
	}
	if len(want) != len(shape) {
		compose.Fail("output_shape %v for operand %s", want, c.X(0).Type)
	}
	a := ops.PadAttrs{PadBefore: make([]int, len(want)), PadAfter: make([]int, len(want)), Mode: "constant"}
	for k := range want {
		a.PadAfter[k] = want[k] - shape[k]
	}
	return c.Apply(ops.Pad, a, y)
}

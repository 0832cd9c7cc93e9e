package tflite

import (
	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// shapeRows are the operators whose results are shapes, and those that make values of a shape.
var shapeRows = []row{
	{"SHAPE", one(shape)}, {"RANK", one(rank)}, {"FILL", one(fill)}, {"RANGE", one(rangeOf)}, {"BROADCAST_ARGS", one(broadcastArgs)},
}

func shape(c *call) *graph.Value {
	c.Ignore("out_type")
	return c.Cast(compose.Ints(c.Shape(0)...), c.resultType())
}

// resultType is the element type that the file gives result 0.
func (c *call) resultType() types.DType {
	d, err := c.to(0).elem.dtype()
	if err != nil {
		compose.Fail("%w", err)
	}
	return d
}

func rank(c *call) *graph.Value { return compose.Number(types.I32, float64(c.Rank(0))) }

func fill(c *call) *graph.Value {
	shape, value := c.KnownInts(0, "the shape"), c.Scalar(c.X(1))
	if v := value.Value(); v != nil {
		return c.Filled(v, shape...)
	}
	return c.BroadcastTo(value, shape...)
}

func rangeOf(c *call) *graph.Value {
	start, limit, delta := c.Known(0, "the start"), c.Known(1, "the limit"), c.Known(2, "the step")
	if start.Len() != 1 || limit.Len() != 1 || delta.Len() != 1 {
		compose.Fail("start, limit and step are numbers")
	}
	step := delta.Float(0)
	n := (limit.Float(0) - start.Float(0)) / step
	if !(n <= types.MaxElements) || step == 0 {
		compose.Fail("a range of %v numbers", n)
	}
	t := c.Zeros(start.DType, max(int(ceil(n)), 0))
	for i := range t.Len() {
		if t.DType.IsInt() {
			t.SetInt(i, start.Int(0)+int64(i)*delta.Int(0))
		} else {
			t.SetFloat(i, start.Float(0)+float64(i)*step)
		}
	}
	return compose.Const(t)
}

func broadcastArgs(c *call) *graph.Value {
	a, b := c.KnownInts(0, "a shape"), c.KnownInts(1, "a shape")
	for len(a) < len(b) {
		a = append([]int{1}, a...)
	}
	for len(b) < len(a) {
		b = append([]int{1}, b...)
	}
	t := tensor.New(c.resultType(), len(a))
	for i := range a {
		if a[i] != b[i] && a[i] != 1 && b[i] != 1 {
			compose.Fail("shapes %v and %v", a, b)
		}
		n := max(a[i], b[i])
		if a[i] == 0 || b[i] == 0 {
			n = 0
		}
		t.SetInt(i, int64(n))
	}
	return compose.Const(t)
}

package onnx

import (
	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/tensor"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

var constantRows = []row{
	{"Constant", "", 1, one(constant)}, {"ConstantOfShape", "", 9, one(constantOfShape)},
	{"Shape", "", 1, one(shape)}, {"Size", "", 1, one(size)}, {"Range", "", 11, one(rangeOf)}, {"EyeLike", "", 9, one(eyeLike)},
}

// constant has one of several attributes.
func constant(c *call) *graph.Value {
	names := c.Node.Attrs.Names()
	if len(names) != 1 {
		compose.Fail("it has %s instead of one value", spelling.Count(len(names), "attribute"))
	}
	switch name := names[0]; name {
	case "value":
		v, err := constantOf(rawValue(c, name, (*Attr).Tensor))
		if err != nil {
			compose.Fail("%w", err)
		}
		return v
	case "sparse_value":
		return dense(c.Builder, rawValue(c, name, (*Attr).Sparse))
	case "value_float":
		return compose.Const(tensor.Scalar(float32(c.Float(name, 0))))
	case "value_floats":
		f := rawValue(c, name, (*Attr).Floats)
		return compose.Const(tensor.Of([]int{len(f)}, f))
	case "value_int":
		return compose.Const(tensor.Scalar(int64(c.Int(name, 0))))
	case "value_ints":
		return compose.Ints(c.Ints(name)...)
	default:
		compose.Fail("a constant given by attribute %q is not supported", name)
		return nil
	}
}

// dense makes a sparse tensor a constant.
func dense(b *compose.Builder, s *SparseTensor) *graph.Value {
	v, err := constantOf(s.Values)
	if err != nil {
		compose.Fail("%w", err)
	}
	d := v.Type.DType
	t := b.Zeros(d, s.Dims...)
	index := tensor.As[int64](tensor.Over(types.I64, []int{s.Indices.Len()}, s.Indices.Data))
	pairs := len(s.Indices.Dims) == 2
	for i := range s.Values.Len() {
		at := 0
		if !pairs {
			at = int(index[i])
		} else {
			for k, n := range s.Dims {
				j := int(index[i*len(s.Dims)+k])
				if j < 0 || j >= n {
					compose.Fail("index %d of a sparse tensor is outside of axis %d with %s", j, k, spelling.Count(n, "element"))
				}
				at = at*n + j
			}
		}
		if at < 0 || at >= t.Len() {
			compose.Fail("index %d of a sparse tensor is outside of its %s", at, spelling.Count(t.Len(), "element"))
		}
		copy(t.Bytes()[at*d.Size():(at+1)*d.Size()], v.Const.Bytes()[i*d.Size():])
	}
	return compose.Const(t)
}

func constantOfShape(c *call) *graph.Value {
	dims := c.KnownInts(0, "shape")
	value := tensor.Scalar(float32(0))
	if a := c.raw("value"); a != nil {
		t, err := a.Tensor()
		if err != nil {
			compose.Fail("%w", err)
		}
		v, err := constantOf(t)
		if err != nil {
			compose.Fail("%w", err)
		}
		if value = v.Const; value.Len() != 1 {
			compose.Fail("the value has %s instead of one", spelling.Count(value.Len(), "element"))
		}
	}
	return c.Filled(value, dims...)
}

// shape gives the extents of a range of axes (opset 15).
func shape(c *call) *graph.Value {
	dims := c.Shape(0)
	n := len(dims)
	clamp := func(v int) int {
		if v < 0 {
			v += n
		}
		return min(max(v, 0), n)
	}
	from, to := clamp(c.Int("start", 0)), clamp(c.Int("end", n))
	return compose.Ints(dims[from:max(from, to)]...)
}

func size(c *call) *graph.Value {
	return compose.Const(tensor.Scalar(int64(c.X(0).Type.Elements())))
}

// rangeOf is start, start+delta ... before limit.
func rangeOf(c *call) *graph.Value {
	start, limit, delta := c.Known(0, "start"), c.Known(1, "limit"), c.Known(2, "delta")
	d := start.DType
	if start.Len() != 1 || limit.Len() != 1 || delta.Len() != 1 || limit.DType != d || delta.DType != d || d == types.Bool {
		compose.Fail("start %s, limit %s and delta %s are not numbers of one type", start.Type(), limit.Type(), delta.Type())
	}
	return c.RangeOf(start, limit, delta)
}

func eyeLike(c *call) *graph.Value {
	x := c.X(0)
	if x.Type.Rank() != 2 {
		compose.Fail("operand %s is not a matrix", x.Type)
	}
	d, k := x.Type.DType, c.Int("k", 0)
	if c.Has("dtype") {
		d = c.DType("dtype", 0)
	}
	c.Ignore("dtype")
	t := c.Zeros(d, x.Type.Shape...)
	rows, columns := x.Type.Shape[0], x.Type.Shape[1]
	for i := range rows {
		if j := i + k; j >= 0 && j < columns {
			t.SetFloat(i*columns+j, 1)
		}
	}
	return compose.Const(t)
}

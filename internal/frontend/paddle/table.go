package paddle

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
)

type values = []*graph.Value

// A call is one operator being converted; its operands lie in slots.
type call struct {
	*frontend.Call
	attributes
}

type row struct {
	op      string
	convert func(c *call) values // results in the order of resultsOf
}

func one(f func(c *call) *graph.Value) func(c *call) values {
	return func(c *call) values { return values{f(c)} }
}

// table lists every operator that is converted.
var table = newTable(slices.Concat(nnRows, normRows, matmulRows, elementwiseRows, activationRows, reduceRows, shapeRows, moveRows, indexRows, makeRows, resizeRows, recurrentRows, detectionRows, quantRows))

// takesDynamic are operators that may read rows whose number depends on data.
var takesDynamic = []string{"scale", "assign", "cast", "memcpy", "share_data", "gather", "elementwise_add", "elementwise_sub", "elementwise_mul", "elementwise_div"}

func newTable(rows []row) *frontend.Table {
	list := make([]frontend.Row, len(rows))
	for i, r := range rows {
		list[i] = frontend.Row{Op: r.op, Convert: func(c *frontend.Call) []*graph.Value { return r.convert(&call{c, c.Node.Attrs.(attributes)}) }}
	}
	return frontend.NewTable(list, takesDynamic, "")
}

// Rows lists the supported operators by name.
func Rows() []frontend.Supported { return table.Rows() }

// results are the slots of results that converters give, of operators for which it is not Out. Others, such as shapes for a
// gradient, have no value.
var results = map[string][]string{
	"conv2d": {"Output"}, "depthwise_conv2d": {"Output"}, "conv3d": {"Output"}, "conv2d_transpose": {"Output"}, "depthwise_conv2d_transpose": {"Output"}, "conv3d_transpose": {"Output"},
	"deformable_conv": {"Output"}, "deformable_conv_v1": {"Output"},
	"batch_norm": {"Y"}, "sync_batch_norm": {"Y"}, "inplace_abn": {"Y"}, "layer_norm": {"Y"}, "group_norm": {"Y"}, "instance_norm": {"Y"}, "stack": {"Y"}, "unstack": {"Y"}, "unfold": {"Y"},
	"top_k": {"Out", "Indices"}, "top_k_v2": {"Out", "Indices"}, "argsort": {"Out", "Indices"}, "grid_sampler": {"Output"}, "affine_grid": {"Output"}, "rnn": {"Out", "State"},
	"yolo_box": {"Boxes", "Scores"}, "prior_box": {"Boxes", "Variances"}, "box_coder": {"OutputBox"}, "multiclass_nms": {"Out"}, "multiclass_nms2": {"Out", "Index"},
	"multiclass_nms3": {"Out", "Index", "NmsRoisNum"}, "matrix_nms": {"Out", "Index", "RoisNum"}, "quantize_linear": {"Y"}, "dequantize_linear": {"Y"},
}

func resultsOf(op string) []string {
	if r := results[op]; r != nil {
		return r
	}
	return []string{"Out"}
}

// present reports whether a slot has an operand.
func (c *call) present(slot string) bool {
	return len(c.slots[slot]) > 0 && c.Present(c.slots[slot][0])
}

// operand is the operand in a slot, which has to be there.
func (c *call) operand(slot string) *graph.Value {
	if !c.present(slot) {
		compose.Fail("operand %s is missing", slot)
	}
	return c.X(c.slots[slot][0])
}

func (c *call) x() *graph.Value { return c.operand("X") }

// optional is the operand in a slot, or nil.
func (c *call) optional(slot string) *graph.Value {
	if !c.present(slot) {
		return nil
	}
	return c.operand(slot)
}

// operands are those in a slot of several.
func (c *call) operands(slot string) values {
	var list values
	for _, i := range c.slots[slot] {
		list = append(list, c.X(i))
	}
	if len(list) == 0 {
		compose.Fail("operand %s is missing", slot)
	}
	return list
}

// numbers is a list that is an attribute, or the values of a tensor or of several with a number each in one of the slots.
func (c *call) numbers(attr string, slots ...string) []int {
	list := c.Ints(attr)
	for _, slot := range slots {
		if !c.present(slot) {
			continue
		}
		list = nil
		for _, i := range c.slots[slot] {
			list = append(list, c.KnownInts(i, slot)...)
		}
		break
	}
	return list
}

// number is a number that is an attribute, or the value of a tensor in one of the slots.
func (c *call) number(attr string, absent int, slots ...string) int {
	for _, slot := range slots {
		if c.present(slot) {
			c.Ignore(attr)
			return c.KnownInt(c.slots[slot][0], slot)
		}
	}
	return c.Int(attr, absent)
}

// real is a number that is an attribute, or the value of a tensor in a slot.
func (c *call) real(attr string, absent float64, slot string) float64 {
	if c.present(slot) {
		c.Ignore(attr)
		return c.KnownFloat(c.slots[slot][0], slot)
	}
	return c.Float(attr, absent)
}

// n is how many results a slot of several has.
func (c *call) n() int { return len(c.Node.Out) }

func unary(name string, d *op.Def) row {
	return row{name, one(func(c *call) *graph.Value { return c.Do(d, c.x()) })}
}

func identity(c *call) *graph.Value { return c.x() }

var elementwiseRows = slices.Concat(binaryRows(), []row{
	unary("logical_not", ops.LogicalNot), unary("bitwise_not", ops.BitwiseNot), unary("abs", ops.Abs), unary("ceil", ops.Ceil), unary("floor", ops.Floor), unary("exp", ops.Exp), unary("expm1", ops.Expm1),
	unary("log1p", ops.Log1p), unary("rsqrt", ops.Rsqrt), unary("reciprocal", ops.Reciprocal), unary("erf", ops.Erf), unary("sign", ops.Sign), unary("sin", ops.Sin), unary("cos", ops.Cos),
	unary("tan", ops.Tan), unary("asin", ops.Asin), unary("acos", ops.Acos), unary("atan", ops.Atan), unary("sinh", ops.Sinh), unary("cosh", ops.Cosh), unary("asinh", ops.Asinh), unary("acosh", ops.Acosh),
	unary("atanh", ops.Atanh), unary("isnan_v2", ops.IsNaN), unary("trunc", ops.Trunc),
	{"log", one(func(c *call) *graph.Value { return c.Log(c.x()) })}, {"sqrt", one(func(c *call) *graph.Value { return c.Sqrt(c.x()) })},
	{"log2", one(func(c *call) *graph.Value { return c.Scaled(c.Log(c.x()), 1/0.6931471805599453) })}, {"log10", one(func(c *call) *graph.Value { return c.Scaled(c.Log(c.x()), 1/2.302585092994046) })},
	{"square", one(func(c *call) *graph.Value { return c.Do(ops.Multiply, c.x(), c.x()) })}, {"round", one(round)},
	{"isinf_v2", one(func(c *call) *graph.Value {
		return c.Apply(ops.IsInf, ops.IsInfAttrs{DetectPositive: true, DetectNegative: true}, c.x())
	})},
	{"isfinite_v2", one(func(c *call) *graph.Value {
		y := c.Do(ops.Subtract, c.x(), c.x()) // 0 of what is finite, and else no number
		return c.Do(ops.Equal, y, compose.Like(y, 0))
	})},
	{"assign", one(identity)}, {"share_data", one(identity)}, {"memcpy", one(func(c *call) *graph.Value { c.Ignore("dst_place_type"); return c.x() })}, {"print", one(func(c *call) *graph.Value { c.Ignore(c.Node.Attrs.Names()...); return c.operand("In") })},
	{"sum", one(func(c *call) *graph.Value { return c.Fold(ops.Add, c.operands("X")...) })}, {"scale", one(scale)}, {"clip", one(clip)}, {"cast", one(cast)}, {"pow", one(power)}, {"increment", one(increment)},
	{"where", one(func(c *call) *graph.Value {
		return c.Do(ops.Where, c.operand("Condition"), c.operand("X"), c.operand("Y"))
	})},
})

// binaryRows are operators of two operands, of which the second goes along axes of the first from one on, or by numpy's rule.
func binaryRows() (rows []row) {
	for name, d := range map[string]*op.Def{"elementwise_add": ops.Add, "elementwise_sub": ops.Subtract, "elementwise_mul": ops.Multiply, "elementwise_div": ops.Divide, "elementwise_max": ops.Maximum,
		"elementwise_min": ops.Minimum, "elementwise_pow": ops.Power, "elementwise_floordiv": ops.FloorDivide, "elementwise_mod": ops.FloorMod, "minus": ops.Subtract, "grad_add": ops.Add,
		"equal": ops.Equal, "not_equal": ops.NotEqual, "less_than": ops.Less, "less_equal": ops.LessEqual, "greater_than": ops.Greater, "greater_equal": ops.GreaterEqual,
		"logical_and": ops.LogicalAnd, "logical_or": ops.LogicalOr, "logical_xor": ops.LogicalXor, "bitwise_and": ops.BitwiseAnd, "bitwise_or": ops.BitwiseOr, "bitwise_xor": ops.BitwiseXor, "atan2": ops.Atan2} {
		rows = append(rows, row{name, one(func(c *call) *graph.Value {
			x, y := c.x(), c.optional("Y")
			if y == nil {
				y = c.operand("X2")
			}
			return c.Do(d, x, c.along(y, x, c.Int("axis", -1)))
		})})
	}
	return rows
}

// along gives y axes of 1 behind its own, so that they go along those of x from axis on. -1 is numpy's rule.
func (c *call) along(y, x *graph.Value, axis int) *graph.Value {
	if axis < 0 || y.Type.Rank() >= x.Type.Rank() {
		return y
	}
	shape := slices.Clone(y.Type.Shape)
	for len(shape) > 1 && axis+len(shape) > x.Type.Rank() && shape[len(shape)-1] == 1 {
		shape = shape[:len(shape)-1]
	}
	for axis+len(shape) < x.Type.Rank() {
		shape = append(shape, 1)
	}
	return c.Reshape(y, shape...)
}

// round goes half away from zero.
func round(c *call) *graph.Value {
	x := c.x()
	if c.Int("decimals", 0) != 0 {
		compose.Fail("decimals are not supported")
	}
	return c.rounded(x)
}

func (c *call) rounded(x *graph.Value) *graph.Value {
	up := c.Do(ops.Floor, c.Do(ops.Add, c.Do(ops.Abs, x), compose.Like(x, 0.5)))
	return c.Do(ops.Multiply, up, c.Do(ops.Sign, x))
}

// scale is x*scale + bias, or (x + bias)*scale.
func scale(c *call) *graph.Value {
	y, bias := c.x(), c.Float("bias", 0)
	behind := c.Bool("bias_after_scale", true)
	shifted := func(y *graph.Value) *graph.Value {
		if bias == 0 {
			return y
		}
		return c.Do(ops.Add, y, compose.Like(y, bias))
	}
	if !behind {
		y = shifted(y)
	}
	if t := c.optional("ScaleTensor"); t != nil {
		c.Ignore("scale")
		if t.Value() != nil && t.Value().Len() == 1 {
			y = c.Scaled(y, t.Value().Float(0))
		} else {
			y = c.Do(ops.Multiply, y, c.Cast(c.Scalar(t), y.Type.DType))
		}
	} else {
		y = c.Scaled(y, c.Float("scale", 1))
	}
	if behind {
		y = shifted(y)
	}
	return y
}

func clip(c *call) *graph.Value {
	least, greatest := c.optional("Min"), c.optional("Max")
	known := func(v *graph.Value) bool { return v == nil || v.Value() != nil }
	if known(least) && known(greatest) {
		return c.Clipped(c.x(), c.real("min", 0, "Min"), c.real("max", 0, "Max"))
	}
	c.Ignore("min", "max")
	y := c.x()
	if least != nil {
		y = c.Do(ops.Maximum, y, c.Cast(c.Scalar(least), y.Type.DType))
	}
	if greatest != nil {
		y = c.Do(ops.Minimum, y, c.Cast(c.Scalar(greatest), y.Type.DType))
	}
	return y
}

func cast(c *call) *graph.Value {
	c.Ignore("in_dtype")
	return c.Cast(c.x(), c.Call.DType("out_dtype", 0))
}

func power(c *call) *graph.Value {
	x, p := c.x(), c.real("factor", 1, "FactorTensor")
	switch p {
	case 1:
		return x
	case 2:
		return c.Do(ops.Multiply, x, x)
	case 0.5:
		return c.Sqrt(x)
	}
	return c.Do(ops.Power, x, compose.Like(x, p))
}

func increment(c *call) *graph.Value {
	return c.Do(ops.Add, c.x(), compose.Like(c.x(), c.Float("step", 1)))
}

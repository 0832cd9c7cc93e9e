package torch

import (
	"math"
	"strings"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	hosttensor "lathe/internal/tensor"
	"lathe/internal/types"
)

// keepsIntegers reports whether an operator takes quantised tensors as they are: those on them, and views.
func keepsIntegers(name string) bool {
	return strings.HasPrefix(name, "quantized.") || integerViews[name]
}

var integerViews = map[string]bool{"dequantize": true, "int_repr": true, "q_scale": true, "q_zero_point": true, "quantize_per_tensor": true, "view": true, "reshape": true, "_unsafe_view": true, "flatten": true,
	"unflatten": true, "squeeze": true, "unsqueeze": true, "permute": true, "transpose": true, "t": true, "slice": true, "select": true, "narrow": true, "chunk": true, "split": true, "split_with_sizes": true,
	"unbind": true, "detach": true, "alias": true, "contiguous": true, "clone": true, "expand": true, "expand_as": true, "view_as": true, "dropout": true, "movedim": true, "cpu": true, "ravel": true}

// steady are the operators that commute with a scale: they work on the integers less their zero, in float32, and only round.
var steady = map[string]bool{"relu": true, "max_pool1d": true, "max_pool2d": true, "max_pool3d": true, "avg_pool1d": true, "avg_pool2d": true, "avg_pool3d": true, "adaptive_avg_pool1d": true,
	"adaptive_avg_pool2d": true, "adaptive_avg_pool3d": true, "_adaptive_avg_pool2d": true, "adaptive_max_pool2d": true, "mean": true, "upsample_nearest1d": true, "upsample_nearest2d": true,
	"upsample_nearest3d": true, "upsample_bilinear2d": true, "flip": true, "max": true, "min": true, "amax": true, "amin": true, "leaky_relu": true, "reflection_pad2d": true, "replication_pad2d": true,
	"channel_shuffle": true, "pixel_shuffle": true, "repeat": true, "index_select": true, "index": true}

// own are the parameters of results that are always the same, for 8 bits without sign.
var own = map[string]quant{"sigmoid": {scales: []float64{1.0 / 256}, zeros: []int64{0}}, "hardsigmoid": {scales: []float64{1.0 / 256}, zeros: []int64{0}},
	"tanh": {scales: []float64{2.0 / 256}, zeros: []int64{128}}}

// throughReal applies an operator to the real numbers of quantised tensors; its results have the parameters of the first.
func (m *machine) throughReal(r *row, c *call, first *tensor) value {
	q := first.quant
	if q.axis >= 0 {
		fail("of tensors that are quantised by channel it is not supported")
	}
	d := m.get(first).Type.DType
	scale := q.scales[0]
	alone := true
	for _, p := range r.params {
		for _, t := range tensorsIn(c.args[p.name]) {
			alone = alone && t == first
		}
	}
	if steady[c.name] && alone {
		scale = 1
	}
	real := func(t *tensor) *tensor {
		if t.quant == nil {
			return t
		}
		out := *t.quant
		if scale == 1 && t == first {
			out.scales = []float64{1}
		}
		return m.fresh(m.realOf(m.get(t), &out))
	}
	for name, v := range c.args {
		switch x := v.(type) {
		case *tensor:
			c.args[name] = real(x)
		case tuple, *list:
			parts, _ := items(x)
			if len(tensorsIn(x)) == len(parts) {
				out := make(tuple, len(parts))
				for i, p := range parts {
					out[i] = real(p.(*tensor))
				}
				c.args[name] = out
			}
		}
	}
	zero := q.zeros[0]
	outScale := q.scales[0]
	if fixed, ok := own[c.name]; ok && d == types.U8 {
		scale, outScale, zero = fixed.scales[0], fixed.scales[0], fixed.zeros[0]
	}
	return m.requantizedAll(m.wrap(r.convert(c)), scale, outScale, zero, d)
}

// requantizedAll quantises the tensors of floats in a result by a scale; outScale is what their integers then stand for.
func (m *machine) requantizedAll(v value, scale, outScale float64, zero int64, d types.DType) value {
	switch x := v.(type) {
	case *tensor:
		if !m.get(x).Type.DType.IsFloat() {
			return x
		}
		out := m.quantized(m.get(x), scale, zero, d)
		out.quant = &quant{scales: []float64{outScale}, zeros: []int64{zero}, axis: -1}
		return out
	case tuple:
		out := make(tuple, len(x))
		for i, p := range x {
			out[i] = m.requantizedAll(p, scale, outScale, zero, d)
		}
		return out
	}
	return v
}

// floatOf is a float32 constant without axes.
func floatOf(v float64) *graph.Value { return compose.Number(types.F32, v) }

// zeroOf is a zero point of an element type.
func zeroOf(d types.DType, v int64) *graph.Value { return compose.Number(d, float64(v)) }

// quantized is round(x * (1/scale)) + zero, the reciprocal and the product in float32.
func (m *machine) quantized(x *graph.Value, scale float64, zero int64, d types.DType) *tensor {
	x = m.Cast(x, types.F32)
	if scale != 1 {
		x = m.Do(ops.Multiply, x, floatOf(float64(1/float32(scale))))
	}
	lo, hi := d.IntRange()
	if zero < lo || zero > hi {
		fail("the zero point %d of %s", zero, d)
	}
	if d == types.I32 {
		y := m.Cast(m.Do(ops.Round, x), d)
		if zero != 0 {
			y = m.Do(ops.Add, y, zeroOf(d, zero))
		}
		return m.withQuant(y, scale, zero)
	}
	return m.withQuant(m.Quantize(x, floatOf(1), zeroOf(d, zero)), scale, zero)
}

func (m *machine) withQuant(v *graph.Value, scale float64, zero int64) *tensor {
	t := m.fresh(v)
	t.quant = &quant{scales: []float64{scale}, zeros: []int64{zero}, axis: -1}
	return t
}

// dequantized gives the real numbers of a tensor.
func (m *machine) dequantized(t *tensor) *graph.Value {
	if t.quant == nil {
		return m.get(t)
	}
	return m.realOf(m.get(t), t.quant)
}

func (m *machine) realOf(v *graph.Value, q *quant) *graph.Value {
	scale, zero := m.parameters(q, v.Type.DType)
	return m.Apply(ops.Dequantize, ops.DequantizeAttrs{Axis: max(q.axis, 0)}, v, scale, zero)
}

// parameters are scale and zero point as constants: numbers, or vectors with an element for each index of the axis.
func (m *machine) parameters(q *quant, d types.DType) (scale, zero *graph.Value) {
	if q.axis < 0 {
		return floatOf(q.scales[0]), zeroOf(d, q.zeros[0])
	}
	s, z := hosttensor.New(types.F32, len(q.scales)), hosttensor.New(d, len(q.zeros))
	for i := range q.scales {
		s.SetFloat(i, q.scales[i])
		z.SetInt(i, q.zeros[i])
	}
	return compose.Const(s), compose.Const(z)
}

func quantizePerChannel(c *call) any {
	q := &quant{axis: c.axis("axis", 0, c.rank(c.t("self")))}
	for _, v := range c.known(c.t("scales"), "scales") {
		f, _ := number(v)
		q.scales = append(q.scales, f)
	}
	for _, v := range c.known(c.t("zero_points"), "zero_points") {
		q.zeros = append(q.zeros, int64(c.whole(v, "zero_points")))
	}
	scale, zero := c.parameters(q, c.dtype("dtype", types.I8))
	t := c.fresh(c.Apply(ops.Quantize, ops.QuantizeAttrs{Axis: q.axis, OutDType: zero.Type.DType, Rounding: ops.HalfEven}, c.x("self"), scale, zero))
	t.quant = q
	return t
}

// withScalar combines with a number; the range of the result follows from that of the operand.
func withScalar(d *op.Def) func(c *call) any {
	return func(c *call) any {
		t := c.t("self")
		if t.quant == nil {
			fail("an operand that is not quantised")
		}
		n := c.num("other", 0)
		q := t.quant
		lo, hi := c.get(t).Type.DType.IntRange()
		scale, zero := q.scales[0], q.zeros[0]
		if d == ops.Add {
			low, high := scale*float64(lo-zero)+n, scale*float64(hi-zero)+n
			low, high = min(low, 0), max(high, 0)
			if moved := zero - int64(math.RoundToEven(n/scale)); moved >= lo && moved <= hi {
				zero = moved
			} else {
				scale = (high - low) / float64(hi-lo)
				zero = min(max(lo-int64(math.RoundToEven(low/scale)), lo), hi)
			}
		} else if n == 0 {
			scale, zero = 1, 0
		} else {
			scale *= math.Abs(n)
			if n < 0 {
				zero = hi + lo - zero
			}
		}
		y := c.relued(c.Do(d, c.dequantized(t), floatOf(n)))
		return c.quantized(y, scale, zero, c.get(t).Type.DType)
	}
}

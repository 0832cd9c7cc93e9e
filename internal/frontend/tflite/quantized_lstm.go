package tflite

import (
	"math"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// integerLSTM has data and output of 8 bits, and a cell of 16 whose scale is a power of two. Gates have 3 bits before the point and 12 behind it,
// what comes of sigmoid and tanh 15 behind it.
func (c *call) integerLSTM() lstm {
	const gatePoint, unitPoint = 12, 15
	for _, i := range []int{lstmPeephole, lstmPeephole + 1, lstmPeephole + 2, lstmProjection, lstmNorm + 1} {
		if c.Present(i) {
			compose.Fail("peepholes, projections and normalisation of an integer LSTM are not supported")
		}
	}
	if !c.Present(lstmInput) || len(c.op.intermediates) < 5 || c.Int("fused_activation_function", 0) != fusedTanh {
		compose.Fail("an integer LSTM without an input gate, tanh or intermediate scales is not supported")
	}
	c.Ignore("asymmetric_quantize_inputs")
	data, held, cellInfo, hidden := c.from(0), c.from(lstmState), c.from(lstmCell), c.op.intermediates[4]
	if len(hidden.quant.scale) != 1 {
		compose.Fail("the scale of the hidden state is missing")
	}
	_, exponent := math.Frexp(float64(cellInfo.scale()))
	k := exponent - 1
	clip := math.Inf(1)
	if bound := c.Float("cell_clip", 0); bound > 0 {
		clip = roundAway(bound / float64(cellInfo.scale()))
	}
	if p := c.Float("proj_clip", 0); p != 0 {
		compose.Fail("projections of an integer LSTM are not supported")
	}
	limited := func(x *graph.Value, bound float64) *graph.Value {
		return c.Apply(ops.Clip, ops.ClipAttrs{Min: max(-bound, math.MinInt16), Max: min(bound, math.MaxInt16), HasMin: true, HasMax: true}, x)
	}
	saturated := func(x *graph.Value) *graph.Value { return limited(x, math.Inf(1)) }
	sums := func(x *graph.Value, of *tensorInfo, i int) *graph.Value {
		w := c.permuted(c.X(i), 1, 0)
		return c.Do(ops.QnnMatmul, x, of.zeros(x.Type.DType), w, c.from(i).zeros(w.Type.DType))
	}
	scaled := func(x *graph.Value, of *tensorInfo, i int) *graph.Value {
		return c.MultiplyFixed(x, 0, compose.FixedPointOf(float64(of.scale())*float64(c.from(i).scale())*(1<<gatePoint)))
	}
	before := func(x *graph.Value) values {
		var gates values
		for g := range 4 {
			y := sums(x, data, lstmInput+g)
			if c.Present(lstmBias + g) {
				y = c.Do(ops.Add, y, c.X(lstmBias+g))
			}
			gates = append(gates, saturated(scaled(y, data, lstmInput+g)))
		}
		return gates
	}
	// function applies a function of real numbers to integers of the given scale.
	function := func(d *opDef, x *graph.Value, scale float64) *graph.Value {
		y := c.Do(d, c.Do(ops.Multiply, c.Cast(x, types.F32), compose.Number(types.F32, scale)))
		y = c.Do(ops.Round, c.Do(ops.Multiply, y, compose.Like(y, 1<<unitPoint)))
		return saturated(c.Cast(y, types.I32))
	}
	divided := func(x *graph.Value, n int) *graph.Value {
		return c.RoundingShift(x, compose.Like(x, float64(n)), compose.Like(x, float64(int(1)<<n-1)))
	}
	step := func(h, cell *graph.Value, gates values) (*graph.Value, *graph.Value) {
		gate := func(g int, d *opDef) *graph.Value {
			y := c.Do(ops.Add, scaled(sums(h, held, lstmRecurrent+g), held, lstmRecurrent+g), gates[g])
			return function(d, saturated(y), math.Ldexp(1, -gatePoint))
		}
		i, f, candidate, o := gate(0, ops.Sigmoid), gate(1, ops.Sigmoid), gate(2, ops.Tanh), gate(3, ops.Sigmoid)
		kept := divided(c.Do(ops.Multiply, f, c.Cast(cell, types.I32)), unitPoint)
		added := divided(c.Do(ops.Multiply, i, candidate), 2*unitPoint+k)
		next := limited(c.Do(ops.Add, kept, added), clip)
		product := c.Do(ops.Multiply, o, function(ops.Tanh, next, math.Ldexp(1, k)))
		y := c.MultiplyFixed(product, 0, compose.FixedPointOf(math.Ldexp(1, -2*unitPoint)/float64(hidden.scale())))
		y = c.Do(ops.Subtract, y, compose.Like(y, float64(hidden.zero()))) // TensorFlow Lite subtracts
		lo, hi := held.dtype().IntRange()
		y = c.Apply(ops.Clip, ops.ClipAttrs{Min: float64(lo), Max: float64(hi), HasMin: true, HasMax: true}, y)
		return c.Cast(y, held.dtype()), c.Cast(next, cellInfo.dtype())
	}
	return lstm{before, step}
}

// integerBasicLSTM has data, outputs and weights of 8 bits; gates have 3 bits before the point and 12 behind it, the state 4 and 11, and what comes of
// sigmoid and tanh 15 behind it. Outputs are in steps of 1/128 about 128.
func (c *call) integerBasicLSTM() values {
	const gatePoint, statePoint, unitPoint, outputPoint = 12, 11, 15, 7
	data, weight := c.from(basicData), c.from(basicWeight)
	if !data.sameScale(c.from(basicOutput)) || c.from(basicState).elem != elemInt16 {
		compose.Fail("an integer LSTM whose data and outputs have different scales, or whose state is not int16, is not supported")
	}
	both := c.Concat(1, c.X(basicData), c.X(basicOutput))
	w := c.permuted(c.X(basicWeight), 1, 0)
	sums := c.Do(ops.Add, c.Do(ops.QnnMatmul, both, data.zeros(both.Type.DType), w, weight.zeros(w.Type.DType)), c.X(basicBias))
	within16 := func(x *graph.Value) *graph.Value {
		return c.Apply(ops.Clip, ops.ClipAttrs{Min: math.MinInt16, Max: math.MaxInt16, HasMin: true, HasMax: true}, x)
	}
	gates := within16(c.MultiplyFixed(sums, 0, compose.FixedPointOf(float64(data.scale())*float64(weight.scale())*(1<<gatePoint))))
	n := gates.Type.Shape[1] / four
	function := func(d *opDef, x *graph.Value, point int) *graph.Value {
		y := c.Do(d, c.Do(ops.Multiply, c.Cast(x, types.F32), compose.Number(types.F32, math.Ldexp(1, -point))))
		return within16(c.Cast(c.Do(ops.Round, c.Do(ops.Multiply, y, compose.Like(y, 1<<unitPoint))), types.I32))
	}
	gate := func(k int, d *opDef) *graph.Value { return function(d, c.Slice(gates, 1, k*n, (k+1)*n), gatePoint) }
	divided := func(x *graph.Value, n int) *graph.Value {
		return c.RoundingShift(x, compose.Like(x, float64(n)), compose.Like(x, float64(int(1)<<n-1)))
	}
	added := divided(c.Do(ops.Multiply, gate(0, ops.Sigmoid), gate(1, ops.Tanh)), unitPoint)
	kept := divided(c.Do(ops.Multiply, gate(2, ops.Sigmoid), c.Cast(c.X(basicState), types.I32)), unitPoint)
	state := within16(c.Do(ops.Add, divided(added, unitPoint-statePoint), kept))
	y := divided(c.Do(ops.Multiply, gate(3, ops.Sigmoid), function(ops.Tanh, state, statePoint)), unitPoint)
	y = c.Do(ops.Add, divided(y, unitPoint-outputPoint), compose.Like(y, float64(data.zero())))
	return values{c.saturated(y, data.dtype()), c.Cast(state, types.I16), both, c.Cast(gates, types.I16)}
}

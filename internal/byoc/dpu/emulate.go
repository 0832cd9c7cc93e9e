package dpu

import (
	"math"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// Emulate is the network as a graph of integers that the compiler compiles, with the region's float32 inputs and outputs.
func (f *Fixed) Emulate(name string) (*graph.Graph, error) {
	b := compose.NewBuilder(name)
	e := &emulator{b, f, make([]*graph.Value, len(f.Tensors))}
	err := compose.Try(func() {
		for _, at := range f.Inputs {
			t := f.Tensors[at]
			x := b.Graph.Input(t.Name, types.Of(types.F32, t.Shape[:]...))
			a := ops.QuantizeAttrs{OutDType: types.I8, Rounding: ops.HalfUp}
			e.maps[at] = b.Apply(ops.Quantize, a, x, power(-f.Positions[at]), zero8())
		}
		for i := range f.Layers {
			b.Origin = []string{f.Layers[i].Name}
			e.maps[f.Layers[i].To] = e.layer(i)
		}
		for _, o := range f.Outputs {
			y := b.Apply(ops.Dequantize, ops.DequantizeAttrs{}, e.maps[o.Tensor], power(-f.Positions[o.Tensor]), zero8())
			y = b.Reshape(y, o.Type.Shape...)
			if y.Def != nil {
				y.Name = o.Name
			}
			b.Graph.Outputs = append(b.Graph.Outputs, y)
		}
	})
	return b.Graph, err
}

type emulator struct {
	*compose.Builder
	*Fixed
	maps []*graph.Value // int8, by tensor
}

func zero8() *graph.Value { return compose.Const(tensor.Scalar[int8](0)) }

// power is the float32 2^p.
func power(p int) *graph.Value { return compose.Const(tensor.Scalar(float32(math.Ldexp(1, p)))) }

func (e *emulator) layer(i int) *graph.Value {
	l, out := &e.Layers[i], e.Positions[e.Layers[i].To]
	x, position := e.maps[l.From[0]], e.Positions[l.From[0]]
	wide := func(t int) *graph.Value { return e.Cast(e.maps[t], types.I32) }
	switch l.Kind {
	case Conv, Depthwise:
		sum, bits := e.conv(i, x)
		return e.result(l, sum, bits, out)
	case MaxPool:
		return e.Apply(ops.MaxPool2d, ops.PoolAttrs{PoolSize: l.Kernel[:], Strides: l.Stride[:], Padding: l.Pad[:], Dilation: l.Dilation[:]}, x)
	case AvgPool:
		ones := e.Full(types.I8, 1, l.InChannels, 1, l.Kernel[0], l.Kernel[1])
		sum := e.convolve(l, x, ones, l.InChannels)
		factor, shift := averageFactor(l.Kernel)
		return e.result(l, e.Do(ops.Multiply, sum, compose.Number(types.I32, float64(factor))), shift, out)
	case Add:
		least := position
		for _, t := range l.From {
			least = min(least, e.Positions[t])
		}
		var terms []*graph.Value
		for _, t := range l.From {
			d, apart := ops.LeftShift, alignBits-(e.Positions[t]-least)
			if apart < 0 {
				d, apart = ops.RightShift, -apart
			}
			terms = append(terms, e.Do(d, wide(t), compose.Number(types.I32, float64(apart))))
		}
		return e.result(l, e.Fold(ops.Add, terms...), alignBits+least-out, out)
	case Multiply:
		return e.result(l, e.Do(ops.Multiply, wide(l.From[0]), wide(l.From[1])), position+e.Positions[l.From[1]]-out, out)
	case Concat:
		var parts []*graph.Value
		for _, t := range l.From {
			parts = append(parts, e.maps[t])
		}
		return e.Concat(1, parts...)
	case Upsample:
		s := e.Tensors[l.To].Shape
		return e.Apply(ops.Resize, ops.ResizeAttrs{Sizes: s[:], Method: "nearest", CoordinateTransformationMode: "asymmetric", NearestMode: "floor"}, x)
	case Activate:
		return e.result(l, wide(l.From[0]), 0, out)
	}
	return e.result(l, e.hardSigmoid(x, position), hardShift+position+hardBits(position)-out, out)
}

// conv is a convolution's sum with its bias, int32 or int64, and how many of its bits a result drops.
func (e *emulator) conv(i int, x *graph.Value) (*graph.Value, int) {
	l, p := &e.Layers[i], &e.Params[i]
	shape, groups := []int{l.OutChannels, l.InChannels, l.Kernel[0], l.Kernel[1]}, 1
	if l.Kind == Depthwise {
		shape[1], groups = 1, l.InChannels
	}
	sum := e.convolve(l, x, compose.Const(tensor.Of(shape, p.Weights)), groups)
	cut, bias := e.shifts(i)
	if p.Bias == nil {
		return sum, cut
	}
	steps := make([]int64, len(p.Bias))
	for c, q := range p.Bias {
		steps[c] = int64(q) << max(bias, 0)
	}
	column := e.Reshape(compose.Const(tensor.Of([]int{len(steps)}, steps)), len(steps), 1, 1)
	if bias >= 0 {
		return e.Do(ops.Add, sum, e.Cast(column, types.I32)), cut
	}
	sum = e.Do(ops.LeftShift, e.Cast(sum, types.I64), compose.Number(types.I64, float64(-bias)))
	return e.Do(ops.Add, sum, column), cut - bias
}

func (e *emulator) convolve(l *Layer, x, weights *graph.Value, groups int) *graph.Value {
	a := ops.ConvAttrs{Strides: l.Stride[:], Padding: l.Pad[:], Dilation: l.Dilation[:], Groups: groups}
	return e.Apply(ops.QnnConv2d, a, x, zero8(), weights, zero8())
}

// hardSigmoid is hardSum of a map.
func (e *emulator) hardSigmoid(x *graph.Value, position int) *graph.Value {
	more := hardBits(position)
	x = e.Do(ops.Multiply, e.Cast(x, types.I64), compose.Number(types.I64, float64(int64(hardFactor)<<more)))
	return e.Do(ops.Maximum, e.Do(ops.Add, x, compose.Number(types.I64, float64(int64(3*hardFactor)<<(position+more)))), compose.Number(types.I64, 0))
}

// exactBits is the greatest shift of any int32 that a requantize in float32 computes exactly.
const exactBits = 16

// result drops bits of a sum, rounded half up, with the layer's activation.
func (e *emulator) result(l *Layer, sum *graph.Value, bits, position int) *graph.Value {
	if l.Act == Leaky {
		sum = e.Cast(sum, types.I64)
		below := e.Do(ops.Multiply, sum, compose.Number(types.I64, leakyFactor))
		above := e.Do(ops.LeftShift, sum, compose.Number(types.I64, leakyShift))
		sum, bits = e.Do(ops.Where, e.Do(ops.Less, sum, compose.Number(types.I64, 0)), below, above), bits+leakyShift
	}
	lo, hi := math.MinInt8, math.MaxInt8
	if l.Act == Relu || l.Act == Relu6 {
		lo = 0
	}
	if l.Act == Relu6 {
		hi = int(sixAt(position))
	}
	var y *graph.Value
	if sum.Type.DType == types.I32 && bits <= exactBits {
		a := ops.RequantizeAttrs{OutDType: types.I8, Rounding: ops.HalfUp}
		y = e.Apply(ops.Requantize, a, sum, power(-bits), compose.Number(types.I32, 0), power(0), zero8())
		if lo == 0 {
			y = e.Do(ops.Maximum, y, zero8())
		}
		if hi < math.MaxInt8 {
			y = e.Do(ops.Minimum, y, compose.Const(tensor.Scalar(int8(hi))))
		}
		return y
	}
	sum = e.Cast(sum, types.I64)
	number := func(v int) *graph.Value { return compose.Number(types.I64, float64(v)) }
	switch {
	case bits > 0:
		y = e.Do(ops.RightShift, e.Do(ops.Add, sum, number(1<<(bits-1))), number(bits))
	default:
		y = e.Do(ops.LeftShift, sum, number(-bits))
	}
	return e.Cast(e.Do(ops.Minimum, e.Do(ops.Maximum, y, number(lo)), number(hi)), types.I8)
}

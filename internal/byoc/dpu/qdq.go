package dpu

import (
	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// QDQ is the network in floats with a quantize and a dequantize behind every layer, int8 with scales that are powers of two, as AMD's
// tools for ONNX Runtime take networks. Where the DPU rounds half up these round half to even, and averages are exact.
func (f *Fixed) QDQ(name string) (*graph.Graph, error) {
	q := &pairs{Builder: compose.NewBuilder(name), Network: f.Network, fixed: f, maps: make([]*graph.Value, len(f.Tensors))}
	return q.graph()
}

// Float is the network in floats, and the values of its tensors.
func (n *Network) Float(name string) (*graph.Graph, []*graph.Value, error) {
	q := &pairs{Builder: compose.NewBuilder(name), Network: n, maps: make([]*graph.Value, len(n.Tensors))}
	g, err := q.graph()
	return g, q.maps, err
}

// graph builds the network.
func (q *pairs) graph() (*graph.Graph, error) {
	b := q.Builder
	err := compose.Try(func() {
		for _, at := range q.Inputs {
			t := q.Tensors[at]
			q.maps[at] = q.round(b.Graph.Input(t.Name, types.Of(types.F32, t.Shape[:]...)), at)
		}
		for i := range q.Layers {
			l := &q.Layers[i]
			b.Origin = []string{l.Name}
			q.maps[l.To] = q.round(q.activation(l, q.layer(i)), l.To)
		}
		for _, o := range q.Outputs {
			y := b.Reshape(q.maps[o.Tensor], o.Type.Shape...)
			if y.Def != nil {
				y.Name = o.Name
			}
			b.Graph.Outputs = append(b.Graph.Outputs, y)
		}
	})
	return b.Graph, err
}

type pairs struct {
	*compose.Builder
	*Network
	fixed *Fixed         // nil: nothing is rounded
	maps  []*graph.Value // float32, by tensor
}

// round is x at the position of tensor t.
func (q *pairs) round(x *graph.Value, t int) *graph.Value {
	if q.fixed == nil {
		return x
	}
	p := q.fixed.Positions[t]
	a := ops.QuantizeAttrs{OutDType: types.I8, Rounding: ops.HalfEven}
	return q.Apply(ops.Dequantize, ops.DequantizeAttrs{}, q.Apply(ops.Quantize, a, x, power(-p), zero8()), power(-p), zero8())
}

// constant is weights or a bias: floats, or integers at position p.
func (q *pairs) constant(floats []float32, values []int8, p int, shape ...int) *graph.Value {
	if q.fixed == nil {
		return compose.Const(tensor.Of(shape, floats))
	}
	return q.Apply(ops.Dequantize, ops.DequantizeAttrs{}, compose.Const(tensor.Of(shape, values)), power(-p), zero8())
}

func (q *pairs) layer(i int) *graph.Value {
	l := &q.Layers[i]
	x := q.maps[l.From[0]]
	switch l.Kind {
	case Conv, Depthwise:
		var p Param
		if q.fixed != nil {
			p = q.fixed.Params[i]
		}
		inner, groups := l.InChannels, 1
		if l.Kind == Depthwise {
			inner, groups = 1, l.InChannels
		}
		in := []*graph.Value{x, q.constant(l.Weights, p.Weights, p.WeightPos, l.OutChannels, inner, l.Kernel[0], l.Kernel[1])}
		if l.Bias != nil {
			in = append(in, q.constant(l.Bias, p.Bias, p.BiasPos, l.OutChannels))
		}
		return q.Apply(ops.Conv2d, ops.ConvAttrs{Strides: l.Stride[:], Padding: l.Pad[:], Dilation: l.Dilation[:], Groups: groups}, in...)
	case MaxPool:
		return q.Apply(ops.MaxPool2d, ops.PoolAttrs{PoolSize: l.Kernel[:], Strides: l.Stride[:], Padding: l.Pad[:], Dilation: l.Dilation[:]}, x)
	case AvgPool:
		return q.Apply(ops.AvgPool2d, ops.AvgPoolAttrs{PoolSize: l.Kernel[:], Strides: l.Stride[:], Padding: l.Pad[:], Dilation: l.Dilation[:], CountIncludePad: true}, x)
	case Add:
		return q.Do(ops.Add, x, q.maps[l.From[1]])
	case Multiply:
		return q.Do(ops.Multiply, x, q.maps[l.From[1]])
	case Concat:
		var parts []*graph.Value
		for _, t := range l.From {
			parts = append(parts, q.maps[t])
		}
		return q.Concat(1, parts...)
	case Upsample:
		s := q.Tensors[l.To].Shape
		return q.Apply(ops.Resize, ops.ResizeAttrs{Sizes: s[:], Method: "nearest", CoordinateTransformationMode: "asymmetric", NearestMode: "floor"}, x)
	case HardSigmoid:
		return q.Apply(ops.HardSigmoid, ops.HardSigmoidAttrs{Alpha: 1. / 6, Beta: 0.5}, x)
	}
	return x
}

func (q *pairs) activation(l *Layer, x *graph.Value) *graph.Value {
	switch l.Act {
	case Relu:
		return q.Do(ops.Relu, x)
	case Relu6:
		return q.Apply(ops.Clip, ops.ClipAttrs{HasMin: true, HasMax: true, Max: 6}, x)
	case Leaky:
		return q.Apply(ops.LeakyRelu, ops.AlphaAttrs{Alpha: leakySlope}, x)
	}
	return x
}

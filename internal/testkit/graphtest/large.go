package graphtest

import (
	"fmt"
	"math/rand/v2"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// A Family makes networks of one kind and any size, for tests of how the work of a phase grows.
type Family struct {
	Name string
	// Make gives the network with about n nodes, or n operands or results where the kind is about these.
	Make func(n int) *graph.Graph
}

// Families are the kinds: deep, wide and both, fusable and not.
var Families = []Family{
	{"relu chain", chainOf(func(l *large, x *graph.Value) *graph.Value { return l.apply(ops.Relu, op.None{}, x) })},
	{"square chain", chainOf(func(l *large, x *graph.Value) *graph.Value { return l.apply(ops.Multiply, op.None{}, x, x) })},
	{"x*sigmoid(x) chain", chainOf(func(l *large, x *graph.Value) *graph.Value {
		return l.apply(ops.Multiply, op.None{}, x, l.apply(ops.Sigmoid, op.None{}, x))
	})},
	{"bias chain", chainOf(func(l *large, x *graph.Value) *graph.Value { return l.apply(ops.Add, op.None{}, x, l.weight(8)) })},
	{"transpose chain", chainOf(func(l *large, x *graph.Value) *graph.Value {
		return l.apply(ops.Tanh, op.None{}, l.apply(ops.Transpose, ops.TransposeAttrs{Axes: []int{1, 0}}, x))
	})},
	{"reshape chain", chainOf(func(l *large, x *graph.Value) *graph.Value {
		s := x.Type.Shape
		return l.apply(ops.Tanh, op.None{}, l.apply(ops.Reshape, ops.ReshapeAttrs{NewShape: []int{s[1], s[0]}}, x))
	})},
	{"slice and pad chain", chainOf(func(l *large, x *graph.Value) *graph.Value {
		s := l.apply(ops.StridedSlice, ops.StridedSliceAttrs{Begin: []int{0, 1}, End: []int{4, 8}, Strides: []int{1, 1}}, x)
		return l.apply(ops.Pad, ops.PadAttrs{PadBefore: []int{0, 1}, PadAfter: []int{0, 0}, Mode: "constant"}, s)
	})},
	{"reduction chain", chainOf(func(l *large, x *graph.Value) *graph.Value {
		return l.apply(ops.Subtract, op.None{}, x, l.apply(ops.Mean, ops.ReduceAttrs{Axis: []int{1}, KeepDims: true}, x))
	})},
	{"softmax chain", chainOf(func(l *large, x *graph.Value) *graph.Value {
		return l.apply(ops.Softmax, ops.SoftmaxAttrs{Axis: 1}, x)
	})},
	{"dense chain", chainOf(func(l *large, x *graph.Value) *graph.Value {
		return l.apply(ops.Relu, op.None{}, l.apply(ops.Dense, op.None{}, x, l.weight(8, 8)))
	})},
	{"convolution chain", convolutions},
	{"constant chain", func(n int) *graph.Graph {
		l, x := newLarge()
		w := l.weight(4, 8)
		for range n {
			w = l.apply(ops.Add, op.None{}, w, l.weight(8))
		}
		return l.outputs(l.apply(ops.Add, op.None{}, x, w))
	}},
	{"Fibonacci", func(n int) *graph.Graph {
		l, x := newLarge()
		a, b := x, l.apply(ops.Tanh, op.None{}, x)
		for range n {
			a, b = b, l.apply(ops.Add, op.None{}, a, b)
		}
		return l.outputs(b)
	}},
	{"sum tree", func(n int) *graph.Graph {
		l, x := newLarge()
		parts := l.fan(x, n/2)
		for len(parts) > 1 {
			parts = append(parts[2:], l.apply(ops.Add, op.None{}, parts[0], parts[1]))
		}
		return l.outputs(parts[0])
	}},
	{"sum of many", func(n int) *graph.Graph {
		l, x := newLarge()
		parts := l.fan(x, n/2)
		sum := parts[0]
		for _, p := range parts[1:] {
			sum = l.apply(ops.Add, op.None{}, sum, p)
		}
		return l.outputs(sum)
	}},
	{"sum of inputs", func(n int) *graph.Graph {
		l, sum := newLarge()
		for i := range n {
			sum = l.apply(ops.Maximum, op.None{}, sum, l.g.Input(fmt.Sprintf("x%d", i), sum.Type))
		}
		return l.outputs(sum)
	}},
	{"concatenation of many", func(n int) *graph.Graph {
		l, x := newLarge()
		return l.outputs(l.apply(ops.Concatenate, ops.ConcatenateAttrs{Axis: 0}, l.fan(x, n)...))
	}},
	{"concatenation of inputs", func(n int) *graph.Graph {
		l, x := newLarge()
		in := []*graph.Value{x}
		for i := range n {
			in = append(in, l.g.Input(fmt.Sprintf("x%d", i), x.Type))
		}
		return l.outputs(l.apply(ops.Concatenate, ops.ConcatenateAttrs{Axis: 1}, in...))
	}},
	{"nested concatenations", func(n int) *graph.Graph {
		l, x := newLarge()
		all := x
		for range n / 2 {
			y := l.apply(ops.Tanh, op.None{}, x)
			x = y
			all = l.apply(ops.Concatenate, ops.ConcatenateAttrs{Axis: 0}, all, y)
		}
		return l.outputs(all)
	}},
	{"split into many", func(n int) *graph.Graph {
		l := &large{Rand: rand.New(rand.NewPCG(1, 2)), g: &graph.Graph{Name: "main"}}
		x := l.g.Input("x", types.Of(types.F32, n, 4))
		sizes := make([]int, n)
		for i := range sizes {
			sizes[i] = 1
		}
		m := l.node(ops.Split, ops.SplitAttrs{Axis: 0, Sizes: sizes}, x)
		sum := m.Out[0]
		for _, p := range m.Out[1:] {
			sum = l.apply(ops.Add, op.None{}, sum, p)
		}
		return l.outputs(sum)
	}},
	{"many outputs", func(n int) *graph.Graph {
		l, x := newLarge()
		return l.outputs(l.fan(x, n)...)
	}},
	{"one chain, many outputs", func(n int) *graph.Graph {
		l, x := newLarge()
		var outs []*graph.Value
		for range n {
			x = l.apply(ops.Tanh, op.None{}, x)
			outs = append(outs, x)
		}
		return l.outputs(outs...)
	}},
	{"many constants read as outputs", func(n int) *graph.Graph {
		l, _ := newLarge()
		var outs []*graph.Value
		for range n {
			outs = append(outs, l.apply(ops.Copy, op.None{}, l.weight(3)))
		}
		return l.outputs(outs...)
	}},
	{"selection chain", chainOf(func(l *large, x *graph.Value) *graph.Value {
		c := l.apply(ops.Greater, op.None{}, x, l.weight(1))
		return l.apply(ops.Where, op.None{}, c, l.apply(ops.Tanh, op.None{}, x), l.apply(ops.Negative, op.None{}, x))
	})},
	{"quantised chain", chainOf(func(l *large, x *graph.Value) *graph.Value {
		s, z := graph.NewConst(l.name(), tensor.Scalar(float32(0.1))), graph.NewConst(l.name(), tensor.Scalar(uint8(128)))
		q := l.apply(ops.Quantize, ops.QuantizeAttrs{Axis: 0, OutDType: types.U8, Rounding: ops.HalfEven}, x, s, z)
		return l.apply(ops.Tanh, op.None{}, l.apply(ops.Dequantize, ops.DequantizeAttrs{Axis: 0}, q, s, z))
	})},
	{"running sums", chainOf(func(l *large, x *graph.Value) *graph.Value {
		return l.apply(ops.CumSum, ops.CumulativeAttrs{Axis: 1}, x)
	})},
}

type large struct {
	*rand.Rand
	g      *graph.Graph
	consts int
}

// newLarge is an empty network and its input.
func newLarge() (*large, *graph.Value) {
	l := &large{Rand: rand.New(rand.NewPCG(1, 2)), g: &graph.Graph{Name: "main"}}
	return l, l.g.Input("x", types.Of(types.F32, 4, 8))
}

// chainOf applies step until there are n nodes.
func chainOf(step func(l *large, x *graph.Value) *graph.Value) func(n int) *graph.Graph {
	return func(n int) *graph.Graph {
		l, x := newLarge()
		for len(l.g.Nodes) < n {
			x = step(l, x)
		}
		return l.outputs(x)
	}
}

// convolutions is a chain of convolution, bias and ReLU, with a residual sum at every other one.
func convolutions(n int) *graph.Graph {
	l := &large{Rand: rand.New(rand.NewPCG(1, 2)), g: &graph.Graph{Name: "main"}}
	x := l.g.Input("x", types.Of(types.F32, 1, 8, 6, 6))
	a := ops.ConvAttrs{Strides: []int{1, 1}, Padding: []int{0, 0, 0, 0}, Dilation: []int{1, 1}, Groups: 1}
	for i := 0; len(l.g.Nodes) < n; i++ {
		y := l.apply(ops.Conv2d, a, x, l.weight(8, 8, 1, 1))
		y = l.apply(ops.Add, op.None{}, y, l.weight(8, 1, 1))
		if i%2 == 1 {
			y = l.apply(ops.Add, op.None{}, y, x)
		}
		x = l.apply(ops.Relu, op.None{}, y)
	}
	return l.outputs(x)
}

func (l *large) name() string { l.consts++; return fmt.Sprintf("w%d", l.consts) }

func (l *large) weight(shape ...int) *graph.Value {
	return graph.NewConst(l.name(), normal(l.Rand, shape, 0, 1))
}

// fan is x read by n nodes, which are all different.
func (l *large) fan(x *graph.Value, n int) []*graph.Value {
	list := make([]*graph.Value, n)
	for i := range list {
		list[i] = l.apply(ops.Multiply, op.None{}, x, graph.NewConst(l.name(), tensor.Scalar(float32(i)/8)))
	}
	return list
}

func (l *large) node(d *op.Def, attrs any, in ...*graph.Value) *graph.Node {
	m, err := l.g.Apply(d, attrs, in...)
	if err != nil {
		panic(fmt.Sprintf("graphtest: %s: %v", d.Name, err))
	}
	m.Origin = []string{fmt.Sprintf("%s_%d", d.Name, len(l.g.Nodes))}
	return m
}

func (l *large) apply(d *op.Def, attrs any, in ...*graph.Value) *graph.Value {
	return l.node(d, attrs, in...).Out[0]
}

func (l *large) outputs(vs ...*graph.Value) *graph.Graph {
	for i, v := range vs {
		v.Name = fmt.Sprintf("y%d", i)
	}
	l.g.Outputs = vs
	return l.g
}

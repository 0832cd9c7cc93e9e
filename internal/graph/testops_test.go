package graph

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/op"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// The operators of these tests: graph imports no real ones.

type convAttrs struct {
	Strides, Padding []int
	Groups           int
}

// everyAttr has a field of each kind that has a text form.
type everyAttr struct {
	Axis      int
	Small     int8
	Count     uint16
	Epsilon   float64
	Scale     float32
	KeepDims  bool
	Mode      string
	OutDType  types.DType
	DstLayout types.Layout
	Axes      []int
	Values    []float64
	Modes     []string
	Flags     []bool
	DTypes    []types.DType
	Indices   [][]int
	Deep      [][][]int
	Pair      pairAttr
	Pairs     []pairAttr
}

type pairAttr struct {
	First int
	Last  []int
}

func same(in []op.Arg) ([]types.Tensor, error) { return []types.Tensor{in[0].Tensor}, nil }

func unary[A any](name string) *op.Def {
	return op.Define(op.Spec[A]{
		Name: name, Args: []string{"x"},
		Infer: func(_ A, in []op.Arg) ([]types.Tensor, error) { return same(in) },
	})
}

var (
	testRelu  = unary[op.None]("nn.relu")
	testEvery = unary[everyAttr]("every")
	testAdd   = op.Define(op.Spec[op.None]{
		Name: "add", Args: []string{"a", "b"},
		Infer: func(_ op.None, in []op.Arg) ([]types.Tensor, error) {
			if in[0].DType != in[1].DType || !slices.Equal(in[0].Shape, in[1].Shape) {
				return nil, fmt.Errorf("%s and %s differ", in[0].Tensor, in[1].Tensor)
			}
			return same(in)
		},
	})
	// testConv has the channels of its weight and halves the rest by stride.
	testConv = op.Define(op.Spec[convAttrs]{
		Name: "nn.conv2d", Args: []string{"data", "weight", "bias"}, MinIn: 2,
		Infer: func(a convAttrs, in []op.Arg) ([]types.Tensor, error) {
			if in[0].Rank() != 4 || in[1].Rank() != 4 || len(a.Strides) != 2 || a.Strides[0] < 1 || a.Strides[1] < 1 {
				return nil, errors.New("a convolution takes four axes and two strides")
			}
			s := in[0].Shape
			return []types.Tensor{types.Of(in[0].DType, s[0], in[1].Shape[0], s[2]/a.Strides[0], s[3]/a.Strides[1])}, nil
		},
	})
	testHalves = op.Define(op.Spec[op.None]{
		Name: "halves", Args: []string{"x"},
		Infer: func(_ op.None, in []op.Arg) ([]types.Tensor, error) {
			if in[0].Rank() == 0 {
				return nil, errors.New("a scalar has no halves")
			}
			t := types.Of(in[0].DType, append([]int{in[0].Shape[0] / 2}, in[0].Shape[1:]...)...)
			return []types.Tensor{t, t}, nil
		},
	})
	testShapeOf = op.Define(op.Spec[op.None]{
		Name: "shape_of", Args: []string{"x"},
		Infer: func(_ op.None, in []op.Arg) ([]types.Tensor, error) {
			return []types.Tensor{types.Of(types.I64, in[0].Rank())}, nil
		},
		Eval: func(_ op.None, in, out []*tensor.Tensor) error {
			for i, d := range in[0].Shape {
				out[0].SetInt(i, int64(d))
			}
			return nil
		},
	})
	// testReshape needs the value of its second operand.
	testReshape = op.Define(op.Spec[op.None]{
		Name: "reshape", Args: []string{"x", "shape"},
		Infer: func(_ op.None, in []op.Arg) ([]types.Tensor, error) {
			if in[1].Value == nil || in[1].DType != types.I64 {
				return nil, errors.New("the shape must be known")
			}
			t := types.Of(in[0].DType, in[1].Value.Ints()...)
			if err := t.Check(); err != nil {
				return nil, err
			}
			if t.Elements() != in[0].Elements() {
				return nil, fmt.Errorf("%s as %s", in[0].Tensor, t)
			}
			return []types.Tensor{t}, nil
		},
	})
)

func testOps(name string) (*op.Def, bool) {
	for _, d := range []*op.Def{testRelu, testEvery, testAdd, testConv, testHalves, testShapeOf, testReshape} {
		if d.Name == name {
			return d, true
		}
	}
	return nil, false
}

func apply(t testing.TB, g *Graph, d *op.Def, attrs any, in ...*Value) *Node {
	t.Helper()
	n, err := g.Apply(d, attrs, in...)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// ramp is a float32 tensor whose elements differ.
func ramp(shape ...int) *tensor.Tensor {
	v := tensor.New(types.F32, shape...)
	for i := range v.Len() {
		v.SetFloat(i, float64(i)/4-1)
	}
	return v
}

// testNet has a layout, constants of both kinds, one used twice, known values, two results, awkward names, and a group.
func testNet(t testing.TB) *Graph {
	g := &Graph{Name: "net"}
	data := g.Input("data:0", types.Of(types.F32, 1, 4, 8, 8))
	w := NewConst("conv.weight", ramp(4, 4, 3, 3))
	conv := apply(t, g, testConv, convAttrs{Strides: []int{1, 1}, Padding: []int{1, 1, 1, 1}}, data, w)
	conv.Out[0].Name = "/block/conv"
	conv.Out[0].Type.Layout = "ABCD4b"
	conv.Impl = Impl{Name: "direct", Point: choice.Point{"panel": "4", "algorithm": "direct"}}
	conv.Why = `it is "best"`
	conv.Origin = []string{"Conv_0", `odd "name"`}

	sub := &Graph{Name: "relu conv"}
	x := sub.Input("", conv.Out[0].Type)
	relu := apply(t, sub, testRelu, op.None{}, x)
	relu.Out[0].Type.Layout = x.Type.Layout
	relu.Origin = []string{"Relu_1"}
	last := apply(t, sub, testConv, convAttrs{Strides: []int{2, 2}}, relu.Out[0], w)
	sub.Outputs = []*Value{last.Out[0]}
	group := NewGroup(sub, []*Value{conv.Out[0]})
	g.Nodes = append(g.Nodes, group)

	two := apply(t, g, testHalves, op.None{}, NewConst("", tensor.Of([]int{2, 2}, []int64{1, -1, 16, 4})))
	shape := apply(t, g, testShapeOf, op.None{}, NewConst("conv.weight", ramp(64, 1)))
	flat := apply(t, g, testReshape, op.None{}, group.Out[0], shape.Out[0])
	flat.Out[0].Name = "out"
	two.Out[1].Name = "7"
	g.Outputs = []*Value{flat.Out[0], two.Out[1], w, data}
	return g
}

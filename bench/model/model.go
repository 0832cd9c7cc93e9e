// Package model writes ONNX models from Go: networks and single operators with random weights and inputs, the same bytes
// every time. Nodes are those that exporters write, so that a reader of ONNX recognises what it recognises in users' files.
package model

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"lathe/internal/export/onnx"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// Opset is the version of ai.onnx of all models.
const Opset = 17

// A Value is the name of a tensor; the empty one is an operand that is absent.
type Value string

// Attr is an attribute of a node: an int, float64, string, []int, []float64, []string, *tensor.Tensor or *onnx.Graph.
type Attr = onnx.Attr

// At makes an attribute.
func At(name string, value any) Attr { return Attr{Name: name, Value: value} }

// Absent stands for an operand that is left out.
const Absent = Value("")

// A Builder collects a model.
type Builder struct {
	// Parameters counts the elements that training changes: all of Weight, none of Constant.
	Parameters int
	// Observe makes Static give what it would quantise as outputs.
	Observe bool

	graph  *onnx.Graph
	inputs []*tensor.Tensor
	random *rand.Rand
	counts map[string]int // of names by their stem
}

// New returns a builder whose random numbers depend on the name.
func New(name string) *Builder {
	h := fnv.New64a()
	h.Write([]byte(name))
	return &Builder{graph: &onnx.Graph{Name: name}, random: rand.New(rand.NewPCG(h.Sum64(), 1)), counts: map[string]int{}}
}

// fresh is a name that nothing has.
func (b *Builder) fresh(stem string) Value {
	b.counts[stem]++
	return Value(fmt.Sprintf("%s_%d", stem, b.counts[stem]))
}

// Input is a float32 input of normal random numbers.
func (b *Builder) Input(shape ...int) Value { return b.InputOf(b.Normal(1, shape...)) }

// Indices is an int64 input of numbers in [0, high).
func (b *Builder) Indices(high int, shape ...int) Value { return b.InputOf(b.Integers(high, shape...)) }

// InputOf is an input that is run with the given tensor.
func (b *Builder) InputOf(t *tensor.Tensor) Value {
	name := "input"
	if len(b.inputs) > 0 {
		name = fmt.Sprintf("input%d", len(b.inputs)+1)
	}
	b.inputs = append(b.inputs, t)
	b.graph.Inputs = append(b.graph.Inputs, onnx.Value{Name: name, DType: t.DType, Dims: onnx.Dims(t.Shape...)})
	return Value(name)
}

// Weight is a trained constant of normal random numbers with a standard deviation.
func (b *Builder) Weight(deviation float64, shape ...int) Value {
	b.Parameters += types.Count(shape)
	return b.Constant(b.Normal(deviation, shape...))
}

// Scale is a trained constant of numbers near 1.
func (b *Builder) Scale(shape ...int) Value {
	b.Parameters += types.Count(shape)
	return b.Constant(b.Uniform(0.9, 1.1, shape...))
}

// Constant is a constant that training does not change.
func (b *Builder) Constant(t *tensor.Tensor) Value {
	name := b.fresh("const")
	b.graph.Initializers = append(b.graph.Initializers, onnx.Initializer{Name: string(name), Tensor: t})
	return name
}

// Ints is a constant list of int64.
func (b *Builder) Ints(v ...int) Value {
	list := make([]int64, len(v))
	for i, n := range v {
		list[i] = int64(n)
	}
	return b.Constant(tensor.Of([]int{len(v)}, list))
}

// Number is a constant scalar.
func (b *Builder) Number(v float32) Value { return b.Constant(tensor.Scalar(v)) }

// Op adds a node with one result.
func (b *Builder) Op(op string, in []Value, attrs ...Attr) Value {
	return b.Ops(op, 1, in, attrs...)[0]
}

// Do is Op without attributes.
func (b *Builder) Do(op string, in ...Value) Value { return b.Op(op, in) }

// Ops adds a node with several results.
func (b *Builder) Ops(op string, results int, in []Value, attrs ...Attr) []Value {
	n := &onnx.Node{Name: string(b.fresh("node")), Op: op, Attrs: attrs}
	for _, v := range in {
		n.In = append(n.In, string(v))
	}
	var out []Value
	for range results {
		v := b.fresh(op)
		out, n.Out = append(out, v), append(n.Out, string(v))
	}
	b.graph.Nodes = append(b.graph.Nodes, n)
	return out
}

// Microsoft adds a node of an operator of ONNX Runtime's own domain, with one result.
func (b *Builder) Microsoft(op string, in []Value, attrs ...Attr) Value {
	y := b.Op(op, in, attrs...)
	b.graph.Nodes[len(b.graph.Nodes)-1].Domain = microsoft
	return y
}

// microsoft is the domain of ONNX Runtime's operators.
const microsoft = "com.microsoft"

// Output makes values outputs of type float32.
func (b *Builder) Output(values ...Value) { b.OutputOf(types.F32, values...) }

// OutputOf makes values outputs; readers infer the shapes.
func (b *Builder) OutputOf(d types.DType, values ...Value) {
	for _, v := range values {
		b.graph.Outputs = append(b.graph.Outputs, onnx.Value{Name: string(v), DType: d, Free: true})
	}
}

// Body is a builder of the body of a control-flow node: its names and random numbers go on from b's. Graph closes it.
func (b *Builder) Body(name string) *Builder {
	return &Builder{graph: &onnx.Graph{Name: name}, random: b.random, counts: b.counts}
}

// Argument is an input of a body.
func (b *Builder) Argument(d types.DType, shape ...int) Value {
	v := b.fresh("argument")
	b.graph.Inputs = append(b.graph.Inputs, onnx.Value{Name: string(v), DType: d, Dims: onnx.Dims(shape...)})
	return v
}

// Name is what New was given.
func (b *Builder) Name() string { return b.graph.Name }

// Inputs are the tensors that inputs are run with.
func (b *Builder) Inputs() []*tensor.Tensor { return b.inputs }

// Graph is what was built so far.
func (b *Builder) Graph() *Graph { return b.graph }

// A Graph is what a builder has built: a model's, or the body of one of its loops.
type Graph = onnx.Graph

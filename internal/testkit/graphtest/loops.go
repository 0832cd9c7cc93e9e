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

// Loops makes a network around a loop or branches, with others in their bodies now and then: any numbers of iterations and of carried,
// sliced, captured and stacked values, among them constants, values that are several of these, and values that come out as
// they went in.
func Loops(r *rand.Rand) *graph.Graph {
	n := &network{Rand: r, g: &graph.Graph{Name: "main"}}
	shape := []int{n.between(1, 4), n.between(1, 40)}
	if !n.coin(12) {
		shape[0] = 0
	}
	for range n.between(1, 2) {
		n.vals = append(n.vals, n.g.Input(fmt.Sprintf("x%d", len(n.vals)), types.Of(types.F32, shape...)))
	}
	for _, x := range n.g.Inputs {
		n.measures(x)
	}
	n.steps(shape, 2)
	n.region(shape, 2)
	n.steps(shape, 2)
	for i, v := range n.vals {
		if i == len(n.vals)-1 || i >= len(n.g.Inputs) && n.coin(2) {
			v.Name = fmt.Sprintf("y%d", i)
			n.g.Outputs = append(n.g.Outputs, v)
		}
	}
	for i, v := range n.open {
		v.Name = fmt.Sprintf("z%d", i)
		n.g.Outputs = append(n.g.Outputs, v)
	}
	return n.g
}

// steps adds up to most nodes on values of a shape, whose results stay within a few units.
func (n *network) steps(shape []int, most int) {
	of := func() *graph.Value { return n.vals[n.IntN(len(n.vals))] }
	for range n.between(1, most) {
		x := of()
		switch n.IntN(6) {
		case 0:
			x = n.must(ops.Tanh, op.None{}, n.must(ops.Add, op.None{}, x, of()))
		case 1:
			x = n.must(ops.Multiply, op.None{}, n.must(ops.Sigmoid, op.None{}, x), of())
		case 2:
			w := graph.NewConst("", normal(n.Rand, []int{shape[1], shape[1]}, 0, 0.3))
			x = n.must(ops.Tanh, op.None{}, n.must(ops.Dense, op.None{}, x, w))
		case 3:
			x = n.must(ops.Softmax, ops.SoftmaxAttrs{Axis: 1}, x)
		case 4:
			square := n.must(ops.Multiply, op.None{}, x, x) // whose mean is not made of roundings
			x = n.must(ops.Subtract, op.None{}, x, n.must(ops.Mean, ops.ReduceAttrs{Axis: []int{1}, KeepDims: true}, square))
		default: // two ways of memory: joined, and under another shape
			x = n.must(ops.Concatenate, ops.ConcatenateAttrs{Axis: 0}, x, n.must(ops.Negative, op.None{}, of()))
			x = n.must(ops.Reshape, ops.ReshapeAttrs{NewShape: []int{2, shape[0], shape[1]}}, x)
			x = n.must(ops.Max, ops.ReduceAttrs{Axis: []int{0}}, x)
		}
		n.vals = append(n.vals, x)
	}
}

func (n *network) must(d *op.Def, attrs any, in ...*graph.Value) *graph.Value {
	m, err := n.g.Apply(d, attrs, in...)
	if err != nil {
		panic(err)
	}
	m.Origin = []string{d.Name}
	return m.Out[0]
}

// loop adds a loop over values of a shape, which has loops in its body up to a depth.
func (n *network) loop(shape []int, depth int) {
	a := graph.LoopAttrs{Trips: n.between(1, 6), Carried: n.IntN(4), Sequences: n.IntN(3), Reverse: n.coin(2)}
	t := types.Of(types.F32, shape...)
	body := n.inside()
	var in []*graph.Value
	take := func(v *graph.Value) {
		in = append(in, v)
		body.take(t)
	}
	of := func() *graph.Value {
		if !n.coin(5) {
			return graph.NewConst("", normal(n.Rand, shape, 0, 1))
		}
		return n.vals[n.IntN(len(n.vals))]
	}
	for range a.Carried {
		take(of())
	}
	for range a.Sequences {
		parts := make([]*graph.Value, a.Trips)
		for i := range parts {
			parts[i] = of()
		}
		whole := parts[0]
		if a.Trips > 1 {
			whole = n.must(ops.Concatenate, ops.ConcatenateAttrs{Axis: 0}, parts...)
		}
		take(n.must(ops.Reshape, ops.ReshapeAttrs{NewShape: append([]int{a.Trips}, shape...)}, whole))
	}
	for range n.between(1, 2) {
		take(of())
	}
	if len(n.counts) > 0 {
		in = append(in, n.counts[n.IntN(len(n.counts))])
		body.take(graph.CountType)
	}
	body.steps(shape, 3)
	if depth > 1 && !n.coin(3) {
		body.region(shape, depth-1)
	}
	stacked := n.IntN(4)
	if a.Carried+stacked == 0 {
		stacked = 1
	}
	for range a.Carried + stacked {
		v := body.vals[len(body.vals)-1-n.IntN(min(4, len(body.vals)))]
		if !n.coin(10) {
			v = graph.NewConst("", tensor.New(types.F32, shape...))
		}
		body.g.Outputs = append(body.g.Outputs, v)
	}
	m, err := graph.NewLoop(body.g, a, in)
	if err != nil {
		panic(err)
	}
	m.Origin = []string{"loop"}
	n.g.Nodes = append(n.g.Nodes, m)
	n.vals = append(n.vals, m.Out[:a.Carried]...)
	for _, v := range m.Out[a.Carried:] {
		n.vals = append(n.vals, n.must(ops.Sum, ops.ReduceAttrs{Axis: []int{0}}, v))
	}
}

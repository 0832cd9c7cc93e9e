package graphtest

import (
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// measures are numbers of an input, the same in all evaluations: roundings do not change them. Conditions come from them.
func (n *network) measures(x *graph.Value) {
	if x.Type.Elements() == 0 {
		return
	}
	all := n.must(ops.Max, ops.ReduceAttrs{Axis: []int{0, 1}}, x)
	n.counts = append(n.counts, n.must(ops.Cast, ops.CastAttrs{DType: types.I64}, n.must(ops.Multiply, op.None{}, all, n.number(types.F32, 2))))
}

func (n *network) number(d types.DType, v float64) *graph.Value {
	t := tensor.New(d)
	t.SetFloat(0, v)
	return graph.NewConst("", t)
}

// truth is a condition that depends on data.
func (n *network) truth() *graph.Value {
	of := n.counts[n.IntN(len(n.counts))]
	return n.must([]*op.Def{ops.Less, ops.Greater, ops.Equal}[n.IntN(3)], op.None{}, of, n.number(types.I64, float64(n.IntN(6))))
}

// inside is a network for a body that reads values from around it: captured ones, which are further operands.
func (n *network) inside(captured ...*graph.Value) *network {
	b := &network{Rand: n.Rand, g: &graph.Graph{Name: "body"}}
	for _, v := range captured {
		b.take(v.Type)
	}
	return b
}

// take adds an input of a body.
func (n *network) take(t types.Tensor) *graph.Value {
	v := n.g.Input("", t)
	if t.DType == types.I64 {
		n.counts = append(n.counts, v)
	} else if t.DType.IsFloat() {
		n.vals = append(n.vals, v)
	}
	return v
}

// region adds a loop or branches over values of a shape, which have others in their bodies up to a depth.
func (n *network) region(shape []int, depth int) {
	switch k := n.IntN(4); {
	case len(n.counts) == 0 || k < 2:
		n.loop(shape, depth)
	case k == 2:
		n.branch(shape, depth)
	default:
		n.while(shape, depth)
	}
}

// branch adds an if. Of a branch that adds nothing the results are what it captures, or constants.
func (n *network) branch(shape []int, depth int) {
	captured := []*graph.Value{n.vals[n.IntN(len(n.vals))], n.vals[n.IntN(len(n.vals))], n.counts[n.IntN(len(n.counts))]}
	results := n.between(1, 3)
	bodies := make([]*graph.Graph, 2)
	for k := range bodies {
		b := n.inside(captured...)
		if n.coin(4) {
			b.steps(shape, 3)
		}
		if depth > 1 && !n.coin(3) {
			b.region(shape, depth-1)
		}
		for range results {
			v := b.vals[b.IntN(len(b.vals))]
			if !n.coin(10) {
				v = graph.NewConst("", normal(n.Rand, shape, 0, 1))
			}
			b.g.Outputs = append(b.g.Outputs, v)
		}
		bodies[k] = b.g
	}
	m, err := graph.NewIf(bodies[0], bodies[1], append([]*graph.Value{n.truth()}, captured...))
	if err != nil {
		panic(err)
	}
	m.Origin = []string{"if"}
	n.g.Nodes = append(n.g.Nodes, m)
	n.vals = append(n.vals, m.Out...)
}

// while adds a loop that ends when a count has come to a number of the data, or to a bound.
func (n *network) while(shape []int, depth int) {
	a := graph.LoopAttrs{While: true, Carried: 2 + n.IntN(3)}
	stacked := 0 // their extents depend on data: outputs read them
	if n.g.Name == "main" {
		stacked = max(n.IntN(4)-1, 0)
	}
	if stacked > 0 || !n.coin(4) {
		a.Trips = n.between(8, 12) // more than numbers of data are
	}
	limit := n.counts[n.IntN(len(n.counts))]
	in := []*graph.Value{n.must(ops.Less, op.None{}, n.number(types.I64, 0), limit), n.number(types.I64, 0)}
	b := n.inside()
	b.take(types.Of(types.Bool))
	i := b.take(graph.CountType)
	for range a.Carried - 2 {
		in = append(in, n.vals[n.IntN(len(n.vals))])
		b.take(in[len(in)-1].Type)
	}
	to := b.take(limit.Type)
	captured := n.vals[n.IntN(len(n.vals))]
	b.take(captured.Type)
	b.steps(shape, 2)
	if depth > 1 && !n.coin(3) {
		b.region(shape, depth-1)
	}
	next := b.must(ops.Add, op.None{}, i, n.number(types.I64, 1))
	b.g.Outputs = []*graph.Value{b.must(ops.Less, op.None{}, next, to), next}
	for range a.Carried - 2 + stacked {
		b.g.Outputs = append(b.g.Outputs, b.vals[len(b.vals)-1-n.IntN(min(4, len(b.vals)))])
	}
	m, err := graph.NewLoop(b.g, a, append(in, limit, captured))
	if err != nil {
		panic(err)
	}
	m.Origin = []string{"loop"}
	n.g.Nodes = append(n.g.Nodes, m)
	n.vals = append(n.vals, m.Out[2:a.Carried]...)
	for _, v := range m.Out[a.Carried : a.Carried+stacked] {
		if n.coin(3) {
			v = n.must(ops.Negative, op.None{}, v)
		}
		n.open = append(n.open, v)
	}
	count := n.must(ops.Cast, ops.CastAttrs{DType: types.F32}, m.Out[len(m.Out)-1])
	n.vals = append(n.vals, n.must(ops.Multiply, op.None{}, count, n.vals[n.IntN(len(n.vals))]))
}

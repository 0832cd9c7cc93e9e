// Package graphtest makes small random networks for tests of graph passes and of the driver. It is for tests only.
package graphtest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// New makes a network of 3 to 12 nodes with constant weights and one or more inputs and outputs, as the models that
// compilers see: convolutions, normalisation, activations, residual sums, concatenation, pooling, reshapes, transposes,
// softmax and products, with what passes look for thrown in: repeated and constant nodes, nodes without effect, results
// read twice, outputs that are inputs.
func New(r *rand.Rand) *graph.Graph {
	n := &network{Rand: r, g: &graph.Graph{Name: "main"}}
	image := n.coin(3)
	if image {
		n.vals = append(n.vals, n.g.Input("x", types.Of(types.F32, n.between(1, 2), n.channels(), n.between(3, 9), n.between(3, 9))))
	} else {
		n.vals = append(n.vals, n.g.Input("x", types.Of(types.F32, n.between(1, 5), n.channels())))
	}
	if n.coin(3) {
		n.vals = append(n.vals, n.g.Input("x2", n.vals[0].Type))
	}
	for want := n.between(3, 12); len(n.g.Nodes) < want; {
		n.add(image)
	}
	n.outputs()
	return n.g
}

// Inputs are random values for g's inputs.
func Inputs(r *rand.Rand, g *graph.Graph) []*tensor.Tensor {
	in := make([]*tensor.Tensor, len(g.Inputs))
	for i, v := range g.Inputs {
		in[i] = normal(r, v.Type.Shape, 0, 1)
	}
	return in
}

func normal(r *rand.Rand, shape []int, mean, deviation float64) *tensor.Tensor {
	t := tensor.New(types.F32, shape...)
	for i := range t.Len() {
		t.SetFloat(i, mean+deviation*r.NormFloat64())
	}
	return t
}

type network struct {
	*rand.Rand
	g      *graph.Graph
	vals   []*graph.Value // what further nodes may read
	counts []*graph.Value // numbers that conditions depend on
	open   []*graph.Value // results whose extents depend on data
	consts int
	narrow bool // no 16-bit floats, which kernels keep in 32 bits
}

// coin is true in k-1 of k cases.
func (n *network) coin(k int) bool        { return n.IntN(k) > 0 }
func (n *network) between(lo, hi int) int { return lo + n.IntN(hi-lo+1) }
func (n *network) channels() int          { return []int{1, 3, 4, 8, 12, 16, 17, 32}[n.IntN(8)] }

// weight is a constant with values around mean.
func (n *network) weight(mean, deviation float64, shape ...int) *graph.Value {
	n.consts++
	return graph.NewConst(fmt.Sprintf("w%d", n.consts), normal(n.Rand, shape, mean, deviation))
}

// apply appends a node whose operands fit by construction; a use that inference refuses is left out.
func (n *network) apply(d *op.Def, attrs any, in ...*graph.Value) *graph.Value {
	if slices.Contains(in, nil) {
		return nil
	}
	m, err := n.g.Apply(d, attrs, in...)
	if err != nil {
		return nil
	}
	m.Origin = []string{fmt.Sprintf("%s_%d", d.Name, len(n.g.Nodes))}
	return m.Out[0]
}

// maxElements keeps the reference evaluation fast.
const maxElements = 20000

func (n *network) add(image bool) {
	x := n.vals[len(n.vals)-1]
	if n.IntN(3) == 0 { // read an older value
		x = n.vals[n.IntN(len(n.vals))]
	}
	if x.Type.DType != types.F32 || x.Type.Rank() == 0 || x.Type.Elements() == 0 {
		return
	}
	nodes := len(n.g.Nodes)
	makers := anyRank
	if image && len(x.Type.Shape) == 4 {
		makers = slices.Concat(images, images, anyRank)
	}
	y := makers[n.IntN(len(makers))](n, x)
	switch {
	case y == nil:
		n.g.Nodes = n.g.Nodes[:nodes]
	case y.Type.Elements() == 0 || y.Type.Elements() > maxElements:
		n.g.Nodes = n.g.Nodes[:nodes]
	default:
		n.vals = append(n.vals, y)
	}
}

// outputs takes the last value, and at times others: one that nodes read too, or an input.
func (n *network) outputs() {
	last := n.vals[len(n.vals)-1]
	n.g.Outputs = []*graph.Value{last}
	last.Name = "y"
	for i := 2; n.IntN(3) == 0; i++ {
		v := n.vals[n.IntN(len(n.vals))]
		if slices.Contains(n.g.Outputs, v) {
			continue
		}
		if v.Def != nil && v.Name == "" {
			v.Name = fmt.Sprintf("y%d", i)
		}
		n.g.Outputs = append(n.g.Outputs, v)
	}
	n.g.DeadCode()
}

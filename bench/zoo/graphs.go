package zoo

import (
	"math"

	"lathe/bench/model"
	"lathe/internal/tensor"
)

// The graph of Cora: papers with their words, and citations in both directions.
const coraNodes, coraWords, coraClasses, coraEdges = 2708, 1433, 7, 10556

// gcnCora classifies all papers by two products with the graph, a matrix that is nearly empty (Kipf and Welling 2017; tkipf/pygcn with a
// dense matrix).
func gcnCora(b exporter) {
	x := b.Input(coraNodes, coraWords)
	graph := b.InputOf(adjacency(b.Builder))
	layer := func(x model.Value, in, out int) model.Value {
		y := b.Do("MatMul", x, b.Weight(1/math.Sqrt(float64(in)), in, out))
		return b.add(b.Do("MatMul", graph, y), b.Weight(0.1, out))
	}
	x = layer(b.relu(layer(x, coraWords, 16)), 16, coraClasses)
	b.Output(b.Op("LogSoftmax", []model.Value{x}, model.At("axis", 1)))
}

// citations are random edges from row 0 to row 1, the last ones from each paper to itself.
func citations(b *model.Builder) *tensor.Tensor {
	const n = coraEdges + coraNodes
	t := b.Integers(coraNodes, 2, n)
	v := tensor.As[int64](t)
	for i := range coraNodes {
		v[coraEdges+i], v[n+coraEdges+i] = int64(i), int64(i)
	}
	return t
}

// adjacency is the citations as a matrix whose rows have the sum 1.
func adjacency(b *model.Builder) *tensor.Tensor {
	const n = coraEdges + coraNodes
	edges := tensor.As[int64](citations(b))
	m, sums := make([]float32, coraNodes*coraNodes), make([]float32, coraNodes)
	for i := range n {
		m[int(edges[i])*coraNodes+int(edges[n+i])]++
		sums[edges[i]]++
	}
	for i := range m {
		m[i] /= sums[i/coraNodes]
	}
	return tensor.Of([]int{coraNodes, coraNodes}, m)
}

// gat is a graph attention network over a list of edges.
type gat struct {
	exporter
	from, to model.Value
}

// gatCora classifies all papers by attention along citations: rows are gathered for each edge, and added up where edges end (Veličković
// et al. 2018; GATConv of PyTorch Geometric). Scores are not reduced by their largest, which needs a later operator set.
func gatCora(b exporter) {
	x := b.Input(coraNodes, coraWords)
	edges := b.InputOf(citations(b.Builder))
	g := gat{b, b.at(edges, 0, 0), b.at(edges, 0, 1)}
	x = g.Do("Elu", g.layer(x, coraWords, 8, 8))
	x = g.layer(x, 64, 1, coraClasses)
	g.Output(g.Op("LogSoftmax", []model.Value{x}, model.At("axis", 1)))
}

// layer is one of heads of a size.
func (g gat) layer(x model.Value, in, heads, size int) model.Value {
	x = g.Do("MatMul", x, g.Weight(1/math.Sqrt(float64(in)), in, heads*size))
	x = g.Reshape(x, -1, heads, size)
	score := func() model.Value {
		y := g.mul(x, g.Weight(0.3, 1, heads, size))
		return g.Op("ReduceSum", []model.Value{y, g.Ints(-1)}, model.At("keepdims", 0))
	}
	s := g.add(g.take(score(), g.from), g.take(score(), g.to))
	s = g.Do("Exp", g.leaky(s, 0.2))
	sums := g.add(g.scatter(x, s, heads), g.Number(1e-16))
	s = g.Do("Unsqueeze", g.Do("Div", s, g.take(sums, g.to)), g.Ints(-1))
	y := g.scatter(x, g.mul(s, g.take(x, g.from)), heads, size)
	return g.add(g.view(y, -1, heads*size), g.Weight(0.1, heads*size))
}

// scatter adds the rows of edges up where they end, by as many indices as there are numbers; nodes has the number of rows.
func (g gat) scatter(nodes, x model.Value, dims ...int) model.Value {
	shape := []model.Value{g.dim(nodes, 0)}
	places := []int{-1}
	for _, d := range dims {
		shape, places = append(shape, g.Ints(d)), append(places, 1)
	}
	zeros := g.Op("ConstantOfShape", []model.Value{g.Concat(0, shape...)}, model.At("value", tensor.Of([]int{1}, []float32{0})))
	index := g.Do("Expand", g.Reshape(g.to, places...), g.Do("Shape", x))
	return g.Op("ScatterElements", []model.Value{zeros, index, x}, model.At("axis", 0), model.At("reduction", "add"))
}

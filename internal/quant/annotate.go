package quant

import (
	"fmt"
	"slices"

	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// mostDepth is the number of products of 8-bit integers that one sum of a quantised layer may have, for int32 holds surely what
// they come to.
const mostDepth = 1 << 15

// A layer is a product with constant weights: a convolution, a dense layer or a matrix product.
type layer struct {
	node  *graph.Node
	axis  int         // of the weights: output channels
	along int         // of the result: output channels
	add   *graph.Node // that adds the bias of a dense layer; nil where it has none, or is a convolution
	gain  float64     // dB that the outputs gain when it alone is float; 0 where nobody asked
	why   string      // it stays float; empty where it is quantised
	// Weight and bias as they are in the graph; bias is nil where there is none.
	weight, bias *tensor.Tensor
}

// name is what people call the layer: the node of the model.
func (l *layer) name() string {
	if len(l.node.Origin) > 0 {
		return l.node.Origin[0]
	}
	return l.node.Out[0].Name
}

// sum is the value that has the layer's result, bias included.
func (l *layer) sum() *graph.Value {
	if l.add != nil {
		return l.add.Out[0]
	}
	return l.node.Out[0]
}

// depth is the number of products in a sum.
func (l *layer) depth() int { return l.weight.Len() / max(1, l.weight.Shape[l.axis]) }

// layers lists the products of g, which is prepared, and why some stay float.
func layers(g *graph.Graph) []*layer {
	users := g.Users()
	var list []*layer
	for _, n := range g.Nodes {
		if classes[n.Op] != product || n.Out[0].Type.DType != types.F32 {
			continue
		}
		l := &layer{node: n, along: len(n.Out[0].Type.Shape) - 1}
		if isConv(n) {
			l.along = 1
		} else {
			l.axis = ops.ColumnsOf(n.Attrs)
		}
		w := n.In[1]
		a, _ := n.Attrs.(ops.MatmulAttrs)
		switch {
		case n.In[0].Value() != nil:
			l.why = "its data are constant"
		case w.Const == nil:
			l.why = "both of its operands are computed"
		case w.Type.DType != types.F32:
			l.why = fmt.Sprintf("its weights are %s", w.Type.DType)
		case !isConv(n) && len(w.Type.Shape) != 2 || a.TransposeA:
			l.why = "it is a product of many matrices, or of a transposed one"
		case isConv(n) && len(n.In) == 3 && n.In[2].Const == nil:
			l.why = "its bias is computed"
		case w.Type.Elements() == 0:
			l.why = "it has no weights"
		}
		if l.why == "" {
			l.weight = w.Const
			l.findBias(users, g)
			if l.depth() > mostDepth {
				l.why = fmt.Sprintf("its sums have %d products; int32 holds %d", l.depth(), mostDepth)
			}
		}
		list = append(list, l)
	}
	return list
}

// findBias looks for a constant per output channel that the layer's result gets.
func (l *layer) findBias(users map[*graph.Value][]*graph.Node, g *graph.Graph) {
	n := l.node
	if isConv(n) {
		if len(n.In) == 3 {
			l.bias = n.In[2].Const
		}
		return
	}
	readers := users[n.Out[0]]
	if len(readers) != 1 || readers[0].Op != ops.Add || slices.Contains(g.Outputs, n.Out[0]) {
		return
	}
	add := readers[0]
	for i, c := range add.In {
		if c.IsConst() && add.In[1-i] == n.Out[0] && add.Out[0].Type.Equal(n.Out[0].Type) {
			if b := perChannel(c.Const, n.Out[0].Type.Shape, l.along); b != nil {
				l.add, l.bias = add, b
			}
		}
	}
}

// A point is a value that is kept as integers.
type point struct {
	value  *graph.Value
	source bool // it is no result of a move: its numbers are its own
}

// points lists the values that are quantised when the given layers are, and the given inputs, in the order of the graph.
func points(g *graph.Graph, quantised []*layer, inputs []*graph.Value) []*point {
	a := &annotation{wanted: map[*graph.Value]bool{}, from: map[*graph.Node]bool{}, users: g.Users(), g: g}
	for _, v := range inputs {
		a.mark(v)
	}
	for _, l := range quantised {
		a.mark(l.node.In[0])
		a.from[l.node] = true
	}
	for _, n := range g.Nodes {
		a.sums(n)
	}
	var list []*point
	add := func(v *graph.Value) {
		if a.wanted[v] {
			list = append(list, &point{value: v, source: v.Def == nil || !isMove(v.Def)})
		}
	}
	for _, v := range g.Inputs {
		add(v)
	}
	for _, n := range g.Nodes {
		for _, v := range n.Out {
			add(v)
		}
	}
	return list
}

type annotation struct {
	g      *graph.Graph
	users  map[*graph.Value][]*graph.Node
	wanted map[*graph.Value]bool
	from   map[*graph.Node]bool // layers that are quantised
}

// mark makes v a point, and what a move makes it of.
func (a *annotation) mark(v *graph.Value) {
	if a.wanted[v] || v.Value() != nil || v.Type.DType != types.F32 {
		return
	}
	a.wanted[v] = true
	if v.Def != nil && isMove(v.Def) {
		for _, x := range moved(v.Def) {
			a.mark(x)
		}
	}
}

// sums marks all but the last of the layers that a sum adds: only the last can add in its registers, and what the others write is read back.
func (a *annotation) sums(n *graph.Node) {
	if n.Op != ops.Add || len(n.In) != 2 {
		return
	}
	var computed []*graph.Value
	for _, v := range n.In {
		if v.Type.Equal(n.Out[0].Type) && a.from[a.layerBefore(v)] && len(a.users[v]) == 1 {
			computed = append(computed, v)
		}
	}
	if len(computed) == 2 && computed[0] != computed[1] {
		first := computed[0]
		if a.place(computed[1].Def) < a.place(first.Def) {
			first = computed[1]
		}
		a.mark(first)
	}
}

func (a *annotation) place(n *graph.Node) int { return slices.Index(a.g.Nodes, n) }

// layerBefore is the product from which pointwise nodes compute v in its kernel.
func (a *annotation) layerBefore(v *graph.Value) *graph.Node {
	for v.Def != nil && !a.wanted[v] && classes[v.Def.Op] == between && len(v.Def.In) > 0 && v.Def.In[0].Type.Equal(v.Type) {
		if len(a.users[v.Def.In[0]]) != 1 {
			return nil
		}
		v = v.Def.In[0]
	}
	if v.Def == nil || a.wanted[v] {
		return nil
	}
	return v.Def
}

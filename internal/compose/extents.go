package compose

import (
	"fmt"
	"slices"
	"strings"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
)

// Extents are the axes whose extents depend on data: for each value that has some, the value that holds the actual extent
// for each axis, nil where it is static. Such a value has the greatest shape it can have, and no meaning beyond its
// actual extents.
type Extents map[*graph.Value][]*graph.Value

// ExtentsOf finds the values of g whose extents depend on data. Operators that mean the same on a tensor of the greatest
// shape as on one of the actual shape hand the extents on; any other that reads such a value is an error.
func ExtentsOf(g *graph.Graph) (Extents, error) {
	x := Extents{}
	for _, n := range g.Nodes {
		if err := x.node(n); err != nil {
			return nil, fmt.Errorf("node %q (%s): %w", strings.Join(n.Origin, "+"), n.Op.Name, err)
		}
	}
	return x, nil
}

func (x Extents) node(n *graph.Node) error {
	if slices.ContainsFunc(n.In, func(v *graph.Value) bool { return x[v] != nil }) {
		axes, err := x.handedOn(n)
		if err != nil {
			return err
		}
		x[n.Out[0]] = axes
		return nil
	}
	for _, d := range DynamicResults(n) {
		axes := make([]*graph.Value, n.Out[d.Result].Type.Rank())
		axes[d.Axis] = n.Out[d.Count]
		x[n.Out[d.Result]] = axes
	}
	return nil
}

// DynamicResults lists the results of a node whose extents depend on data.
func DynamicResults(n *graph.Node) []ops.DynamicResult {
	a, ok := n.Attrs.(graph.LoopAttrs)
	if !ok || !a.While {
		return ops.DynamicResults(n.Op, n.Attrs)
	}
	var list []ops.DynamicResult
	for i := range a.Stacked(len(n.Out)) {
		list = append(list, ops.DynamicResult{Result: a.Carried + i, Axis: 0, Count: len(n.Out) - 1})
	}
	return list
}

// of is the extents of v's axes.
func (x Extents) of(v *graph.Value) []*graph.Value {
	if a := x[v]; a != nil {
		return a
	}
	return make([]*graph.Value, v.Type.Rank())
}

// handedOn is the extents of the result of a node that reads values with extents that depend on data.
func (x Extents) handedOn(n *graph.Node) ([]*graph.Value, error) {
	switch {
	case len(n.Sub) > 0 || len(n.Out) != 1:
	case n.Op == ops.Transpose:
		in := x.of(n.In[0])
		var out []*graph.Value
		for _, a := range n.Attrs.(ops.TransposeAttrs).Axes {
			out = append(out, in[a])
		}
		return out, nil
	case n.Op == ops.Take:
		at := n.Attrs.(ops.TakeAttrs).Axis
		if data := x.of(n.In[0]); data[at] == nil {
			return slices.Concat(data[:at], x.of(n.In[1]), data[at+1:]), nil
		}
	case n.Op == ops.Concatenate:
		if out := x.joined(n); out != nil {
			return out, nil
		}
	case n.Op == ops.GatherND && x[n.In[0]] == nil && n.Attrs.(ops.GatherNDAttrs).BatchDims == 0:
		indices := x.of(n.In[1])
		last := len(indices) - 1
		if indices[last] == nil {
			return append(slices.Clone(indices[:last]), make([]*graph.Value, n.Out[0].Type.Rank()-last)...), nil
		}
	case n.Op == ops.Reshape:
		if out := x.reshaped(n.In[0], n.Out[0].Type.Shape); out != nil {
			return out, nil
		}
	case n.Op == ops.StridedSlice:
		if out := x.sliced(n); out != nil {
			return out, nil
		}
	case n.Op.Fusion == op.Elementwise || n.Op.Fusion == op.Broadcast:
		if out := x.broadcast(n); out != nil {
			return out, nil
		}
	}
	return nil, fmt.Errorf("it reads a tensor whose extent depends on data, which is not supported here (as a model output it is)")
}

// reshaped finds the axes of a value in a new shape: with as many elements before them. nil when one is not there.
func (x Extents) reshaped(v *graph.Value, shape []int) []*graph.Value {
	out := make([]*graph.Value, len(shape))
	before := 1
	for k, n := range v.Type.Shape {
		if c := x[v][k]; c != nil {
			to, b := -1, 1
			for j, m := range shape {
				if b == before && m == n && n > 1 {
					to = j
				}
				b *= m
			}
			if to < 0 {
				return nil
			}
			out[to] = c
		}
		before *= n
	}
	return out
}

// sliced is the extents after a slice that leaves the axes in question whole.
func (x Extents) sliced(n *graph.Node) []*graph.Value {
	a := n.Attrs.(ops.StridedSliceAttrs)
	for k, c := range x[n.In[0]] {
		if c != nil && (a.Begin[k] != 0 || a.End[k] < n.In[0].Type.Shape[k] || a.Strides[k] != 1) {
			return nil
		}
	}
	return x[n.In[0]]
}

// joined is the extents of values behind each other along an axis that is static in all of them; those of the other axes are the same.
func (x Extents) joined(n *graph.Node) []*graph.Value {
	first, at := x.of(n.In[0]), n.Attrs.(ops.ConcatenateAttrs).Axis
	for _, v := range n.In {
		if first[at] != nil || !slices.Equal(x.of(v), first) {
			return nil
		}
	}
	return first
}

// broadcast is the extents of an elementwise operator: where one operand's extent depends on data, the others' are the
// same or 1.
func (x Extents) broadcast(n *graph.Node) []*graph.Value {
	rank := n.Out[0].Type.Rank()
	out := make([]*graph.Value, rank)
	for _, v := range n.In {
		for k, c := range x.of(v) {
			if k += rank - v.Type.Rank(); c != nil && out[k] != nil && out[k] != c {
				return nil
			} else if c != nil {
				out[k] = c
			}
		}
	}
	for _, v := range n.In {
		for k, c := range x.of(v) {
			if out[k+rank-v.Type.Rank()] != nil && c == nil && v.Type.Shape[k] != 1 {
				return nil
			}
		}
	}
	return out
}

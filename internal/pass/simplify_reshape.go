package pass

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
)

// simplifyReshapes makes reshapes fewer and moves them out of the way of fusion; between kernels they cost nothing.
//
//	transpose that moves axes of one element only         →   reshape
//	reshape(reshape(x))                                    →   reshape(x)
//	reshape(dense(x)) + y                                  →   reshape(dense(x) + reshape(y))
func simplifyReshapes(g *graph.Graph) error {
	r := &reshapes{users: g.Users(), outs: map[*graph.Value]bool{}}
	for _, o := range g.Outputs {
		r.outs[o] = true
	}
	var nodes []*graph.Node
	for _, n := range g.Nodes {
		if n.Op == ops.Transpose && plain(n) && movesUnits(n) {
			n.Op, n.Attrs = ops.Reshape, ops.ReshapeAttrs{NewShape: slices.Clone(n.Out[0].Type.Shape)}
		}
		if n.Op == ops.Reshape && plain(n) {
			if p := n.In[0].Def; p != nil && p.Op == ops.Reshape && plain(p) {
				n.In = []*graph.Value{p.In[0]}
			}
		}
		before, err := r.sink(n)
		if err != nil {
			return err
		}
		nodes = append(append(nodes, before...), n)
	}
	g.Nodes = nodes
	return nil
}

type reshapes struct {
	users map[*graph.Value][]*graph.Node
	outs  map[*graph.Value]bool
}

func plain(n *graph.Node) bool { return n.In[0].Type.Layout == "" && n.Out[0].Type.Layout == "" }

// movesUnits reports whether a transpose keeps the order of all axes of more than one element.
func movesUnits(n *graph.Node) bool {
	var moved []int
	for _, a := range n.Attrs.(ops.TransposeAttrs).Axes {
		if n.In[0].Type.Shape[a] != 1 {
			moved = append(moved, a)
		}
	}
	return slices.IsSorted(moved)
}

// sink turns n, a sum of the reshaped result of a heavy operator and another value of its shape, into the reshape of the
// sum, so that the sum can join the operator's kernel. It returns the nodes that come before n then.
func (r *reshapes) sink(n *graph.Node) ([]*graph.Node, error) {
	if n.Op != ops.Add || r.outs[n.Out[0]] {
		return nil, nil
	}
	for i, v := range n.In {
		other := n.In[1-i]
		same := v.Type.Equal(n.Out[0].Type) && other.Type.Equal(n.Out[0].Type)
		if !same || other.Def == nil || r.heavy(v) == nil || r.heavy(other) != nil {
			continue
		}
		wide := r.heavy(v)
		b := &builder{origin: n.Origin}
		in := []*graph.Value{wide, wide}
		in[1-i] = b.apply(ops.Reshape, ops.ReshapeAttrs{NewShape: slices.Clone(wide.Type.Shape)}, other)
		if p := other.Def; p.Op == ops.Reshape && plain(p) && p.In[0].Type.Equal(wide.Type) {
			in[1-i], b.nodes = p.In[0], nil
		}
		sum := b.apply(ops.Add, op.None{}, in...)
		n.Op, n.Attrs, n.In = ops.Reshape, ops.ReshapeAttrs{NewShape: slices.Clone(n.Out[0].Type.Shape)}, []*graph.Value{sum}
		return b.nodes, b.err
	}
	return nil, nil
}

// heavy is what v reshapes, if that is the result of a heavy operator and elementwise ones behind it, for v alone.
func (r *reshapes) heavy(v *graph.Value) *graph.Value {
	single := func(v *graph.Value) bool { return v.Def != nil && !r.outs[v] && len(r.users[v]) == 1 }
	if !single(v) || v.Def.Op != ops.Reshape || !plain(v.Def) {
		return nil
	}
	x := v.Def.In[0]
	for y := x; single(y) && len(y.Def.Out) == 1; {
		switch y.Def.Op.Fusion {
		case op.OutFusable:
			return x
		case op.Elementwise, op.Broadcast:
			y = y.Def.In[0]
			continue
		}
		return nil
	}
	return nil
}

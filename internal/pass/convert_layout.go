package pass

import (
	"fmt"
	"slices"

	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// convertLayout changes the order of axes of whole regions, so that transposes around them meet their inverse. Models of
// TensorFlow, Keras and TFLite compute channels last and come with a transpose before and behind every convolution.
//
//	transpose(relu(transpose(conv, NHWC) + bias), NCHW)   →   relu(conv + transpose(bias, NCHW))
//
// A region is made of nodes that treat all axes alike, see op.Axes, and hand values of one rank to each other. It changes
// its order where fewer bytes are transposed then. Constants are transposed here, since quantised weights must be seen.
// The bytes that the graph transposes fall with every sweep over the regions, by what the regions gain.
func convertLayout(c *Context) error {
	_, err := settleLayout(c)
	return err
}

func settleLayout(c *Context) (fell bool, err error) {
	for _, n := range c.Graph.Nodes {
		if len(ops.DynamicResults(n.Op, n.Attrs)) > 0 {
			return true, nil // extents belong to axes by their position
		}
	}
	if err := rewrite.Walk(c.Graph, joinTransposes, removeIdentity); err != nil {
		return true, err
	}
	return rewrite.Settle(func() int { return transposedBytes(c.Graph) }, func() (bool, error) {
		if err := c.ended(); err != nil {
			return false, err
		}
		r := &reordering{rewrite.New(c.Graph), c.Graph, 1, c.decide}
		if c.Target != nil {
			r.lanes = c.Target.Lanes(32)
		}
		changed := r.sweep()
		if err := r.Finish(); err != nil || !changed {
			return false, err
		}
		return true, rewrite.Walk(c.Graph, joinTransposes, removeIdentity)
	})
}

// transposedBytes is the number of bytes that the nodes of g transpose.
func transposedBytes(g *graph.Graph) int {
	total := 0
	for _, n := range g.Nodes {
		if n.Op == ops.Transpose {
			total += moved(n.In[0], axesOf(n))
		}
	}
	return total
}

// joinTransposes makes a transpose of a transpose one, unless the first stays for others and the second costs less by
// itself.
func joinTransposes(r *rewrite.Rewriter, n *graph.Node) {
	if n.Op != ops.Transpose || n.In[0].Def == nil || n.In[0].Def.Op != ops.Transpose {
		return
	}
	p := n.In[0].Def
	joined := op.Permuted(axesOf(p), axesOf(n))
	if r.Reader(p.Out[0]) != nil || moved(p.In[0], joined) <= moved(p.Out[0], axesOf(n)) {
		r.Change(n, n.Op, ops.TransposeAttrs{Axes: joined}, p.In[0])
	}
}

func axesOf(n *graph.Node) []int { return n.Attrs.(ops.TransposeAttrs).Axes }

func inverseOrder(order []int) []int {
	out := make([]int, len(order))
	for k, i := range order {
		out[i] = k
	}
	return out
}

// axesOfRegion are the axes of a node that may be part of a region, or nil.
func axesOfRegion(n *graph.Node) *op.Axes {
	if n.Op.Axes == nil {
		return nil
	}
	if a := n.Op.Axes(n.Attrs, typesOf(n.In)); a != nil && a.Rank > 2 {
		return a
	}
	return nil
}

type reordering struct {
	*rewrite.Rewriter
	g      *graph.Graph
	lanes  int // of a vector of float32
	decide func(*graph.Node, choice.Decision) (string, error)
}

// A region is in graph order. Its nodes have the same rank.
type region struct {
	nodes []*graph.Node
	axes  map[*graph.Node]*op.Axes
}

// sweep reorders the regions that gain by it and reports whether there were any.
func (r *reordering) sweep() (changed bool) {
	for _, g := range r.regions() {
		var gaining [][]int
		axes := choice.Decision{Name: "axes", Values: choice.Texts("kept")}
		most := 0
		for _, order := range r.orders(g) {
			n := r.gain(g, order)
			if n <= 0 {
				continue
			}
			gaining = append(gaining, order)
			axes.Values = append(axes.Values, choice.Value{Text: fmt.Sprint(order)})
			if n > most {
				most, axes.Default = n, len(gaining)
			}
		}
		if len(gaining) == 0 {
			continue
		}
		taken := axes.Values[axes.Default].Text // of a region that has grown since it was asked for
		switch g.nodes[0].Impl.Point[axes.Name] {
		case "kept":
			continue
		case "":
			var err error
			taken, err = r.decide(g.nodes[0], axes)
			r.Fail(err)
		}
		for i, v := range axes.Values[1:] {
			if v.Text == taken {
				changed = true
				r.apply(g, gaining[i])
			}
		}
	}
	return changed
}

// regions finds the connected nodes that treat all axes alike.
func (r *reordering) regions() []*region {
	of := map[*graph.Node]*region{}
	for _, n := range r.g.Nodes {
		a := axesOfRegion(n)
		if a == nil {
			continue
		}
		g := &region{[]*graph.Node{n}, map[*graph.Node]*op.Axes{n: a}}
		of[n] = g
		for _, i := range a.In {
			v := n.In[i]
			p := of[v.Def]
			if p == nil || p == g || p.axes[v.Def].Drops != nil || len(v.Type.Shape) != a.Rank {
				continue
			}
			if len(p.nodes) < len(g.nodes) {
				p, g = g, p
			}
			for _, m := range g.nodes {
				of[m], p.axes[m] = p, g.axes[m]
			}
			p.nodes = append(p.nodes, g.nodes...)
			g = p
		}
	}
	var list []*region
	seen := map[*region]bool{}
	place := map[*graph.Node]int{}
	for i, n := range r.g.Nodes {
		place[n] = i
		if g := of[n]; g != nil && !seen[g] {
			seen[g] = true
			list = append(list, g)
		}
	}
	for _, g := range list {
		slices.SortFunc(g.nodes, func(a, b *graph.Node) int { return place[a] - place[b] })
	}
	return list
}

// orders lists the orders of axes in which a transpose at the region's border would have no effect.
func (r *reordering) orders(g *region) (list [][]int) {
	add := func(order []int) {
		if !slices.ContainsFunc(list, func(o []int) bool { return slices.Equal(o, order) }) {
			list = append(list, order)
		}
	}
	for _, n := range g.nodes {
		for _, i := range g.axes[n].In {
			if t := n.In[i].Def; t != nil && t.Op == ops.Transpose && len(t.Out[0].Type.Shape) == g.axes[n].Rank {
				add(inverseOrder(axesOf(t)))
			}
		}
		if g.axes[n].Drops != nil {
			continue
		}
		for _, v := range n.Out {
			for _, t := range r.Users(v) {
				if t.Op == ops.Transpose {
					add(axesOf(t))
				}
			}
		}
	}
	return list
}

// gain is how many bytes fewer are transposed at the border of the region when its axes are in the given order: axis k
// is what is axis order[k]. It is negative where the order is impossible.
func (r *reordering) gain(g *region, order []int) int {
	const never = -1 << 62
	total := 0
	seen := map[*graph.Value]bool{}
	for _, n := range g.nodes {
		a := g.axes[n]
		if a.Drops != nil && !a.KeepsRest(order) {
			return never
		}
		total -= r.strain(n, a, order)
		for _, i := range a.In {
			v := n.In[i]
			if seen[v] || v.IsConst() || g.makes(v) || v.Type.Elements() == 1 && len(v.Type.Shape) < len(order) {
				continue
			}
			seen[v] = true
			t := v.Def
			if t == nil || t.Op != ops.Transpose || len(v.Type.Shape) < len(order) {
				total -= moved(v, order)
				continue
			}
			total -= moved(t.In[0], op.Permuted(axesOf(t), order))
			if only := !r.IsOutput(v) && !slices.ContainsFunc(r.Users(v), func(u *graph.Node) bool { return !g.reads(u, v) }); only {
				total += moved(t.In[0], axesOf(t))
			}
		}
		if a.Drops != nil {
			continue
		}
		for _, v := range n.Out {
			back := r.IsOutput(v)
			for _, u := range r.Users(v) {
				switch {
				case g.reads(u, v):
				case u.Op == ops.Transpose:
					total += moved(v, axesOf(u)) - movedOf(op.Permuted(v.Type.Shape, order), v.Type.Bytes(), op.Permuted(inverseOrder(order), axesOf(u)))
				default:
					back = true
				}
			}
			if back {
				total -= moved(v, order)
			}
		}
	}
	return total
}

// strain is the bytes of a softmax, where an order takes away what lies together of it: its axis, or as many elements of others as a vector has. Fewer
// fill the vectors of its exponentials in part, which takes about as long as to transpose it.
func (r *reordering) strain(n *graph.Node, a *op.Axes, order []int) int {
	s, ok := n.Attrs.(ops.SoftmaxAttrs)
	if !ok {
		return 0
	}
	narrow := func(axis int, shape []int) bool {
		beside := types.Count(shape[axis+1:])
		return beside > 1 && beside < r.lanes
	}
	shape := n.In[0].Type.Shape
	if narrow(s.Axis, shape) || !narrow(a.Attrs(order).(ops.SoftmaxAttrs).Axis, op.Permuted(shape, order)) {
		return 0
	}
	return n.In[0].Type.Bytes()
}

// reads reports whether u is a node of the region that has v in the region's order.
func (g *region) reads(u *graph.Node, v *graph.Value) bool {
	a := g.axes[u]
	if a == nil {
		return false
	}
	for i, x := range u.In {
		if x == v && !slices.Contains(a.In, i) {
			return false
		}
	}
	return true
}

// makes reports whether v is a value of the region.
func (g *region) makes(v *graph.Value) bool {
	a := g.axes[v.Def]
	return a != nil && a.Drops == nil && len(v.Type.Shape) == a.Rank
}

// moved is the number of bytes of v that a transpose moves. Where only axes of one element change places it is a reshape,
// which costs no time of its own but parts kernels: 1.
func moved(v *graph.Value, order []int) int {
	shape := slices.Repeat([]int{1}, len(order)) // v's, with leading axes of one element
	copy(shape[len(order)-len(v.Type.Shape):], v.Type.Shape)
	return movedOf(shape, v.Type.Bytes(), order)
}

func movedOf(shape []int, bytes int, order []int) int {
	if slices.IsSorted(order) {
		return 0
	}
	var rest []int
	for _, i := range order {
		if shape[i] != 1 {
			rest = append(rest, i)
		}
	}
	if slices.IsSorted(rest) {
		return 1
	}
	return max(1, bytes)
}

// apply reorders the region's axes: its operands are transposed, and its results transposed back for other readers.
func (r *reordering) apply(g *region, order []int) {
	ordered, backs := map[*graph.Value]*graph.Value{}, map[*graph.Value]*graph.Value{}
	back := func(v *graph.Value) *graph.Value {
		if backs[v] == nil {
			backs[v] = r.Apply(ops.Transpose, ops.TransposeAttrs{Axes: inverseOrder(order)}, v)
		}
		return backs[v]
	}
	for _, n := range g.nodes {
		a := g.axes[n]
		in := slices.Clone(n.In)
		r.Before(n)
		for i, v := range n.In {
			switch takes, made := slices.Contains(a.In, i), g.makes(v); {
			case takes && !made:
				if ordered[v] == nil {
					ordered[v] = reordered(r.Rewriter, v, order)
				}
				in[i] = ordered[v]
			case made && !takes:
				in[i] = back(v)
			}
		}
		r.Change(n, n.Op, a.Attrs(order), in...)
		if a.Drops != nil {
			continue
		}
		r.Behind(n)
		for _, v := range n.Out {
			r.restore(g, v, order, back)
		}
	}
}

// restore gives readers of v outside the region its axes in the order they know; transposes take them as they are.
func (r *reordering) restore(g *region, v *graph.Value, order []int, back func(v *graph.Value) *graph.Value) {
	for _, u := range r.Users(v) {
		switch {
		case g.axes[u] != nil:
		case u.Op == ops.Transpose:
			r.Change(u, u.Op, ops.TransposeAttrs{Axes: op.Permuted(inverseOrder(order), axesOf(u))}, v)
		default:
			r.SetOperand(u, slices.Index(u.In, v), back(v))
		}
	}
	if r.IsOutput(v) {
		r.ReplaceOutput(v, back(v))
	}
}

// reordered is an operand of a node of the region with its axes in the given order, to which those that broadcasting
// adds belong.
func reordered(r *rewrite.Rewriter, v *graph.Value, order []int) *graph.Value {
	if v.Type.Elements() == 1 && len(v.Type.Shape) < len(order) {
		return v
	}
	shape := slices.Clone(v.Type.Shape)
	for len(shape) < len(order) {
		shape = slices.Insert(shape, 0, 1)
	}
	if !v.IsConst() {
		if t := v.Def; t != nil && t.Op == ops.Transpose && len(shape) == len(v.Type.Shape) {
			return r.Apply(ops.Transpose, ops.TransposeAttrs{Axes: op.Permuted(axesOf(t), order)}, t.In[0])
		}
		if len(shape) > len(v.Type.Shape) {
			v = r.Apply(ops.Reshape, ops.ReshapeAttrs{NewShape: shape}, v)
		}
		return r.Apply(ops.Transpose, ops.TransposeAttrs{Axes: order}, v)
	}
	return graph.NewConst(v.Name, ops.Transposed(v.Const.Reshape(shape...), order...))
}

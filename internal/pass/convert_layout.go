package pass

import (
	"fmt"
	"slices"

	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
)

// convertLayout changes the order of axes of whole regions, so that transposes around them meet their inverse. Models of
// TensorFlow, Keras and TFLite compute channels last and come with a transpose before and behind every convolution.
//
//	transpose(relu(transpose(conv, NHWC) + bias), NCHW)   →   relu(conv + transpose(bias, NCHW))
//
// A region is made of nodes that treat all axes alike, see axes, and hand values of one rank to each other. It changes
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
	joinTransposes(c.Graph)
	removeIdentities(c.Graph)
	return settle(func() int { return transposedBytes(c.Graph) }, func() (bool, error) {
		if err := c.ended(); err != nil {
			return false, err
		}
		r := &reordering{g: c.Graph, users: c.Graph.Users(), outs: map[*graph.Value]bool{}, stale: map[*graph.Value]bool{}}
		for _, o := range c.Graph.Outputs {
			r.outs[o] = true
		}
		changed, err := r.sweep()
		if changed {
			joinTransposes(c.Graph)
			removeIdentities(c.Graph)
		}
		return changed, err
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
func joinTransposes(g *graph.Graph) {
	users := g.Users()
	for _, n := range g.Nodes {
		if n.Op != ops.Transpose {
			continue
		}
		p := n.In[0].Def
		if p == nil || p.Op != ops.Transpose {
			continue
		}
		joined := permuted(axesOf(p), axesOf(n))
		stays := len(users[p.Out[0]]) > 1 || slices.Contains(g.Outputs, p.Out[0])
		if stays && moved(p.In[0], joined) > moved(p.Out[0], axesOf(n)) {
			continue
		}
		n.In = []*graph.Value{p.In[0]}
		n.Attrs = ops.TransposeAttrs{Axes: joined}
	}
	g.DeadCode()
}

func axesOf(n *graph.Node) []int { return n.Attrs.(ops.TransposeAttrs).Axes }

// permuted is list in another order: element k is list's element order[k].
func permuted[T any](list []T, order []int) []T {
	out := make([]T, len(order))
	for k, i := range order {
		out[k] = list[i]
	}
	return out
}

func inverseOrder(order []int) []int {
	out := make([]int, len(order))
	for k, i := range order {
		out[i] = k
	}
	return out
}

type reordering struct {
	g     *graph.Graph
	users map[*graph.Value][]*graph.Node
	outs  map[*graph.Value]bool
	stale map[*graph.Value]bool // what has readers since this sweep began that users does not know
}

// A region is in graph order. Its nodes have the same rank.
type region struct {
	nodes []*graph.Node
	axes  map[*graph.Node]*axes
}

// sweep reorders the regions that gain by it and reports whether there were any.
func (r *reordering) sweep() (changed bool, err error) {
	for _, g := range r.regions() {
		var best []int
		most := 0
		for _, order := range r.orders(g) {
			if n := r.gain(g, order); n > most {
				best, most = order, n
			}
		}
		if best == nil {
			continue
		}
		changed = true
		if err := r.apply(g, best); err != nil {
			return false, fmt.Errorf("node %q: %w", g.nodes[0].Origin, err)
		}
	}
	r.g.DeadCode()
	return changed, nil
}

// regions finds the connected nodes that treat all axes alike.
func (r *reordering) regions() []*region {
	of := map[*graph.Node]*region{}
	for _, n := range r.g.Nodes {
		a := axesAlike(n)
		if a == nil {
			continue
		}
		g := &region{[]*graph.Node{n}, map[*graph.Node]*axes{n: a}}
		of[n] = g
		for _, i := range a.in {
			v := n.In[i]
			p := of[v.Def]
			if p == nil || p == g || p.axes[v.Def].drops != nil || len(v.Type.Shape) != a.rank {
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
		for _, i := range g.axes[n].in {
			if t := n.In[i].Def; t != nil && t.Op == ops.Transpose && len(t.Out[0].Type.Shape) == g.axes[n].rank {
				add(inverseOrder(axesOf(t)))
			}
		}
		if g.axes[n].drops != nil {
			continue
		}
		for _, v := range n.Out {
			for _, t := range r.users[v] {
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
		if a.drops != nil && !a.keepsRest(order) {
			return never
		}
		for _, i := range a.in {
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
			if r.stale[v] {
				return never
			}
			total -= moved(t.In[0], permuted(axesOf(t), order))
			if only := !r.outs[v] && !slices.ContainsFunc(r.users[v], func(u *graph.Node) bool { return !g.reads(u, v) }); only {
				total += moved(t.In[0], axesOf(t))
			}
		}
		if a.drops != nil {
			continue
		}
		for _, v := range n.Out {
			if r.stale[v] {
				return never
			}
			back := r.outs[v]
			for _, u := range r.users[v] {
				switch {
				case g.reads(u, v):
				case u.Op == ops.Transpose:
					total += moved(v, axesOf(u)) - movedOf(permuted(v.Type.Shape, order), v.Type.Bytes(), permuted(inverseOrder(order), axesOf(u)))
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

// reads reports whether u is a node of the region that has v in the region's order.
func (g *region) reads(u *graph.Node, v *graph.Value) bool {
	a := g.axes[u]
	if a == nil {
		return false
	}
	for i, x := range u.In {
		if x == v && !slices.Contains(a.in, i) {
			return false
		}
	}
	return true
}

// makes reports whether v is a value of the region.
func (g *region) makes(v *graph.Value) bool {
	a := g.axes[v.Def]
	return a != nil && a.drops == nil && len(v.Type.Shape) == a.rank
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
func (r *reordering) apply(g *region, order []int) error {
	operands := map[*graph.Value]*graph.Value{}
	before, behind := map[*graph.Node][]*graph.Node{}, map[*graph.Node][]*graph.Node{}
	for _, n := range g.nodes {
		a := g.axes[n]
		in := slices.Clone(n.In)
		for _, i := range a.in {
			v := n.In[i]
			if g.makes(v) {
				continue
			}
			if operands[v] == nil {
				b := &builder{origin: n.Origin}
				w, err := reordered(b, v, order)
				if err != nil {
					return err
				}
				operands[v], before[n] = w, append(before[n], b.nodes...)
				r.stale[v] = true
				for _, m := range b.nodes {
					r.stale[m.In[0]] = true
				}
			}
			in[i] = operands[v]
		}
		n.In, n.Attrs = in, a.attrs(order)
		if err := n.Infer(); err != nil {
			return err
		}
		if a.drops != nil {
			continue
		}
		for _, v := range n.Out {
			if err := r.restore(g, v, order, behind); err != nil {
				return err
			}
		}
	}
	var nodes []*graph.Node
	for _, n := range r.g.Nodes {
		nodes = append(append(append(nodes, before[n]...), n), behind[n]...)
	}
	r.g.Nodes = nodes
	return nil
}

// restore gives readers of v outside the region its axes in the order they know; transposes take them as they are.
func (r *reordering) restore(g *region, v *graph.Value, order []int, behind map[*graph.Node][]*graph.Node) error {
	var w *graph.Value
	back := func() *graph.Value {
		if w == nil {
			b := &builder{origin: v.Def.Origin}
			w = b.apply(ops.Transpose, ops.TransposeAttrs{Axes: inverseOrder(order)}, v)
			behind[v.Def] = append(behind[v.Def], b.nodes...)
		}
		return w
	}
	for _, u := range r.users[v] {
		if u.Op == ops.Transpose {
			u.Attrs = ops.TransposeAttrs{Axes: permuted(inverseOrder(order), axesOf(u))}
			continue
		}
		for i, x := range u.In {
			if x == v && (g.axes[u] == nil || !slices.Contains(g.axes[u].in, i)) {
				u.In[i] = back()
				r.users[w] = append(r.users[w], u)
			}
		}
	}
	for i, o := range r.g.Outputs {
		if o == v {
			r.g.Outputs[i] = back()
			r.outs[w] = true
			w.Name, v.Name = v.Name+w.Name, ""
		}
	}
	return nil
}

// reordered is an operand of a node of the region with its axes in the given order, to which those that broadcasting
// adds belong.
func reordered(b *builder, v *graph.Value, order []int) (*graph.Value, error) {
	if v.Type.Elements() == 1 && len(v.Type.Shape) < len(order) {
		return v, nil
	}
	shape := slices.Clone(v.Type.Shape)
	for len(shape) < len(order) {
		shape = slices.Insert(shape, 0, 1)
	}
	if !v.IsConst() {
		if t := v.Def; t != nil && t.Op == ops.Transpose && len(shape) == len(v.Type.Shape) {
			return b.apply(ops.Transpose, ops.TransposeAttrs{Axes: permuted(axesOf(t), order)}, t.In[0]), b.err
		}
		if len(shape) > len(v.Type.Shape) {
			v = b.apply(ops.Reshape, ops.ReshapeAttrs{NewShape: shape}, v)
		}
		return b.apply(ops.Transpose, ops.TransposeAttrs{Axes: order}, v), b.err
	}
	from, to := *v.Const, tensor.New(v.Const.DType, permuted(shape, order)...)
	from.Shape = shape
	if err := ops.Transpose.Eval(ops.TransposeAttrs{Axes: order}, []*tensor.Tensor{&from}, []*tensor.Tensor{to}); err != nil {
		return nil, err
	}
	return graph.NewConst(v.Name, to), nil
}

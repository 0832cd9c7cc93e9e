package quant

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
)

// A network of relus, poolings and sums computes the same when channel c of a value is divided by any positive number, the rows of weights that
// make it are too, and the columns that read it are multiplied by it. Channels that must be divided by the same number are a
// class: those of values that a relu, a pooling, a sum or a concatenation ties. Layers begin and end classes. The class of a
// channel that something else makes or reads has the number 1.

// channelClasses is the partition of the channels of a graph's values.
type channelClasses struct {
	first  map[*graph.Value]int // number of a value's first channel; those of the others follow
	parent []int                // of all channels; channel 0 stands for what is fixed
}

// fixed is the class of channels that stay as they are.
const fixed = 0

// classesOf finds the classes of the channels of g's values, of which the given layers can be scaled.
func classesOf(g *graph.Graph, scaled []*layer) *channelClasses {
	c := &channelClasses{first: map[*graph.Value]int{}, parent: []int{fixed}}
	for _, v := range g.Inputs {
		c.fix(v)
	}
	of := map[*graph.Node]*layer{}
	adds := map[*graph.Node]*layer{}
	for _, l := range scaled {
		of[l.node] = l
		if l.add != nil {
			adds[l.add] = l
		}
	}
	for _, n := range g.Nodes {
		switch l := of[n]; {
		case l != nil:
			c.layer(l)
		case adds[n] != nil:
			c.tie(n.Out[0], adds[n].node.Out[0])
		default:
			c.node(n)
		}
	}
	for _, v := range g.Outputs {
		c.fix(v)
	}
	return c
}

// channels is the number of channels of a value along channelAxis.
func channels(v *graph.Value) int {
	if len(v.Type.Shape) == 0 {
		return 1
	}
	return v.Type.Shape[channelAxis(v)]
}

// at is the number of channel i of v.
func (c *channelClasses) at(v *graph.Value, i int) int {
	first, ok := c.first[v]
	if !ok {
		first = len(c.parent)
		c.first[v] = first
		for k := range channels(v) {
			c.parent = append(c.parent, first+k)
		}
	}
	return first + i
}

func (c *channelClasses) root(i int) int {
	for c.parent[i] != i {
		c.parent[i] = c.parent[c.parent[i]]
		i = c.parent[i]
	}
	return i
}

// class is the class of channel i of v.
func (c *channelClasses) class(v *graph.Value, i int) int { return c.root(c.at(v, i)) }

// scalable reports whether a channel of v can be divided by a number.
func (c *channelClasses) scalable(v *graph.Value) bool {
	for i := range channels(v) {
		if c.class(v, i) != fixed {
			return true
		}
	}
	return false
}

// join makes two channels one class; the least number stands for it, so that what is fixed stays so.
func (c *channelClasses) join(a, b int) {
	a, b = c.root(a), c.root(b)
	c.parent[max(a, b)] = min(a, b)
}

func (c *channelClasses) fix(v *graph.Value) {
	if v.Value() != nil {
		return
	}
	for i := range channels(v) {
		c.join(c.at(v, i), fixed)
	}
}

// tie makes the channels of two values, which have the same number of them, the same classes.
func (c *channelClasses) tie(a, b *graph.Value) {
	for i := range channels(a) {
		c.join(c.at(a, i), c.at(b, i))
	}
}

// layer fixes what a layer reads or makes along another axis than that of its channels.
func (c *channelClasses) layer(l *layer) {
	if data := l.node.In[0]; channelAxis(data) != l.dataAxis() {
		c.fix(data)
	}
	if out := l.node.Out[0]; channelAxis(out) != l.along {
		c.fix(out)
	}
}

// dataAxis is the axis of a layer's data that its weights' columns read.
func (l *layer) dataAxis() int {
	if isConv(l.node) {
		return 1
	}
	return len(l.node.In[0].Type.Shape) - 1
}

// read is the class of channel i of a layer's data, and made that of its sums.
func (c *channelClasses) read(l *layer, i int) int {
	if v := l.node.In[0]; channelAxis(v) == l.dataAxis() {
		return c.class(v, i)
	}
	return fixed
}

func (c *channelClasses) made(l *layer, i int) int {
	if v := l.sum(); channelAxis(v) == l.along {
		return c.class(v, i)
	}
	return fixed
}

// homogeneous are operators f of one operand with f(sx) = s f(x) for s > 0, whose channels are their operand's.
var homogeneous = slices.Concat([]*op.Def{ops.Relu, ops.LeakyRelu, ops.Abs, ops.Negative, ops.Copy, ops.Prelu}, ops.MaxPool[1:], ops.AvgPool[1:])

// node ties the channels around a node, or fixes them.
func (c *channelClasses) node(n *graph.Node) {
	out := n.Out[0]
	switch {
	case slices.Contains(homogeneous, n.Op) && channels(n.In[0]) == channels(out) && len(n.In[0].Type.Shape) == len(out.Type.Shape):
		c.tie(out, n.In[0])
		for _, v := range n.In[1:] { // slopes
			c.fix(v)
		}
		return
	case n.Op == ops.Mean:
		a := n.Attrs.(ops.ReduceAttrs)
		if x := n.In[0]; len(x.Type.Shape) > 1 && len(a.Axis) > 0 && !slices.Contains(a.Axis, channelAxis(x)) && channels(x) == channels(out) && (a.KeepDims || !slices.Contains(a.Axis, 0)) {
			c.tie(out, x)
			return
		}
	case n.Op == ops.Clip:
		if a := n.Attrs.(ops.ClipAttrs); a.HasMin && a.Min == 0 && !a.HasMax {
			c.tie(out, n.In[0])
			return
		}
	case n.Op == ops.Add || n.Op == ops.Subtract || n.Op == ops.Maximum || n.Op == ops.Minimum:
		if a, b := n.In[0], n.In[1]; a.Value() == nil && b.Value() == nil && a.Type.Equal(b.Type) {
			c.tie(out, a)
			c.tie(out, b)
			return
		}
	case n.Op == ops.Multiply:
		if x, gate := gated(n); x != nil {
			c.tie(out, x)
			c.fix(gate)
			return
		}
	case n.Op == ops.Concatenate:
		if c.concatenate(n) {
			return
		}
	case n.Op == ops.Reshape:
		if c.reshape(n.In[0], out) {
			return
		}
	}
	for _, v := range slices.Concat(n.In, n.Out) {
		c.fix(v)
	}
}

// gated is the operand of a product that has its result's type, and the other, a gate; nil where both have it.
func gated(n *graph.Node) (x, gate *graph.Value) {
	for i, v := range n.In {
		if g := n.In[1-i]; v.Type.Equal(n.Out[0].Type) && v.Value() == nil && !g.Type.Equal(v.Type) {
			return v, g
		}
	}
	return nil, nil
}

func (c *channelClasses) concatenate(n *graph.Node) bool {
	out := n.Out[0]
	if slices.ContainsFunc(n.In, func(v *graph.Value) bool { return v.Value() != nil }) {
		return false
	}
	at := 0
	for _, v := range n.In {
		if n.Attrs.(ops.ConcatenateAttrs).Axis != channelAxis(out) {
			c.tie(out, v)
			continue
		}
		for i := range channels(v) {
			c.join(c.at(out, at+i), c.at(v, i))
		}
		at += channels(v)
	}
	return true
}

// reshape follows channels into [N, C*T] from [N, C, T...], as flattening makes it, and back.
func (c *channelClasses) reshape(x, out *graph.Value) bool {
	from, to := x.Type.Shape, out.Type.Shape
	if len(from) < 2 || len(to) < 2 || from[0] != to[0] {
		return false
	}
	few, many := channels(x), channels(out)
	switch {
	case few == many && few > 0:
		c.tie(out, x)
		return true
	case len(to) == 2 && few > 0 && many%few == 0:
		for i := range many {
			c.join(c.at(out, i), c.at(x, i/(many/few)))
		}
		return true
	}
	return false
}

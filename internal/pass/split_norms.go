package pass

import (
	"slices"

	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/impl"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// A norm is a normalisation over the last axes of its data, from one on, to zero mean and unit variance. scales has the shape to which gamma and
// beta are brought.
type norm struct {
	from    int
	epsilon float64
	scales  []int
}

// normOf describes n where its sets are the last axes.
func normOf(n *graph.Node) (m norm, ok bool) {
	shape := n.Out[0].Type.Shape
	m.scales = slices.Clone(shape)
	for k := range shape {
		if k != 1 {
			m.scales[k] = 1
		}
	}
	switch a := n.Attrs.(type) {
	case ops.InstanceNormAttrs:
		m.from, m.epsilon = 2, a.Epsilon
	case ops.GroupNormAttrs:
		m.from, m.epsilon = 1, a.Epsilon
		return m, a.Groups == 1
	case ops.LayerNormAttrs:
		m.from, m.epsilon, m.scales = a.Axis, a.Epsilon, nil // they broadcast as they are
		return m, n.Op == ops.LayerNorm
	default:
		return m, false
	}
	return m, true
}

// splitNorm writes a normalisation of a few large sets as the folds and the map that it is, each of which workers divide; as one operator it is one
// worker's for each set.
//
//	nn.instance_norm(x)   →   m = mean(x); (x - m) * rsqrt(mean((x - m)²) + epsilon) * gamma + beta
//
// Both means are taken in two steps.
//
// Group normalisations that are not split so are spelled by an instance normalisation of flat sets, which may be split: statistics of channels that
// lie in blocks, of which a group has a part, would be computed element by element.
func splitNorm(c *Context, r *rewrite.Rewriter, n *graph.Node) {
	m, ok := normOf(n)
	if group := n.Op == ops.GroupNorm; !ok && !group || !n.In[0].Type.IsPlain(types.F32) || ok && c.divideNorm(r, n, m) || !group || n.In[0].Type.Elements() == 0 {
		return
	}
	n = spellGroupNorm(r, n)
	if m, ok := normOf(n); ok {
		r.Before(n)
		c.divideNorm(r, n, m)
	}
}

// divideNorm reports whether it wrote n, the normalisation m, as parts.
func (c *Context) divideNorm(r *rewrite.Rewriter, n *graph.Node, m norm) bool {
	x := n.In[0]
	if c.Target == nil || c.Target.ISA().OneWorker {
		return false
	}
	shape := x.Type.Shape
	sets := types.Count(shape[:m.from])
	if sets == 0 || impl.EnoughParts(sets) {
		return false
	}
	steps, view, each := m.steps(shape, c.Target.Lanes(types.F32.Bits()))
	if steps == nil {
		return false
	}
	taken, err := c.decide(n, choice.Whether("two_steps", impl.PartsPay(c.Target, x.Type.Bytes(), each)))
	if r.Fail(err); taken != "on" {
		return false
	}
	apply := func(d *op.Def, in ...*graph.Value) *graph.Value { return r.Apply(d, op.None{}, in...) }
	reshape := func(v *graph.Value, to []int) *graph.Value {
		if slices.Equal(v.Type.Shape, to) {
			return v
		}
		return r.Apply(ops.Reshape, ops.ReshapeAttrs{NewShape: to}, v)
	}
	mean := func(v *graph.Value) *graph.Value {
		for _, axes := range steps {
			v = r.Apply(ops.Mean, ops.ReduceAttrs{Axis: axes, KeepDims: true}, v)
		}
		return v
	}
	data := reshape(x, view)
	middle := mean(data)
	from := apply(ops.Subtract, data, middle)
	epsilon := tensor.New(types.F32, 1)
	epsilon.SetFloat(0, m.epsilon)
	scale := apply(ops.Rsqrt, apply(ops.Add, mean(apply(ops.Multiply, from, from)), graph.NewConst("epsilon", epsilon)))
	ofSets := slices.Clone(shape)
	for k := m.from; k < len(shape); k++ {
		ofSets[k] = 1
	}
	y := apply(ops.Multiply, apply(ops.Subtract, x, reshape(middle, ofSets)), reshape(scale, ofSets))
	y = scaledAndShifted(r, y, n.In[1:], m.scales)
	y.Def.Impl = n.Impl
	r.Replace(n.Out[0], y)
	return true
}

// steps are the axes of data, viewed in some shape, that are folded first, of which each part has so many elements, and those that are folded then. The view is
// the data's shape where its axes make parts enough and these are long, which blocked layouts have too: channels of a set that fill vectors of so many lanes
// are blocks of that in a network of convolutions. Elsewhere it has equal parts of flat sets. There are none where sets have no such parts.
func (m norm) steps(shape []int, lanes int) (steps [][]int, view []int, each int) {
	var inner, outer []int
	parts, folded := 1, 1 // in blocks of channels, and in channels
	each = 1
	for k := m.from; k < len(shape); k++ {
		n := shape[k]
		if k == 1 && len(shape) > 2 && m.scales != nil && n%lanes == 0 {
			n, each = n/lanes, lanes
		}
		if impl.EnoughParts(parts) {
			inner, each = append(inner, k), each*shape[k]
		} else {
			outer, parts, folded = append(outer, k), parts*n, folded*shape[k]
		}
	}
	size := types.Count(shape[m.from:])
	if len(inner) > 0 && folded*impl.Pieces <= size { // the second step is short
		return [][]int{inner, outer}, shape, each
	}
	const most = 4
	for n := impl.Pieces; n <= most*impl.Pieces; n++ {
		if size%n == 0 {
			return [][]int{{2}, {1}}, []int{types.Count(shape[:m.from]), n, size / n}, size / n
		}
	}
	return nil, nil, 0
}

// scaledAndShifted is y * gamma + beta, or as much of it as there are operands, which are brought to a shape that is not nil. A factor of one and a summand of zero are
// left out here, where they are constants still and not yet reshaped.
func scaledAndShifted(r *rewrite.Rewriter, y *graph.Value, operands []*graph.Value, shape []int) *graph.Value {
	for i, v := range operands {
		if v.IsConst() && isAll(v.Const, float64(1-i)) {
			continue
		}
		if shape != nil {
			v = r.Apply(ops.Reshape, ops.ReshapeAttrs{NewShape: shape}, v)
		}
		y = r.Apply([]*op.Def{ops.Multiply, ops.Add}[i], op.None{}, y, v)
	}
	return y
}

// isAll reports whether all elements are x.
func isAll(t *tensor.Tensor, x float64) bool {
	for i := range t.Len() {
		if t.Float(i) != x {
			return false
		}
	}
	return true
}

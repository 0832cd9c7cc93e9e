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
		ok = a.Groups == 1
		return m, ok
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
func splitNorm(c *Context, r *rewrite.Rewriter, n *graph.Node) {
	m, ok := normOf(n)
	x := n.In[0]
	if !ok || !x.Type.IsPlain(types.F32) || c.Target == nil || c.Target.ISA().OneWorker {
		return
	}
	shape := x.Type.Shape
	sets := types.Count(shape[:m.from])
	if sets == 0 || impl.EnoughParts(sets) {
		return
	}
	steps, view, parts := m.steps(shape, c.Target.Lanes(types.F32.Bits()))
	if steps == nil {
		return
	}
	taken, err := c.decide(n, choice.Whether("two_steps", impl.PartsPay(c.Target, x.Type.Bytes(), types.Count(shape[m.from:])/parts)))
	if r.Fail(err); taken != "on" {
		return
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
	for i, v := range n.In[1:] {
		if v.Const != nil && isAll(v.Const, float64(1-i)) { // a factor of one, or a summand of zero
			continue
		}
		if m.scales != nil {
			v = reshape(v, m.scales)
		}
		y = apply([]*op.Def{ops.Multiply, ops.Add}[i], y, v)
	}
	r.Replace(n.Out[0], y)
}

// steps are the axes of data, viewed in some shape, that are folded first, and those that are folded then, of so many parts of a set. The view is the data's
// shape where its axes make parts enough, which blocked layouts have too: channels that fill vectors of so many lanes may be blocks of that. Elsewhere it has
// equal parts of flat sets. There are none where sets have no such parts.
func (m norm) steps(shape []int, lanes int) (steps [][]int, view []int, parts int) {
	var inner, outer []int
	parts = 1
	for k := m.from; k < len(shape); k++ {
		n := shape[k]
		if k == 1 && len(shape) > 2 && n%lanes == 0 {
			n /= lanes
		}
		if impl.EnoughParts(parts) {
			inner = append(inner, k)
		} else {
			outer, parts = append(outer, k), parts*n
		}
	}
	if len(inner) > 0 {
		return [][]int{inner, outer}, shape, parts
	}
	const most = 4
	size := types.Count(shape[m.from:])
	for n := impl.Pieces; n <= most*impl.Pieces; n++ {
		if size%n == 0 {
			return [][]int{{2}, {1}}, []int{types.Count(shape[:m.from]), n, size / n}, n
		}
	}
	return nil, nil, 0
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

package pass

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/impl"
	"lathe/internal/op"
	"lathe/internal/ops"
)

// divideLoops runs loops in parts where the rows of what they compute do not depend on each other, as sequences of a batch in a recurrent layer: workers
// meet once for all iterations then, and not several times in each.
//
//	loop(h: [32,64], x: [48,32,8]) {...}   →   loop(...) {parts=2} {h: [16,64], x: [16,8] ...}
func divideLoops(c *Context) error {
	if c.nested || c.Target == nil || c.Target.IsSource() || c.Target.ISA().OneWorker || c.Target.NumCores < 2 {
		return nil
	}
	return rewrite.Walk(c.Graph, func(r *rewrite.Rewriter, n *graph.Node) {
		a, ok := n.Attrs.(graph.LoopAttrs)
		if n.Op != graph.Loop || !ok || a.While || a.Parts > 0 {
			return
		}
		rows := rowsOf(n)
		if rows == nil || rows.part(n.Sub[0], rows.extent) == nil {
			return
		}
		taken, err := c.decide(n, impl.LoopPartsDecision(c.Target, rows.extent, iterationOf(n.Sub[0])))
		if r.Fail(err); err != nil {
			return
		}
		if a.Parts = impl.LoopParts(taken); a.Parts > 1 {
			if body := rows.part(n.Sub[0], a.Parts); body != nil {
				r.SetBody(n, a, body)
			}
		}
	})
}

// iterationOf is what an iteration of a loop costs.
func iterationOf(body *graph.Graph) (it impl.Iteration) {
	for _, n := range body.Nodes {
		p := impl.IterationProduct{Flops: 2 * n.Work()}
		for _, v := range n.In {
			if v.IsConst() {
				p.Weights += v.Type.Bytes()
			}
		}
		if n.Op.Fusion == op.OutFusable {
			it.Products = append(it.Products, p)
		} else {
			it.Rest += p.Flops
		}
	}
	return it
}

// loopRows are the rows that the values of a loop's body have: the axis of each that has any, and how many there are.
type loopRows struct {
	axis   map[*graph.Value]int
	extent int
}

// outermost is the first axis that has more than one element.
func outermost(v *graph.Value) (axis int, ok bool) {
	axis = slices.IndexFunc(v.Type.Shape, func(n int) bool { return n != 1 })
	return axis, axis >= 0 && !v.Type.DType.IsNibble()
}

// rowsOf finds the rows of loop n that are computed apart from each other: those of what it carries. nil: there are none.
func rowsOf(n *graph.Node) *loopRows {
	a, body := n.Attrs.(graph.LoopAttrs), n.Sub[0]
	l := &loopRows{}
	for _, v := range body.Inputs[:a.Carried] {
		axis, ok := outermost(v)
		if !ok || l.extent > 0 && v.Type.Shape[axis] != l.extent {
			return nil
		}
		l.extent = v.Type.Shape[axis]
	}
	if l.extent < 2 {
		return nil
	}
	// What has as many rows is taken to have these, until it turns out to be read otherwise: a matrix may have as many.
	whole := map[*graph.Value]bool{}
	for {
		l.axis = map[*graph.Value]int{}
		for _, v := range body.Inputs {
			if axis, ok := outermost(v); ok && v.Type.Shape[axis] == l.extent && !whole[v] {
				l.axis[v] = axis
			}
		}
		wrong, ok := l.follow(body)
		switch i := slices.Index(body.Inputs, wrong); {
		case !ok && i >= a.Carried && !whole[wrong]:
			whole[wrong] = true
			continue
		case !ok:
			return nil
		}
		for _, v := range body.Outputs {
			axis, has := l.axis[v]
			if first, whole := outermost(v); !has || !whole || axis != first {
				return nil
			}
		}
		return l
	}
}

// follow finds the rows of all values that a body computes, from those of its inputs. Where a node computes rows of others', it gives the operand
// of which it does.
func (l *loopRows) follow(body *graph.Graph) (wrong *graph.Value, ok bool) {
	for _, n := range body.Nodes {
		if !slices.ContainsFunc(n.In, func(v *graph.Value) bool { _, has := l.axis[v]; return has }) {
			continue // equal for all rows
		}
		if n.IsRegion() {
			return nil, false
		}
		rows := make([]int, len(n.In))
		for i, v := range n.In {
			rows[i] = impl.NoRows
			if axis, ok := l.axis[v]; ok {
				rows[i] = axis
			}
		}
		axes, wrong, ok := impl.RowAxes(n.Op, n.Attrs, typesOf(n.In), typesOf(n.Out), rows, l.extent)
		if !ok && wrong >= 0 {
			return n.In[wrong], false
		}
		if !ok || slices.Contains(axes, impl.NoRows) {
			return nil, false
		}
		for i, v := range n.Out {
			l.axis[v] = axes[i]
		}
	}
	return nil, true
}

// part is a copy of the body for one of so many parts of the rows; nil: a node cannot be written for fewer.
func (l *loopRows) part(body *graph.Graph, parts int) *graph.Graph {
	if l.extent%parts != 0 {
		return nil
	}
	fewer := func(v *graph.Value) []int {
		shape := slices.Clone(v.Type.Shape)
		if axis, ok := l.axis[v]; ok {
			shape[axis] /= parts
		}
		return shape
	}
	return rewrite.Reshaped(body, fewer, func(n *graph.Node) any {
		if axis, ok := l.axis[n.Out[0]]; ok {
			return withRows(n.Attrs, axis, fewer(n.Out[0]))
		}
		return n.Attrs
	})
}

// withRows are attributes that spell out the shape of a result, for another number of rows.
func withRows(attrs any, axis int, shape []int) any {
	switch a := attrs.(type) {
	case ops.ReshapeAttrs:
		return ops.ReshapeAttrs{NewShape: shape}
	case ops.BroadcastToAttrs:
		return ops.BroadcastToAttrs{Shape: shape}
	case ops.StridedSliceAttrs:
		a.End = slices.Clone(a.End)
		a.End[axis] = shape[axis]
		return a
	}
	return attrs
}

package pass

import (
	"fmt"

	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/impl"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// packOperands packs the right operand of matrix products whose columns lie in memory as rows, as AlterOpLayout packs weights,
// where the product is large enough to gain by it. It is a kernel of its own; products of the same operand share it. Elsewhere
// columns are read as the rows that they are, and no operand is transposed first: a step of decoding reads its keys once.
//
//	nn.dense(x, w[n, k])         →   nn.dense(x, layout_transform(w) [n/32, k, 32])
//	nn.matmul(x, transpose(w))   →   nn.matmul(x, w) {transpose_b=true}
//
// Fewer columns than a vector has lanes are transposed where that pays, and are its lanes then.
//
// Where rows of the left operand lie as columns then, neither the sum nor a row of the result runs along both operands: the left one is
// transposed, whose elements are fewer than the products by the columns' number.
//
//	nn.matmul(x[k, m], w[n, k]) {transpose_a=true, transpose_b=true}   →   nn.matmul(transpose(x), w) {transpose_b=true}
func packOperands(c *Context) error {
	made := map[transform]*graph.Value{}
	transposed := map[*graph.Value]*graph.Value{}
	return rewrite.Walk(c.Graph, func(r *rewrite.Rewriter, n *graph.Node) {
		withoutTranspose(r, n)
		a, isMatmul := n.Attrs.(ops.MatmulAttrs)
		if n.Op != ops.Dense && !(isMatmul && a.TransposeB) {
			return
		}
		w, y := n.In[1], n.Out[0].Type
		if w.Type.Layout != "" || y.DType.Compute() != types.F32 || y.Elements() == 0 {
			return
		}
		rank := w.Type.Rank()
		columns, depth := w.Type.Shape[rank-2], w.Type.Shape[rank-1]
		rows := types.Count(y.Shape) / max(1, columns*types.Count(w.Type.Shape[:rank-2]))
		if few := columns < c.Target.Lanes(32); few && (w.IsConst() || !isMatmul) {
			alongSums(r, n) // constant ones were asked for before
			return
		}
		panel := 0
		err := c.ask(n, func(log *choice.Log) (err error) {
			panel, err = impl.DecidePack(c.Target, rows, columns, depth, log)
			return err
		})
		if r.Fail(err); err != nil {
			return
		}
		switch {
		case panel == impl.Transposed:
			a.TransposeB = false
			if transposed[w] == nil {
				transposed[w] = r.Apply(ops.Transpose, ops.TransposeAttrs{Axes: lastTwoSwapped(rank)}, w)
			}
			r.Change(n, n.Op, a, n.In[0], transposed[w])
			return
		case panel == 0:
			alongSums(r, n)
			return
		}
		n.Impl.Name = impl.Packed
		to := types.Layout(fmt.Sprintf("%s%d%c", plainAxes(rank), panel*c.Target.Lanes(32), 'a'+rank-2))
		packed := made[transform{w, to}]
		switch {
		case packed != nil:
		case w.IsConst():
			packed = graph.NewConst(w.Name, w.Const)
		default:
			packed = r.Apply(ops.LayoutTransform, ops.LayoutTransformAttrs{Dst: to}, w)
		}
		r.SetLayout(packed, to)
		made[transform{w, to}] = packed
		r.SetOperand(n, 1, packed)
	})
}

// alongSums makes a product of columns that lie as rows read its left operand in rows too. A single row or column runs along memory either way.
func alongSums(r *rewrite.Rewriter, n *graph.Node) {
	a, ok := n.Attrs.(ops.MatmulAttrs)
	x, y := n.In[0], n.Out[0].Type.Shape
	last := len(x.Type.Shape) - 1
	if !ok || !a.TransposeA || x.IsConst() || x.Type.Layout != "" || y[len(y)-1] == 1 || y[len(y)-2] == 1 {
		return
	}
	a.TransposeA = false
	r.Change(n, n.Op, a, r.Apply(ops.Transpose, ops.TransposeAttrs{Axes: lastTwoSwapped(last + 1)}, x), n.In[1])
}

// lastTwoSwapped is the order of axes of a transposed matrix, or of many.
func lastTwoSwapped(rank int) []int {
	axes := make([]int, rank)
	for i := range axes {
		axes[i] = i
	}
	axes[rank-2], axes[rank-1] = rank-1, rank-2
	return axes
}

// withoutTranspose makes a product read what its right operand is the transpose of, if nothing else reads that.
func withoutTranspose(r *rewrite.Rewriter, n *graph.Node) {
	a, ok := n.Attrs.(ops.MatmulAttrs)
	if n.Op != ops.Matmul || !ok || a.TransposeB || n.Out[0].Type.DType.Compute() != types.F32 {
		return
	}
	t := n.In[1].Def
	if t == nil || t.Op != ops.Transpose || r.Reader(n.In[1]) != n || n.In[1].Type.Layout != "" || t.In[0].Type.Layout != "" {
		return
	}
	axes := t.Attrs.(ops.TransposeAttrs).Axes
	last := len(axes) - 1
	for i, at := range axes[:last-1] {
		if at != i {
			return
		}
	}
	if axes[last] == last-1 {
		a.TransposeB = true
		r.Change(n, n.Op, a, n.In[0], t.In[0])
	}
}

package pass

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/impl"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// sums describes the products and sums of columns, of a transposed convolution that a phase describes; nil with strides, by which
// neighbours in a line are of different phases, and with output padding, which columns have not.
func (d *transposedConv) sums(phase impl.PhaseConv) *impl.ColumnSums {
	if a := d.n.Attrs.(ops.ConvTransposeAttrs); slices.Max(a.Strides) > 1 || slices.Max(a.OutputPadding) > 0 {
		return nil
	}
	x, w, y := d.n.In[0].Type.Shape, d.n.In[1].Type.Shape, d.n.Out[0].Type.Shape
	last := d.rank + 1
	p := impl.PhaseConv{Lines: x[0] * types.Count(x[2:last]), Width: x[last], Groups: d.groups, Depth: w[0] / d.groups, Sums: types.Count(w[1:]), Taps: 1, Met: 1}
	return &impl.ColumnSums{Products: p, Lines: types.Count(y[:last]), Width: y[last], Taps: types.Count(w[2:]), Met: phase.Met}
}

// columns multiplies the data of every position by all taps, and adds the products up where the taps lie:
//
//	nn.conv2d_transpose(x, w, b)   →   add(nn.col2im(nn.conv2d(x, w')), b)
//
// No product is of padding, which on small images most taps of the other ways meet, and few channels with all their taps fill vectors.
func (d *transposedConv) columns() *graph.Value {
	a := d.n.Attrs.(ops.ConvTransposeAttrs)
	x, w, y := d.n.In[0].Type.Shape, d.n.In[1].Type.Shape, d.n.Out[0].Type.Shape
	ones := slices.Repeat([]int{1}, d.rank)
	depth, sums := w[0]/d.groups, types.Count(w[1:])
	taps := d.Apply(ops.Transpose, ops.TransposeAttrs{Axes: []int{0, 2, 1}}, d.reshape(d.n.In[1], []int{d.groups, depth, sums}))
	products := d.Apply(ops.Conv[d.rank], ops.ConvAttrs{Strides: ones, Dilation: ones, Padding: make([]int, 2*d.rank), Groups: d.groups},
		d.n.In[0], d.reshape(taps, append([]int{d.groups * sums, depth}, ones...)))
	products.Def.Impl, d.n.Impl = d.n.Impl, graph.Impl{}
	products = d.reshape(products, []int{x[0], d.groups * sums, types.Count(x[2:])})
	total := d.Apply(ops.Col2Im, ops.Col2ImAttrs{ImageShape: y[2:], BlockShape: w[2:], Strides: a.Strides, Padding: a.Padding, Dilation: a.Dilation}, products)
	if len(d.n.In) == 3 {
		total = d.Apply(ops.Add, op.None{}, total, d.reshape(d.n.In[2], append([]int{y[1]}, ones...)))
	}
	return total
}

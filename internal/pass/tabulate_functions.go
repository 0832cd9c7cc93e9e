package pass

import (
	"fmt"
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/impl"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// tabulateFunctions looks functions of bytes up that give bytes, where that takes less time than to compute them: quantised networks have
// whole activations of floats between two quantised values.
//
//	x: uint8;  d = dequantize(x);  quantize(d * sigmoid(d))   →   lookup(x, table)
//
// Tables are what the operators' references give. The longest function that ends at a value is looked up, whatever lies in it.
func tabulateFunctions(c *Context) error {
	if c.Target == nil {
		return nil
	}
	r := rewrite.New(c.Graph)
	places := map[*graph.Node]int{}
	for i, n := range c.Graph.Nodes {
		places[n] = i
	}
	for _, n := range slices.Backward(slices.Clone(c.Graph.Nodes)) {
		if len(n.Out) != 1 || !isByte(n.Out[0]) || len(r.Users(n.Out[0])) == 0 && !r.IsOutput(n.Out[0]) {
			continue
		}
		f := functionTo(n, places)
		if f == nil {
			continue
		}
		r.Before(n)
		taken, err := c.decide(n, impl.FunctionDecision(c.Target, n.Out[0].Type.Elements(), f.saved(r)))
		if r.Fail(err); taken != "looked up" {
			continue
		}
		table, err := f.table()
		if err != nil {
			continue // a use of other shapes is none of the operator's
		}
		r.From(f.nodes...)
		y := r.Apply(ops.QnnLookup, op.None{}, f.of, graph.NewConst("", table))
		if y.Def != nil {
			y.Def.Impl = n.Impl
		}
		r.Replace(n.Out[0], y)
	}
	return r.Finish()
}

func isByte(v *graph.Value) bool {
	return v.Type.DType == types.U8 || v.Type.DType == types.I8
}

// A function computes each element of a value from that of another at the same place, and nothing else that is not constant.
type function struct {
	of    *graph.Value
	nodes []*graph.Node // in order
}

// longestFunction bounds the nodes of a function.
const longestFunction = 64

// functionTo is the longest function of a byte that gives n's result, nil if it is none.
func functionTo(n *graph.Node, places map[*graph.Node]int) (f *function) {
	var nodes []*graph.Node
	leaves := []*graph.Value{n.Out[0]}
	for len(nodes) < longestFunction {
		last := -1 // of the leaves that are computed, in the order of nodes
		for i, v := range leaves {
			if v.Def != nil && uniform(v.Def) && (last < 0 || places[v.Def] > places[leaves[last].Def]) {
				last = i
			}
		}
		if last < 0 {
			break
		}
		next := leaves[last].Def
		nodes, leaves = append(nodes, next), slices.Delete(leaves, last, last+1)
		for _, v := range next.In {
			if !v.IsConst() && !slices.Contains(leaves, v) {
				leaves = append(leaves, v)
			}
		}
		if len(leaves) == 1 && isByte(leaves[0]) {
			f = &function{leaves[0], slices.Clone(nodes)}
		}
	}
	if f != nil {
		slices.Reverse(f.nodes)
	}
	return f
}

// uniform reports whether n computes all elements alike: from the elements at their places and single numbers.
func uniform(n *graph.Node) bool {
	if len(n.Out) != 1 || len(n.Sub) > 0 || n.Op.Eval == nil || n.Op.Fusion != op.Elementwise && n.Op.Fusion != op.Broadcast {
		return false
	}
	y := n.Out[0].Type
	for _, v := range n.In {
		if v.IsConst() && v.Const.Len() != 1 || !v.IsConst() && !slices.Equal(v.Type.Shape, y.Shape) || v.Type.Layout != "" {
			return false
		}
	}
	return y.Layout == "" && y.Elements() >= ops.LookupEntries
}

// saved is the instructions of the nodes that nothing else needs.
func (f *function) saved(r *rewrite.Rewriter) (work int) {
	gone := map[*graph.Node]bool{}
	for i, n := range slices.Backward(f.nodes) {
		y := n.Out[0]
		if i < len(f.nodes)-1 && (r.IsOutput(y) || slices.ContainsFunc(r.Users(y), func(m *graph.Node) bool { return !gone[m] })) {
			continue
		}
		gone[n] = true
		work += expansionOf(n).Work
	}
	return work
}

// table is the function's results for all bytes, the least first.
func (f *function) table() (*tensor.Tensor, error) {
	shape := slices.Repeat([]int{1}, max(1, f.of.Type.Rank()))
	shape[len(shape)-1] = ops.LookupEntries
	all := tensor.New(f.of.Type.DType, shape...)
	least, _ := f.of.Type.DType.IntRange()
	for i := range all.Len() {
		all.SetInt(i, least+int64(i))
	}
	known := map[*graph.Value]*tensor.Tensor{f.of: all}
	var y *tensor.Tensor
	for _, n := range f.nodes {
		var in []*tensor.Tensor
		var args []op.Arg
		for _, v := range n.In {
			x := v.Const
			if !v.IsConst() {
				x = known[v]
			}
			in, args = append(in, x), append(args, op.Arg{Tensor: types.Of(x.DType, x.Shape...), Value: v.Const})
		}
		out, err := n.Op.Infer(n.Attrs, args)
		if err != nil {
			return nil, err
		}
		y = tensor.NewOf(out[0])
		if err := n.Op.Eval(n.Attrs, in, []*tensor.Tensor{y}); err != nil {
			return nil, err
		}
		known[n.Out[0]] = y
	}
	if y.Len() != all.Len() {
		return nil, fmt.Errorf("%d results for %d bytes", y.Len(), all.Len())
	}
	table := tensor.New(y.DType, ops.LookupRoom)
	for i := range y.Len() {
		table.SetInt(i, y.Int(i))
	}
	return table, nil
}

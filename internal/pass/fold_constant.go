package pass

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
)

// foldConstant evaluates nodes whose operands are all constants, and takes over values that inference knows. Results
// are kept only when they are not much larger than what they replace: a splat stays one until it is packed. All results
// together, and the steps of their evaluation, are bounded in proportion to the constants of the model; what goes beyond
// is left to run time.
func foldConstant(c *Context) error {
	return foldConstantBut(c, func(*graph.Node) bool { return false })
}

// foldConstantBut is foldConstant for all nodes but those to spare.
func foldConstantBut(c *Context, spare func(n *graph.Node) bool) error {
	f := &folding{work: leastFoldWork, bytes: leastFoldBytes, ids: sameNodes{}, folded: map[string][]*graph.Value{}}
	for _, v := range c.Graph.Constants() {
		f.work += float64(v.Const.Size()) * foldWorkPerByte
		f.bytes += v.Const.Size() * foldBytesPerByte
	}
	f.work = min(f.work, mostFoldWork)
	err := rewrite.Walk(c.Graph, func(r *rewrite.Rewriter, n *graph.Node) {
		r.Fail(c.ended())
		if !spare(n) {
			r.Fail(f.node(r, n))
		}
	})
	for _, n := range c.Graph.Nodes {
		if n.Op == graph.Loop || n.Op == graph.If { // operands of other regions stay those that were given to an external code generator
			n.CaptureConstants()
		}
	}
	return err
}

// growth bounds how many times larger than its operands a folded constant may be.
const growth = 16

// What folding may take: steps of evaluation, of which a core makes 150 to 500 million a second in elementwise operators, and memory. Weights
// whose norms the model computes take twelve steps for an element of float32.
const (
	leastFoldWork    = 1 << 26
	mostFoldWork     = 1 << 29
	foldWorkPerByte  = 6
	leastFoldBytes   = 64 << 20
	foldBytesPerByte = 4
)

// Steps of inner loops: of products over slices several are made in the time of one of an elementwise operator, and one of a window or the
// like, which goes element by element, takes that of several.
const (
	productsAtOnce = 8
	windowStep     = 4
	longSlice      = 16 // elements, from which on a product is one over slices
)

type folding struct {
	work   float64 // that is left
	bytes  int     // that are left
	ids    sameNodes
	folded map[string][]*graph.Value // constants of nodes that were folded, which the same nodes get too
}

func (f *folding) node(r *rewrite.Rewriter, n *graph.Node) error {
	if n.Op.Eval == nil || len(n.Sub) > 0 || n.Op == ops.Copy && r.IsOutput(n.Out[0]) { // it is there to write the output
		return nil
	}
	key := f.ids.key(n)
	for _, o := range n.Out {
		key += " " + o.Type.String()
	}
	values := f.folded[key]
	if values == nil {
		vals, err := f.evaluated(n)
		if err != nil || vals == nil {
			return err
		}
		for i, o := range n.Out {
			values = append(values, graph.NewConst("", vals[i]))
			r.SetLayout(values[i], o.Type.Layout)
		}
		f.folded[key] = values
	}
	for i, o := range n.Out {
		v := values[i]
		if r.IsOutput(o) { // some kernel has to write it
			r.AtEnd()
			r.ReplaceOutput(o, r.Apply(ops.Copy, op.None{}, v))
		}
		r.Replace(o, v)
	}
	return nil
}

// evaluated returns n's results, nil when they are not to be folded.
func (f *folding) evaluated(n *graph.Node) ([]*tensor.Tensor, error) {
	vals := make([]*tensor.Tensor, len(n.Out))
	known, bytes := true, 0
	for i, o := range n.Out {
		vals[i] = o.Known
		known = known && o.Known != nil
		bytes += o.Type.With("").Bytes()
	}
	if known {
		return vals, nil
	}
	ins, size := make([]*tensor.Tensor, len(n.In)), 4096
	for i, v := range n.In {
		if ins[i] = v.Value(); ins[i] == nil {
			return nil, nil
		}
		size += ins[i].Size()
	}
	if a, ok := n.Attrs.(ops.TransposeAttrs); ok && n.Op == ops.Transpose {
		return []*tensor.Tensor{ops.Transposed(ins[0], a.Axes...)}, nil
	}
	if bytes/growth > size || bytes > f.bytes {
		return nil, nil
	}
	work := evaluationWork(n)
	if work > f.work {
		return nil, nil
	}
	f.work, f.bytes = f.work-work, f.bytes-bytes
	for i, o := range n.Out {
		vals[i] = tensor.NewOf(o.Type)
	}
	if err := n.Op.Eval(n.Attrs, ins, vals); err != nil {
		return nil, err
	}
	return vals, nil
}

// evaluationWork is what evaluating n takes, in steps of elementwise operators.
func evaluationWork(n *graph.Node) float64 {
	elements := 0
	for _, v := range slices.Concat(n.In, n.Out) {
		elements += v.Type.Elements()
	}
	outer := min(n.Work(), 2*float64(elements))
	inner := n.Work() - outer
	if y, x := n.Out[0].Type.Shape, n.In[0].Type.Shape; isAnyConv(n) && y[len(y)-1] >= longSlice || (n.Op == ops.Dense || n.Op == ops.Matmul) && x[len(x)-1] >= longSlice {
		return outer + inner/productsAtOnce
	}
	return outer + inner*windowStep
}

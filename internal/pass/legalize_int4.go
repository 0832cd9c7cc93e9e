package pass

import (
	"fmt"
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// legalizeInt4 leaves integers of 4 bits to constants and inputs: two workers that wrote halves of one byte would undo each other's work.
// What is computed has 8 bits, and the same values. Constants stay as they are where a kernel reads them; those of nodes that only move
// them are moved now.
//
//	dequantize(quantize[int4](x, s), s)   →   dequantize(clip[-8,7](quantize[int8](x, s)), s)
func legalizeInt4(c *Context) error {
	for _, o := range c.Graph.Outputs {
		if o.Type.DType.IsNibble() {
			return fmt.Errorf("the output %q is %s, of which two share a byte: results have 8 bits or more (cast it to %s)", o.Name, o.Type.DType, ofBytes(o.Type.DType))
		}
	}
	return rewrite.Walk(c.Graph, func(r *rewrite.Rewriter, n *graph.Node) {
		computed := slices.ContainsFunc(n.Out, isNibble)
		wide := computed || readsWidened(n)
		switch {
		case n.IsRegion():
			if computed || slices.ContainsFunc(n.In, isNibble) {
				r.Fail(fmt.Errorf("integers of 4 bits as operands or results of a loop or branch are not supported (cast them to int8)"))
			}
			return
		case computed && len(n.Out) == 1 && n.Op.Eval != nil && constOperands(n.In):
			v := tensor.NewOf(n.Out[0].Type)
			r.Fail(n.Op.Eval(n.Attrs, values(n.In), []*tensor.Tensor{v}))
			r.Replace(n.Out[0], graph.NewConst(n.Out[0].Name, v))
			return
		case !wide:
			return
		}
		in := slices.Clone(n.In)
		for i, v := range in {
			if isNibble(v) {
				in[i] = r.Apply(ops.Cast, ops.CastAttrs{DType: ofBytes(v.Type.DType)}, v)
			}
		}
		switch a := n.Attrs.(type) {
		case ops.QuantizeAttrs:
			if t := a.OutDType; t.IsNibble() {
				a.OutDType = ofBytes(t)
				r.Replace(n.Out[0], clipped(r, r.Apply(n.Op, a, in...), t))
				return
			}
		case ops.CastAttrs:
			if t := a.DType; t.IsNibble() {
				r.Replace(n.Out[0], castTo4(r, n.In[0], t))
				return
			}
		}
		r.Change(n, n.Op, n.Attrs, in...)
	})
}

func isNibble(v *graph.Value) bool { return v.Type.DType.IsNibble() }

// readsWidened reports whether n, beside integers of 4 bits, reads such that were computed and have 8.
func readsWidened(n *graph.Node) bool {
	if n.Op != ops.Dequantize || len(n.In) < 3 {
		return false
	}
	return n.In[0].Type.DType != n.In[2].Type.DType
}

// ofBytes is the type of 8 bits for one of 4.
func ofBytes(t types.DType) types.DType {
	if t == types.I4 {
		return types.I8
	}
	return types.U8
}

// clipped is v within the range of t.
func clipped(r *rewrite.Rewriter, v *graph.Value, t types.DType) *graph.Value {
	lo, hi := t.IntRange()
	return r.Apply(ops.Clip, ops.ClipAttrs{HasMin: true, Min: float64(lo), HasMax: true, Max: float64(hi)}, v)
}

// castTo4 is v as integers of t in 8 bits: of floats the nearest within the range, of integers the low bits.
func castTo4(r *rewrite.Rewriter, v *graph.Value, t types.DType) *graph.Value {
	from := v.Type.DType
	v = r.Apply(ops.Cast, ops.CastAttrs{DType: ofBytes(t)}, v)
	if from.IsFloat() {
		return clipped(r, v, t)
	}
	if from == types.Bool {
		return v
	}
	four := graph.NewConst("", tensor.NewOf(types.Of(v.Type.DType)))
	four.Const.SetInt(0, 4)
	v = r.Apply(ops.LeftShift, op.None{}, v, four)
	return r.Apply(ops.RightShift, op.None{}, v, four)
}

// values are the tensors of constant operands.
func values(in []*graph.Value) []*tensor.Tensor {
	list := make([]*tensor.Tensor, len(in))
	for i, v := range in {
		list[i] = v.Value()
	}
	return list
}

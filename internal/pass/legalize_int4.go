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
			return fmt.Errorf("the output %q is %s, which is not supported: two share a byte, and results have 8 bits or more (cast it to %s)", o.Name, o.Type.DType, ofBytes(o.Type.DType))
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
				r.Change(n, ops.Clip, rangeOf(t), r.Apply(n.Op, a, in...))
				return
			}
		case ops.CastAttrs:
			if a.DType.IsNibble() {
				castTo4(r, n, a.DType)
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

// rangeOf limits numbers to those of t.
func rangeOf(t types.DType) ops.ClipAttrs {
	lo, hi := t.IntRange()
	return ops.ClipAttrs{HasMin: true, Min: float64(lo), HasMax: true, Max: float64(hi)}
}

// castTo4 makes n, a cast to t, give 8 bits: the low bits of integers, and of what floats are as int32.
func castTo4(r *rewrite.Rewriter, n *graph.Node, t types.DType) {
	from, wide := n.In[0].Type.DType, ops.CastAttrs{DType: ofBytes(t)}
	switch {
	case from == types.Bool || from == t:
		r.Change(n, ops.Cast, wide, n.In[0])
	case from.IsFloat():
		number := func(v int64) *graph.Value {
			c := tensor.New(types.I32)
			c.SetInt(0, v)
			return graph.NewConst("", c)
		}
		lo, _ := t.IntRange()
		x := r.Apply(ops.Subtract, op.None{}, r.Apply(ops.Cast, ops.CastAttrs{DType: types.I32}, n.In[0]), number(lo))
		r.Change(n, ops.Cast, wide, r.Apply(ops.Add, op.None{}, r.Apply(ops.FloorMod, op.None{}, x, number(16)), number(lo)))
	default:
		four := graph.NewConst("", tensor.NewOf(types.Of(wide.DType)))
		four.Const.SetInt(0, 4)
		r.Change(n, ops.RightShift, op.None{}, r.Apply(ops.LeftShift, op.None{}, r.Apply(ops.Cast, wide, n.In[0]), four), four)
	}
}

// values are the tensors of constant operands.
func values(in []*graph.Value) []*tensor.Tensor {
	list := make([]*tensor.Tensor, len(in))
	for i, v := range in {
		list[i] = v.Value()
	}
	return list
}

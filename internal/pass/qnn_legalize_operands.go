package pass

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// Weights are int8.
type weights struct {
	*tensor.Tensor
	sums []int32 // of each output channel, less its whole zero point
	left []int32 // what is left of the zero point of each output channel; nil: nothing
}

// withoutZero is w less its zero point, as far as int8 holds that.
func withoutZero(w, wz *tensor.Tensor, axis int) weights {
	channels, each := w.Shape[axis], types.Count(w.Shape[axis+1:])
	r := weights{Tensor: tensor.New(types.I8, w.Shape...), sums: make([]int32, channels)}
	values, middle := byteValues(w.DType)
	zeros := make([]int32, channels)
	for c := range zeros {
		zeros[c] = int32(wz.Int(min(c, wz.Len()-1)))
	}
	fits := true
	for at := 0; at < w.Size(); { // networks have many millions of weights
		for c := range channels {
			sum, zero := int32(0), zeros[c]
			for _, b := range w.Bytes()[at : at+each] {
				v := values[b] - zero
				fits = fits && v >= -128 && v <= 127
				sum += v
			}
			r.sums[c] += sum
			at += each
		}
	}
	if !fits {
		r.left = make([]int32, channels)
		for c, zero := range zeros {
			r.left[c], zeros[c] = zero-middle, middle
		}
	}
	for at := 0; at < w.Size(); {
		for _, zero := range zeros {
			to := r.Bytes()[at : at+each]
			for i, b := range w.Bytes()[at : at+each] {
				to[i] = byte(values[b] - zero)
			}
			at += each
		}
	}
	return r
}

// byteValues are the numbers that bytes of a type stand for, and the middle of their range.
func byteValues(t types.DType) (values [256]int32, middle int32) {
	for b := range values {
		if values[b] = int32(int8(b)); t == types.U8 {
			values[b], middle = int32(b), 128
		}
	}
	return values, middle
}

// shifted is x, of the other type of bytes, as the numbers of type t that stand for the same.
func shifted(r *rewrite.Rewriter, x *graph.Value, t types.DType) *graph.Value {
	if c := x.Value(); c != nil {
		z := tensor.New(t, c.Shape...)
		for i := range z.Len() {
			z.SetInt(i, c.Int(i)+shift(t))
		}
		return graph.NewConst("", z)
	}
	u := r.Apply(ops.Cast, ops.CastAttrs{DType: t}, x)
	half := tensor.New(t)
	half.SetInt(0, -128)
	if t == types.U8 {
		half.SetInt(0, 128)
	}
	return r.Apply(ops.Add, op.None{}, u, graph.NewConst("", half))
}

// MostOfSeven is the greatest magnitude of weights of 7 bits, as quantising with a reduced range makes them.
const MostOfSeven = 64

// SevenBits reports whether all weights, which are int8, have 7 bits.
func SevenBits(w *tensor.Tensor) bool {
	for _, x := range w.Bytes() {
		if int8(x) > MostOfSeven || int8(x) < -MostOfSeven {
			return false
		}
	}
	return true
}

// lessZero is x less its zero point, as int16.
func lessZero(r *rewrite.Rewriter, x, zero *graph.Value) *graph.Value {
	wide := func(v *graph.Value) *graph.Value {
		if c := v.Value(); c != nil {
			w, _ := c.Convert(types.I16)
			return graph.NewConst("", w)
		}
		return r.Apply(ops.Cast, ops.CastAttrs{DType: types.I16}, v)
	}
	if isNumber(zero, 0) {
		return wide(x)
	}
	return r.Apply(ops.Subtract, op.None{}, wide(x), wide(zero))
}

// widenedMap is x widened for n, and shiftedMap x shifted.
func widenedMap(r *rewrite.Rewriter, n *graph.Node, x, zero *graph.Value) *graph.Value {
	z := zero.Value()
	if z == nil || z.Len() > 1 {
		return lessZero(r, x, zero)
	}
	return otherMap(r, n, x, func() *graph.Value { return lessZero(r, x, zero) }, z.Int(0))
}

func shiftedMap(r *rewrite.Rewriter, n *graph.Node, x *graph.Value, t types.DType) *graph.Value {
	return otherMap(r, n, x, func() *graph.Value { return shifted(r, x, t) }, -shift(t))
}

// otherMap is x for n in the form that other gives, its numbers less back. Where what else reads x are such layers, or widens it, that reads the
// other numbers too and adds back: x itself is stored nowhere then, as where a convolution and the sum behind it read one map.
func otherMap(r *rewrite.Rewriter, n *graph.Node, x *graph.Value, other func() *graph.Value, back int64) *graph.Value {
	if x.Def == nil {
		return other()
	}
	var wide []*graph.Node
	for _, u := range r.Users(x) {
		switch product := u.Op == ops.QnnMatmul || slices.Contains(ops.QnnConv[1:], u.Op); {
		case product && u.In[0] == x:
		case u.Op == ops.Cast && u.Out[0].Type.DType.IsInt() && u.Out[0].Type.DType.Size() > 1:
			wide = append(wide, u)
		default:
			return other() // x is stored all the same
		}
	}
	r.Behind(x.Def)
	r.From(n)
	y := other()
	for _, u := range wide {
		if r.IsOutput(x) {
			break
		}
		r.From(u)
		v := r.Apply(ops.Cast, u.Attrs, y)
		if back != 0 {
			number := tensor.New(u.Out[0].Type.DType)
			number.SetInt(0, back)
			v = r.Apply(ops.Add, op.None{}, v, graph.NewConst("", number))
		}
		r.Replace(u.Out[0], v)
	}
	r.Before(n)
	return y
}

// padded makes the padding of a convolution explicit, with the given value; what is left is the attributes without it.
func padded(r *rewrite.Rewriter, x *graph.Value, a ops.ConvAttrs, value *graph.Value) (*graph.Value, ops.ConvAttrs) {
	rank := len(a.Padding) / 2
	if !slices.ContainsFunc(a.Padding, func(n int) bool { return n != 0 }) {
		return x, a
	}
	before, after := append([]int{0, 0}, a.Padding[:rank]...), append([]int{0, 0}, a.Padding[rank:]...)
	a.Padding = make([]int, 2*rank)
	pad := ops.PadAttrs{PadBefore: before, PadAfter: after, Mode: "constant"}
	if c := value.Value(); c != nil {
		pad.Value = float64(c.Int(0))
		return r.Apply(ops.Pad, pad, x), a
	}
	return r.Apply(ops.Where, op.None{}, border(x.Type.Shape, before, after), value, r.Apply(ops.Pad, pad, x)), a
}

// border tells which pixels of a padded image are padding.
func border(shape, before, after []int) *graph.Value {
	wide := []int{1, 1}
	for k := 2; k < len(shape); k++ {
		wide = append(wide, before[k]+shape[k]+after[k])
	}
	mask := tensor.New(types.Bool, wide...)
	for i := range mask.Len() {
		at := i
		for k := len(wide) - 1; k > 1; k-- {
			if p := at%wide[k] - before[k]; p < 0 || p >= shape[k] {
				mask.SetInt(i, 1)
			}
			at /= wide[k]
		}
	}
	return graph.NewConst("", mask)
}

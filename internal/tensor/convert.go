package tensor

import "lathe/internal/types"

// Convert returns t with another element type. Floats are rounded; integers and booleans must keep the value: lost is the
// position of the first that d cannot hold, or -1.
func (t *Tensor) Convert(d types.DType) (out *Tensor, lost int) {
	if t.DType == d {
		return t, -1
	}
	out = New(d, t.Shape...)
	for i := range t.Len() {
		if t.DType.IsFloat() || d.IsFloat() {
			out.SetFloat(i, t.Float(i))
		} else {
			out.SetInt(i, t.Int(i))
		}
		if !d.IsFloat() && !sameValue(t, out, i) {
			return nil, i
		}
	}
	return out, -1
}

// sameValue compares an element of two tensors, of which b is not of floats.
func sameValue(a, b *Tensor, i int) bool {
	if a.DType.IsFloat() {
		// The greatest int64 and uint64 are no floats: as one they are the power of two behind them.
		f := a.Float(i)
		return f == b.Float(i) && !(b.DType == types.I64 && f >= 1<<63) && !(b.DType == types.U64 && f >= 1<<64)
	}
	// The same bits mean the same number unless only one side reads the top bit as a sign.
	return a.Int(i) == b.Int(i) && (a.Int(i) >= 0 || (a.DType == types.U64) == (b.DType == types.U64))
}

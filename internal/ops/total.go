package ops

import "lathe/internal/tensor"

// A total accumulates elements for reference evaluation: floats in float64, integers in int64, wrapping. A total holds
// elements of one type; which, the first one decides.
type total struct {
	f float64
	i int64
}

// add adds element i of x.
func (t *total) add(x *tensor.Tensor, i int) {
	if x.DType.IsFloat() {
		t.f += x.Float(i)
	} else {
		t.i += x.Int(i)
	}
}

// product adds element i of x times element j of y.
func (t *total) product(x *tensor.Tensor, i int, y *tensor.Tensor, j int) {
	if x.DType.IsFloat() {
		t.f += x.Float(i) * y.Float(j)
	} else {
		t.i += x.Int(i) * y.Int(j)
	}
}

// store stores the total as element i of x.
func (t *total) store(x *tensor.Tensor, i int) {
	if x.DType.IsFloat() {
		x.SetFloat(i, t.f)
	} else {
		x.SetInt(i, t.i)
	}
}

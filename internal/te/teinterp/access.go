package teinterp

import (
	"fmt"

	"lathe/internal/expr"
	"lathe/internal/expr/eval"
	"lathe/internal/te"
	"lathe/internal/tensor"
)

// load makes the code of a load from a stage whose value is known; its indices are checked.
func load(values map[*te.Stage]*tensor.Tensor) func(l *expr.Load, index []eval.Code) (eval.Code, error) {
	return func(l *expr.Load, index []eval.Code) (eval.Code, error) {
		from, ok := l.From.(*te.Stage)
		if !ok {
			return nil, fmt.Errorf("load from %s, which is no stage", l.From.Label())
		}
		v, shape := values[from], from.Type.Shape
		if v == nil {
			return nil, fmt.Errorf("load from %s, which has no value", from.Name)
		}
		if len(index) != len(shape) {
			return nil, fmt.Errorf("%d indices into %s %s", len(index), from.Name, from.Type)
		}
		get := getter(v)
		return func(s []uint64) uint64 {
			at := 0
			for k, x := range index {
				i := int64(x(s))
				if i < 0 || i >= int64(shape[k]) {
					panic(fault{fmt.Errorf("%s: index %d is %d, outside [0,%d)", expr.String(l), k, i, shape[k])})
				}
				at = at*shape[k] + int(i)
			}
			return get(at)
		}, nil
	}
}

// getter reads elements of t in the encoding of package eval.
func getter(t *tensor.Tensor) func(i int) uint64 {
	if compute := t.DType.Compute(); t.DType.IsFloat() {
		return func(i int) uint64 { return eval.OfFloat(compute, t.Float(i)) }
	}
	return func(i int) uint64 { return uint64(t.Int(i)) }
}

// setter writes elements of t, rounded to its type.
func setter(t *tensor.Tensor) func(i int, v uint64) {
	if compute := t.DType.Compute(); t.DType.IsFloat() {
		return func(i int, v uint64) { t.SetFloat(i, eval.Float(compute, v)) }
	}
	return func(i int, v uint64) { t.SetInt(i, int64(v)) }
}

// encoded is the value of a constant.
func encoded(e expr.Expr) uint64 {
	if f, ok := e.(*expr.Float); ok {
		return eval.OfFloat(f.Type, f.V)
	}
	return uint64(e.(*expr.Int).V)
}

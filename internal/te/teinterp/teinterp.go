// Package teinterp evaluates tensor expressions over host tensors, one scalar at a time, exactly as package expr defines
// them: every operation is rounded or wrapped to its type and every index is checked. It is slow and knows nothing of
// layouts or schedules; tests compare other ways of computing with it.
package teinterp

import (
	"fmt"

	"lathe/internal/expr"
	"lathe/internal/expr/eval"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// Run computes outs from the values of the input stages they reach. Each stage is evaluated once and stored with its
// element type. An index out of range, an ill-typed body or a missing input is an error that names the stage.
func Run(outs []*te.Stage, inputs map[*te.Stage]*tensor.Tensor) ([]*tensor.Tensor, error) {
	values := map[*te.Stage]*tensor.Tensor{}
	for _, s := range te.Order(outs...) {
		v, err := value(s, inputs, values)
		if err != nil {
			return nil, fmt.Errorf("stage %s: %w", s.Name, err)
		}
		values[s] = v
	}
	results := make([]*tensor.Tensor, len(outs))
	for i, o := range outs {
		results[i] = values[o]
	}
	return results, nil
}

func value(s *te.Stage, inputs, values map[*te.Stage]*tensor.Tensor) (*tensor.Tensor, error) {
	if s.Body != nil {
		return evaluate(s, values)
	}
	v := inputs[s]
	if v == nil {
		return nil, fmt.Errorf("no value for this input")
	}
	if !v.Type().Equal(s.Type.With("")) {
		return nil, fmt.Errorf("input of type %s given a value of type %s", s.Type, v.Type())
	}
	return v, nil
}

// evaluate runs the loop nest a stage stands for: its axes, and inside them its reduction axes.
func evaluate(s *te.Stage, values map[*te.Stage]*tensor.Tensor) (out *tensor.Tensor, err error) {
	if len(s.Axes) != len(s.Type.Shape) {
		return nil, fmt.Errorf("%d axes for %s", len(s.Axes), s.Type)
	}
	if d := s.Body.DType(); d != s.Type.DType.Compute() {
		return nil, fmt.Errorf("body of type %s for elements of type %s", d, s.Type.DType)
	}
	c := &eval.Compiler{Load: load(values)}
	for _, v := range s.Axes {
		c.Slot(v)
	}
	var extents []int
	for _, r := range s.Reduce {
		c.Slot(r.Var)
		extents = append(extents, r.Extent)
	}
	body, acc, start := eval.Code(nil), 0, uint64(0)
	if len(s.Reduce) == 0 {
		body, err = c.Compile(s.Body)
	} else {
		v := &expr.Var{Name: "acc", Type: s.Body.DType()}
		acc, start = c.Slot(v), encoded(s.Combine.Identity(v.Type))
		body, err = c.Compile(&expr.Binary{Op: s.Combine.Op(), A: v, B: s.Body})
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		switch f := recover().(type) {
		case nil:
		case fault:
			out, err = nil, f.error
		default:
			panic(f)
		}
	}()
	out = tensor.NewOf(s.Type)
	set := setter(out)
	slots := make([]uint64, c.Slots())
	outer, inner := slots[:len(s.Axes)], slots[len(s.Axes):]
	for i := range out.Len() {
		unravel(outer, i, s.Type.Shape)
		if len(extents) == 0 {
			set(i, body(slots))
			continue
		}
		slots[acc] = start
		for r := range types.Count(extents) {
			unravel(inner, r, extents)
			slots[acc] = body(slots)
		}
		set(i, slots[acc])
	}
	return out, nil
}

// unravel sets the variables of a nest of loops to their values in iteration i.
func unravel(slots []uint64, i int, extents []int) {
	for k := len(extents) - 1; k >= 0; k-- {
		slots[k] = uint64(i % extents[k])
		i /= extents[k]
	}
}

// A fault stops an evaluation: an index out of range.
type fault struct{ error }

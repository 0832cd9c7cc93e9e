package grapheval

import (
	"errors"
	"fmt"
	"slices"

	"lathe/internal/graph"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// mostIterations bounds a loop that nothing else does: the reference is no place to wait.
const mostIterations = 1 << 20

// Loop runs the body of n, slice after slice, and stacks what it gives. eval evaluates the body.
func Loop(n *graph.Node, in, out []*tensor.Tensor, eval evaluator) error {
	a, body := n.Attrs.(graph.LoopAttrs), n.Sub[0]
	if a.Parts > 1 {
		return inParts(a, body, in, out, eval)
	}
	return iterations(a, body, in, out, eval)
}

// An evaluator evaluates a body.
type evaluator = func(body *graph.Graph, in []*tensor.Tensor) ([]*tensor.Tensor, error)

// iterations runs all of a loop, or one part.
func iterations(a graph.LoopAttrs, body *graph.Graph, in, out []*tensor.Tensor, eval evaluator) error {
	args, i := slices.Clone(in), 0
	for ; (!a.While || Holds(args[0])) && (i < a.Trips || a.Trips == 0); i++ {
		if i == mostIterations {
			return fmt.Errorf("a loop does not end within %d iterations", i)
		}
		t := a.Slice(i)
		for k := a.Carried; k < a.Carried+a.Sequences; k++ {
			args[k] = slice(in[k], body.Inputs[k], t)
		}
		results, err := eval(body, slices.Clone(args))
		if err != nil {
			return err
		}
		copy(args, results[:a.Carried])
		for k := a.Carried; k < len(results); k++ {
			if out[k].DType.IsNibble() {
				for i := range results[k].Len() {
					out[k].SetInt(t*results[k].Len()+i, results[k].Int(i))
				}
				continue
			}
			copy(slice(out[k], body.Outputs[k], t).Bytes(), results[k].Bytes())
		}
	}
	copy(out, args[:a.Carried])
	if a.While {
		if a.Strict && Holds(args[0]) {
			return ErrBound
		}
		out[len(out)-1].SetInt(0, int64(i))
	}
	return nil
}

// inParts runs a loop in parts one by one.
func inParts(a graph.LoopAttrs, body *graph.Graph, in, out []*tensor.Tensor, eval evaluator) error {
	// slicesOf is how many slices an operand or result has: each has a part of its own.
	slicesOf := func(sliced bool) int {
		if sliced {
			return a.Trips
		}
		return 1
	}
	piece := func(inside *graph.Value, slices int) *tensor.Tensor {
		t := inside.Type
		if slices > 1 {
			t.Shape = append([]int{slices}, t.Shape...)
		}
		return tensor.NewOf(t)
	}
	for part := range a.Parts {
		args := slices.Clone(in)
		for i, x := range in {
			sliced := i >= a.Carried && i < a.Carried+a.Sequences
			if axis, _ := a.Part(types.Of(x.DType, x.Shape...), body.Inputs[i].Type, sliced); axis >= 0 {
				n := slicesOf(sliced)
				args[i] = piece(body.Inputs[i], n)
				eachPart(x.Bytes(), args[i].Bytes(), n, a.Parts, part, func(whole, part []byte) { copy(part, whole) })
			}
		}
		results := make([]*tensor.Tensor, len(out))
		for i := range out {
			results[i] = piece(body.Outputs[i], slicesOf(i >= a.Carried))
		}
		if err := iterations(a, body, args, results, eval); err != nil {
			return err
		}
		for i, y := range results {
			eachPart(out[i].Bytes(), y.Bytes(), slicesOf(i >= a.Carried), a.Parts, part, func(whole, part []byte) { copy(whole, part) })
		}
	}
	return nil
}

// eachPart calls f with what a part has of each of so many slices, in the whole and in the part.
func eachPart(whole, part []byte, slices, parts, index int, f func(whole, part []byte)) {
	bytes := len(part) / slices
	for s := range slices {
		f(whole[(s*parts+index)*bytes:][:bytes], part[s*bytes:][:bytes])
	}
}

// ErrBound is the error of a loop that would run more often than it may.
var ErrBound = errors.New("a loop would run more often than its bound")

// Taken is which branch a condition takes.
func Taken(condition *tensor.Tensor) int {
	if Holds(condition) {
		return 0
	}
	return 1
}

// Holds reports whether a truth value is true.
func Holds(t *tensor.Tensor) bool { return t.Int(0) != 0 }

// slice is element t of x's outermost axis, in place where it begins with a byte.
func slice(x *tensor.Tensor, as *graph.Value, t int) *tensor.Tensor {
	if x.DType.IsNibble() {
		y := tensor.NewOf(as.Type)
		for i := range y.Len() {
			y.SetInt(i, x.Int(t*y.Len()+i))
		}
		return y
	}
	bytes := as.Type.Bytes()
	return tensor.Over(x.DType, as.Type.Shape, x.Bytes()[t*bytes:(t+1)*bytes])
}
